from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from submits import demo
from submits.blast.databases import DatabaseError, format_fasta, present, scan
from submits.blast.facts import DatabaseFacts
from submits.models import Cluster, Database
from submits.scopes import default_scope, register_database

FIRST_USER = "admin"


class Command(BaseCommand):
    help = "What a first start needs: the scope, the first user, the databases. Later starts find it all there."

    def handle(self, *args: Any, **options: Any) -> None:
        scope = default_scope()
        self.first_user()
        self.demo_databases(scope)
        self.own_databases(scope)

    def first_user(self) -> None:
        users = get_user_model().objects
        if users.exists():
            return
        user = users.create_user(FIRST_USER, is_staff=True, is_superuser=True)
        user.set_unusable_password()
        user.save()
        self.stdout.write(f"made the first user, {FIRST_USER}: operator and administrator")

    def demo_databases(self, scope: Cluster) -> None:
        for wanted in demo.databases():
            out = whole(settings.LAYOUT.blastdb) / wanted.key
            rows = Database.objects.filter(scope=scope)
            registered = rows.filter(path=out).first() or rows.filter(key=wanted.key, title=wanted.title).first()
            if registered is not None and registered.path == str(out) and present(out):
                continue
            try:
                facts = format_fasta(wanted.fasta, out, wanted.title)
            except DatabaseError as error:
                self.stderr.write(f"the demo database {wanted.key} could not be made: {error}")
                continue
            if registered is not None:  # it was made in another state directory, of which this one is a copy
                rows.filter(pk=registered.pk).update(path=facts.path)
            register_database(scope, facts)

    def own_databases(self, scope: Cluster) -> None:
        """Those in the directory that COORDUI_BLASTDB names. What is there no more, or was in another directory that
        was named before, is not offered any more; whether to offer it again is an administrator's to say."""
        directory = whole(settings.COORDUI_BLASTDB) if settings.COORDUI_BLASTDB else None
        found: list[DatabaseFacts] = []
        damaged: dict[str, str] = {}
        if directory is not None:
            if not directory.is_dir():
                raise CommandError(f"COORDUI_BLASTDB: there is no directory {directory}. Make it, or name another one.")
            try:
                found = scan(directory, damaged.__setitem__)
            except DatabaseError as error:
                self.stderr.write(f"COORDUI_BLASTDB: {error} Its databases stay as they were.")
                return
            self.stdout.write(f"{len(found)} databases in {directory}")
        for path, why in damaged.items():
            self.stderr.write(f"{path} is damaged or half copied: {why} It is not offered.")
        for facts in found:
            self.register(scope, facts)
        here = {facts.path for facts in found}
        for row in Database.objects.filter(scope=scope, ready=True):
            why = gone(row.path, directory, here)
            if why:
                trouble = f"it is damaged or half copied: {damaged[row.path]}" if row.path in damaged else f"it {why}"
                Database.objects.filter(pk=row.pk).update(ready=False, trouble=trouble[:300])
                self.stderr.write(f"{row.title} (“{row.key}”) is not offered any more: {row.path} {why}")

    def register(self, scope: Cluster, facts: DatabaseFacts) -> None:
        row = register_database(scope, facts)
        if row.key != facts.key:
            self.stdout.write(f"{facts.path} is “{row.key}”, because “{facts.key}” is another database")
        if not row.ready:
            self.stdout.write(f"{row.title} (“{row.key}”) is there but not offered; the admin pages can offer it")


def whole(path: Path) -> Path:
    """As databases are registered: absolute and without dots, links as they stand."""
    return Path(os.path.abspath(path))


def gone(path: str, directory: Path | None, here: set[str]) -> str:
    """Why a database can be offered no more, "" if it can: `here` are the paths just found in the `directory`."""
    if not present(path):
        return "is not there."
    if path in here or Path(path).is_relative_to(whole(settings.LAYOUT.blastdb)):
        return ""
    named = directory is not None and Path(path).is_relative_to(directory)
    return "is damaged." if named else "is in no directory that COORDUI_BLASTDB names."
