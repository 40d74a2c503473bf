from __future__ import annotations

import getpass
import secrets
import sys
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from submits.management.started import needs_a_start


class Command(BaseCommand):
    help = "Adds somebody who may sign in. Asks for a password; without a terminal it makes one up and prints it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--operator", action="store_true", help="sees every search by name, and the admin")
        parser.add_argument("--state", help="the state directory, if it is not ./var")

    def handle(self, *args: Any, name: str, operator: bool, **options: Any) -> None:
        needs_a_start()
        users = get_user_model()
        if users.objects.filter(username=name).exists():
            raise CommandError(f"There is a user {name} already.")
        user = users(username=name, is_staff=operator)
        try:
            user.clean_fields(exclude=["password"])
        except ValidationError as error:
            raise CommandError(f"{name!r} cannot be a name: {' '.join(error.messages)}") from None
        asked = sys.stdin.isatty()
        password = ask(user) if asked else secrets.token_urlsafe(12)
        user.set_password(password)
        user.save()
        self.stdout.write(f"{name} may sign in{' as an operator' if operator else ''}.")
        if not asked:
            self.stdout.write(f"password: {password}")


def ask(user: Any) -> str:
    """Twice the same password that passes the rules, in three tries."""
    problem = ""
    for _ in range(3):
        password = getpass.getpass(f"Password for {user}: ")
        try:
            validate_password(password, user)
        except ValidationError as error:
            problem = " ".join(error.messages)
        else:
            if getpass.getpass("Again: ") == password:
                return password
            problem = "The two were not the same."
        print(problem, file=sys.stderr)
    raise CommandError(f"No user was added. {problem}")
