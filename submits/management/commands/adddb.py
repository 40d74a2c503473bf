from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.text import slugify

from submits.blast.databases import DatabaseError, format_fasta
from submits.models import Database
from submits.scopes import default_scope, register_database


class Command(BaseCommand):
    help = "Formats a FASTA file as a BLAST database and offers it in the search form."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--title", default="")
        parser.add_argument("--description", default="")
        parser.add_argument("--state", help="the state directory, if it is not ./var")

    def handle(self, *args: Any, file: Path, title: str, description: str, **options: Any) -> None:
        title = " ".join(title.split())[:200] or file.stem
        scope = default_scope()
        key = free_key(scope.pk, slugify(title)[:50] or "database")
        try:
            facts = format_fasta(file, Path(settings.LAYOUT.blastdb) / key / key, title)
        except DatabaseError as error:
            raise CommandError(str(error)) from None
        register_database(scope, replace(facts, key=key, title=title), description)
        self.stdout.write(f"{title}: {facts.sequences:,} sequences, {facts.letters:,} letters, as “{key}”.")


def free_key(scope_pk: int, wanted: str) -> str:
    """The wanted key, or with a number when it is taken: a database is never replaced under a search that uses it."""
    taken = set(Database.objects.filter(scope_id=scope_pk).values_list("key", flat=True))
    numbered = (f"{wanted}-{number}" for number in range(2, len(taken) + 3))
    return wanted if wanted not in taken else next(key for key in numbered if key not in taken)
