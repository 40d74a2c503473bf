from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from submits import flow
from submits.checks import refuse_to_start


class Command(BaseCommand):
    help = "Do what is next for one submission, by its primary key: what a worker does, without the broker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pk", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_to_start()
        flow.run(options["pk"])
