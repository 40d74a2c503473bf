from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.text import slugify

from submits.blast.databases import DatabaseError, format_fasta
from submits.blast.printable import clean
from submits.catalogue import free_keys, register_database
from submits.management.started import needs_a_start
from submits.scopes import default_scope


class Command(BaseCommand):
    help = "Formats a FASTA file as a BLAST database and offers it in the search form."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--title", default="")
        parser.add_argument("--description", default="")
        parser.add_argument("--state", help="the state directory, if it is not ./var")

    def handle(self, *args: Any, file: Path, title: str, description: str, **options: Any) -> None:
        needs_a_start()
        title = " ".join(clean(title).split())[:200] or clean(file.stem)[:200]
        scope = default_scope()
        place = own_directory(free_keys(scope, slugify(title)[:50] or "database"))
        try:
            facts = format_fasta(file, place / place.name, title, say=self.stderr.write)
        except DatabaseError as error:
            raise CommandError(str(error)) from None
        finally:
            if not any(place.iterdir()):
                place.rmdir()
        database = register_database(scope, replace(facts, key=place.name, title=title), description)
        self.stdout.write(f"{title}: {facts.sequences:,} sequences, {facts.letters:,} letters, as “{database.key}”.")


def own_directory(names: Iterable[str]) -> Path:
    """A directory that this call has made: of two that want the same name at once, one gets the next name."""
    parent = Path(settings.LAYOUT.blastdb)
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in names:
        try:
            (parent / name).mkdir()
        except FileExistsError:
            continue
        return parent / name
    raise CommandError("There are too many databases of this title; give it another one.")
