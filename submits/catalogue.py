"""Which databases are offered: what was found in the place that COORDUI_BLASTDB names, registered, and what is not
there any more, or not whole, taken out of offer. At the start and on a timer; two at once are harmless."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from submits import rowclock
from submits.blast.databases import present, unsaid
from submits.blast.facts import DatabaseFacts, is_stored
from submits.blast.report import Report
from submits.engine import scanjob, scanning
from submits.models import Cluster, Database
from submits.scopes import connect, database_place, engine_settings, store

log = logging.getLogger(__name__)
Say = Callable[[str], object]


def look(scope: Cluster, say: Say, warn: Say) -> None:
    """At a start: looks there and registers what is found. What only the cluster sees is as it was last found there."""
    in_force = database_place()
    report = scanning.last(store()) if in_cluster() else scanning.scan(store(), in_force) if in_force else Report()
    if report.place != in_force:
        say(f"the databases in {in_force} are not known yet: the cluster is asked as soon as it is there")
    else:
        tell(scope, report, say, warn)


def look_again(scope: Cluster, *, begin: bool) -> None:
    """On the timer: what is as it was is not told again. One look at a time on a machine, however long it takes.

    In the cluster a look takes several of these: one that begins it (`begin`), and one that finds that it has ended.
    Raises ClusterError; OSError of the work store.
    """
    with alone() as first:
        if not first:
            return
        before = scanning.last(store())
        if in_cluster():
            report = scanjob.look(connect(scope), store(), engine_settings(scope), begin=begin)
        elif begin:
            report = scanning.scan(store(), database_place())
        else:
            return
        if report.place != database_place():
            return
        if report != before:
            tell(scope, report, log.info, log.warning)
        elif begin:
            tell(scope, report, unsaid, unsaid)


def in_cluster() -> bool:
    """Whether a Job looks: never into an object store, which is the same from everywhere."""
    place = database_place()
    return bool(place) and not is_stored(place) and settings.COORDUI_BLASTDB_SCAN == "cluster"


def tell(scope: Cluster, report: Report, say: Say, warn: Say) -> None:
    """Registers what a report says, also when it said so before: a row may have been taken away meanwhile. When the
    place could not be looked at, its databases stay as they were."""
    if report.trouble:
        warn(f"COORDUI_BLASTDB: {report.trouble} Its databases stay as they were.")
    else:
        register(scope, report, say, warn)


@contextmanager
def alone() -> Iterator[bool]:
    """Whether nobody else of this machine looks just now."""
    run = Path(settings.LAYOUT.run)
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (run / "scan.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def register(scope: Cluster, report: Report, say: Say, warn: Say) -> None:
    """A row for each database of a report; those whose files are gone or damaged are offered no more, and say why.

    One that was taken out of offer for that is offered again when it is whole; one that an administrator took out is
    not.
    """
    if report.place:
        say(f"{len(report.found)} databases in {report.place}")
    for path, why in report.damaged.items():
        warn(f"{path} is damaged or half copied: {why} It is not offered.")
    here = {facts.path for facts in report.found}
    for facts in report.found:
        _one(scope, facts, here, say)
    for row in Database.objects.filter(Q(ready=True) | ~Q(trouble=""), scope=scope):
        why = gone(row.path, report, here)
        trouble = f"it {why}"[:300]
        if why and (row.ready or row.trouble != trouble):
            since = row.trouble_since if row.trouble else rowclock.now()
            Database.objects.filter(pk=row.pk).update(ready=False, trouble=trouble, trouble_since=since)
            warn(f"{row.title} (“{row.key}”) is not offered any more: {row.path} {why}")


def _one(scope: Cluster, facts: DatabaseFacts, here: set[str], say: Say) -> None:
    row = register_database(scope, facts, there=lambda path: path in here or present(path))
    if row.key != facts.key:
        say(f"{facts.path} is “{row.key}”, because “{facts.key}” is another database")
    if not row.ready:
        say(f"{row.title} (“{row.key}”) is there but not offered; the admin pages can offer it")


def gone(path: str, report: Report, here: set[str]) -> str:
    """Why a database can be offered no more, "" if it can: `here` are the paths that the report has found."""
    if path in here:
        return ""
    if path in report.damaged:
        return f"is damaged or half copied: {report.damaged[path]}"
    if Path(path).is_relative_to(os.path.abspath(settings.LAYOUT.blastdb)):
        return "" if present(path) else "is not there."
    named = report.place and Path(path).is_relative_to(report.place)
    return "is not there." if named else "is in no directory that COORDUI_BLASTDB names."


def free_keys(scope: Cluster, wanted: str) -> Iterator[str]:
    """The wanted key if it is free, then wanted-2, wanted-3, …: as many as there may be tries."""
    taken = set(Database.objects.filter(scope=scope).values_list("key", flat=True))
    longest = Database._meta.get_field("key").max_length or 63
    numbered = (f"{wanted[: longest - 5]}-{number}" for number in range(2, 1000))
    return (key for key in chain([wanted[:longest]], numbered) if key not in taken)


def register_database(
    scope: Cluster, facts: DatabaseFacts, description: str = "", there: Callable[[str], bool] = present
) -> Database:
    """The row of a formatted database, which is known by its path; a new one gets the first free key like its own.

    Guarantee: no other database's row is replaced, and of an existing row only what BLAST says of it changes, never
    its title, its description or what an administrator said of offering it; one that was taken out of offer for its
    trouble is offered again. One whose files have moved keeps its row: `there` says of a path whether it has any.
    """
    names = ("path", "molecule", "sequences", "letters", "formatted", "taxonomy")
    known = {"trouble": "", "trouble_since": None, **{name: getattr(facts, name) for name in names}}
    database = Database.objects.filter(scope=scope, path=facts.path).first() or _moved(scope, facts, there)
    if database is not None:
        if database.trouble:
            known["ready"] = True
        if any(getattr(database, name) != value for name, value in known.items()):
            Database.objects.filter(pk=database.pk).update(**known)
            database.refresh_from_db()
        return database
    new = {**known, "title": facts.title[:200], "description": description}
    for key in free_keys(scope, facts.key):
        # Somebody else may take a key between the look and the write: the constraint decides.
        with suppress(IntegrityError), transaction.atomic():
            return Database.objects.create(scope=scope, key=key, **new)
    raise IntegrityError(f"no key like {facts.key} is free")


def _moved(scope: Cluster, facts: DatabaseFacts, there: Callable[[str], bool]) -> Database | None:
    """The row of the same key and content whose files are gone from where they were."""
    same = {name: getattr(facts, name) for name in ("key", "molecule", "sequences", "letters")}
    database = Database.objects.filter(scope=scope, **same).first()
    return database if database is not None and not there(database.path) else None
