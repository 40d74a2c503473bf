from __future__ import annotations

from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from coordui.layout import write_secret


class Command(BaseCommand):
    """Three commands in one process, because each start of Django is half a second of a start of everything."""

    help = "What `up` does before it starts the rest: migrate, provision, and the address to sign in."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        settings.LAYOUT.make()
        call_command("migrate", interactive=False, verbosity=1, skip_checks=True, stdout=self.stdout)
        call_command("provision", stdout=self.stdout)
        address = StringIO()
        call_command("signin", stdout=address)
        write_secret(settings.LAYOUT.signin, address.getvalue())
