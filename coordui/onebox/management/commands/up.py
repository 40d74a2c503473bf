from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from coordui.onebox.supervisor.cli import add_arguments, up


class Command(BaseCommand):
    help = "Starts everything on this machine and prints the address to sign in."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if status := up(options["state"], options["port"], options["only"]):
            raise CommandError("it has stopped", returncode=status)
