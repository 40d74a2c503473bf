from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand

from submits import demo
from submits.blast.databases import DatabaseError, format_fasta, scan
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
            registered = Database.objects.filter(scope=scope, key=wanted.key).first()
            if registered is not None and any(Path(registered.path).parent.glob(f"{wanted.key}.*")):
                continue
            out = Path(settings.COORDUI_STATE) / "blastdb" / wanted.key
            out.parent.mkdir(parents=True, exist_ok=True)
            try:
                facts = format_fasta(wanted.fasta, out, wanted.title)
            except DatabaseError as error:
                self.stderr.write(f"the demo database {wanted.key} could not be made: {error}")
                continue
            register_database(scope, facts)

    def own_databases(self, scope: Cluster) -> None:
        """Those in the directory that COORDUI_BLASTDB names; one that is gone is no longer offered."""
        if settings.COORDUI_BLASTDB is None:
            return
        directory = str(settings.COORDUI_BLASTDB)
        try:
            found = scan(Path(directory))
        except DatabaseError as error:
            self.stderr.write(f"COORDUI_BLASTDB: {error}")
            return
        for facts in found:
            register_database(scope, facts)
        paths = [str(facts.path) for facts in found]
        gone = Database.objects.filter(scope=scope, path__startswith=f"{directory}/").exclude(path__in=paths)
        gone.update(ready=False)
        self.stdout.write(f"{len(found)} databases in {directory}")
