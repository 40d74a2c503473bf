from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from coordui.onebox.cluster.program import add_arguments, serve, settings_from


class Command(BaseCommand):
    help = "Runs the embedded cluster alone: a Kubernetes API server and Job runner for this machine."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_arguments(parser, Path(settings.COORDUI_STATE))

    def handle(self, *args: Any, **options: Any) -> None:
        if status := serve(settings_from(options), self.stdout.write):
            raise CommandError("the cluster did not start", returncode=status)
