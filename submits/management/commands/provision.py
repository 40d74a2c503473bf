from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from submits import catalogue, demo
from submits.blast.databases import DatabaseError, format_fasta, present
from submits.blast.facts import is_stored
from submits.models import Cluster, Database
from submits.scopes import database_place, default_scope

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
        directory = whole(settings.LAYOUT.blastdb)
        if not seen(directory):
            self.stdout.write(f"no demo databases: no Pod of a search is known to see {directory}")
            return
        for wanted in demo.databases():
            out = directory / wanted.key
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
            catalogue.register_database(scope, facts)

    def own_databases(self, scope: Cluster) -> None:
        """Those in the place that COORDUI_BLASTDB names."""
        place = database_place()
        if place and not is_stored(place) and not catalogue.in_cluster() and not Path(place).is_dir():
            raise CommandError(f"COORDUI_BLASTDB: there is no directory {place}. Make it, or name another one.")
        catalogue.look(scope, self.stdout.write, self.stderr.write)


def whole(path: Path) -> Path:
    """As databases are registered: absolute and without dots, links as they stand."""
    return Path(os.path.abspath(path))


def seen(directory: Path) -> bool:
    """Whether Pods find what is made in this directory: they are processes of this machine, or it is in the place that
    they share with us."""
    shared = database_place() and not catalogue.in_cluster()
    return settings.COORDUI_CLUSTER == "embedded" or bool(shared and directory.is_relative_to(database_place()))
