from __future__ import annotations

import getpass
import json
import os
import socket
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from submits.management.started import needs_a_start
from submits.views.signin import token_for


class Command(BaseCommand):
    help = (
        "Prints an address that signs in, from any browser on this machine, until the next start. "
        "The first user is made by it, as operator and administrator."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", nargs="?", help="whom to sign in; the first administrator if not given")
        parser.add_argument("--state", help="the state directory, if it is not ./var")

    def handle(self, *args: Any, user: str | None, **options: Any) -> None:
        needs_a_start()
        token = token_for(who(user))
        if token is None:
            raise CommandError(f"Nothing has been started on {settings.COORDUI_STATE} yet: `make up` starts it.")
        port = port_in_use()
        self.stdout.write(f"http://localhost:{port}/signin/{token}/")
        if os.environ.get("SSH_CONNECTION"):
            host = os.environ["SSH_CONNECTION"].split()[2:3] or [socket.gethostname()]
            self.stdout.write("This is a remote machine. First, on the machine with the browser:")
            self.stdout.write(f"  ssh -L {port}:localhost:{port} {getpass.getuser()}@{host[0]}")


def who(name: str | None) -> User:
    users = get_user_model().objects
    with transaction.atomic():
        if not users.exists():
            return users.create_user(name or getpass.getuser(), is_staff=True, is_superuser=True)
        found = users.filter(username=name).first() if name else users.filter(is_superuser=True).order_by("pk").first()
    if found is None:
        raise CommandError(f"There is no user {name}." if name else "There is no administrator; name a user.")
    return found


def port_in_use() -> int:
    """The port of what runs on this state directory; else the one that would be used."""
    try:
        return int(json.loads(settings.LAYOUT.running.read_text())["address"].rstrip("/").rpartition(":")[2])
    except (OSError, ValueError, KeyError):
        return int(settings.COORDUI_PORT)
