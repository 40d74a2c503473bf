from __future__ import annotations

import io
import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from submits import demo, receiving, tasks
from submits.blast.intake import Findings, read_search
from submits.management.started import needs_a_start
from submits.models import Cluster, Database, Submission
from submits.scopes import default_scope


class Command(BaseCommand):
    help = "Throw in eight example searches, some slow, so that one can watch the line, A and B."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", help="whose searches they are (default: the first user)")
        parser.add_argument("--times", type=int, default=1, help="throw them in so often")
        parser.add_argument("--state", help="the state directory, if it is not ./var")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"] < 2:
            logging.getLogger("submits").setLevel(logging.WARNING)  # a line of the log says what the sentence says
        needs_a_start()
        users = get_user_model().objects.order_by("pk")
        owner = users.filter(username=options["user"]).first() if options["user"] else users.first()
        if owner is None:
            raise CommandError("there is no such user: start once with `make up`, or use `manage.py adduser NAME`")
        scope = default_scope()
        for _ in range(max(1, options["times"])):
            for wanted in demo.SEARCHES:
                submission = self.receive(owner, scope, wanted)
                self.stdout.write(f"{submission.key}  {submission.title}")

    def receive(self, owner: Any, scope: Cluster, wanted: demo.DemoSearch) -> Submission:
        database = Database.objects.filter(scope=scope, key=wanted.database, ready=True).first()
        if database is None:
            raise CommandError(f"the database {wanted.database} is not there: `manage.py provision` makes it")
        text = wanted.query()
        search = read_search(text, program=wanted.program, database=receiving.facts_of(database), options=wanted.form())
        if isinstance(search, Findings):
            raise CommandError(f"{wanted.title}: {search[0]}")
        submission = receiving.receive(
            owner=owner, scope=scope, search=search, text=io.BytesIO(text.encode()), database=database,
            title=wanted.title, form_key="",
        )  # fmt: skip
        tasks.send(tasks.prepare, submission.pk)
        return submission
