"""The log of changes: what watches replay, and what lists of an older revision are made from.

A row has the object before and after its change, so that everything since the last compaction can be told from the log
and the objects as they are now, whatever has been forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .objects import Obj, load
from .resources import Resource
from .selectors import Terms, terms_of

SCHEMA = """
CREATE TABLE IF NOT EXISTS log(revision INTEGER PRIMARY KEY, resource TEXT, namespace TEXT, name TEXT, type TEXT,
    body TEXT, previous TEXT, at REAL);
CREATE INDEX IF NOT EXISTS log_resource ON log(resource, revision);
"""

Change = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]  # namespace, name


@dataclass(frozen=True)
class Event:
    """One committed change. `before` and `after` are what selectors ask; None where there is no object."""

    revision: int
    type: Change
    resource: Resource
    namespace: str
    name: str
    body: str
    previous: str | None  # the body before; None if there was no object
    before: Terms | None
    after: Terms | None

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.body) + len(self.previous or "") + 500

    @property
    def object(self) -> Obj:
        found: Obj = load(self.body)
        return found


class History:
    """`now` gives POSIX seconds."""

    def __init__(self, db: sqlite3.Connection, now: Callable[[], float]) -> None:
        self._db, self._now = db, now

    def append(self, event: Event) -> None:
        self._db.execute(
            "INSERT INTO log VALUES(?,?,?,?,?,?,?,?)",
            (
                event.revision,
                event.resource.key,
                event.namespace,
                event.name,
                event.type,
                event.body,
                event.previous,
                self._now(),
            ),
        )

    def since(self, revision: int, resource: Resource, namespace: str | None) -> Iterator[Event]:
        """Changes after `revision`, oldest first; read as they are asked for, before the next write."""
        clause, arguments = _within(resource, namespace, revision)
        rows = self._db.execute(
            f"SELECT revision, type, namespace, name, body, previous FROM log WHERE {clause} ORDER BY revision",  # noqa: S608
            arguments,
        )
        return (
            Event(
                number,
                kind,
                resource,
                place,
                name,
                body,
                previous,
                before=None if previous is None else terms_of(resource, load(previous)),
                after=None if kind == "DELETED" else terms_of(resource, load(body)),
            )
            for number, kind, place, name, body, previous in rows
        )

    def undone(self, revision: int, resource: Resource, namespace: str | None) -> dict[Key, str | None]:
        """Every object that has changed since, with its body at `revision`; None where it did not exist then."""
        clause, arguments = _within(resource, namespace, revision)
        # SQLite takes the other columns of a min() from the row that has the minimum.
        rows = self._db.execute(
            f"SELECT namespace, name, previous, min(revision) FROM log WHERE {clause} GROUP BY namespace, name",  # noqa: S608
            arguments,
        )
        return {(place, name): previous for place, name, previous, _ in rows}

    def growth(self, revision: int, resource: Resource, namespace: str | None, after: Key) -> int:
        """How many more objects there are behind `after` than at `revision`."""
        clause, arguments = _within(resource, namespace, revision)
        found = self._db.execute(
            f"SELECT coalesce(sum(type='ADDED') - sum(type='DELETED'), 0) FROM log WHERE {clause}"  # noqa: S608
            " AND (namespace, name) > (?, ?)",
            (*arguments, *after),
        ).fetchone()
        return int(found[0])

    def revision_at(self, moment: float) -> int | None:
        """The last revision written at that POSIX time or before; None if the log does not reach so far back."""
        found = self._db.execute("SELECT max(revision) FROM log WHERE at<=?", (moment,)).fetchone()
        return None if found[0] is None else int(found[0])

    def latest(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(revision), 0) FROM log").fetchone()[0])

    def forget(self, revision: int) -> None:
        self._db.execute("DELETE FROM log WHERE revision<=?", (revision,))


def _within(resource: Resource, namespace: str | None, since: int) -> tuple[str, list[object]]:
    clause, arguments = "resource=? AND revision>?", [resource.key, since]
    if namespace is not None:
        return clause + " AND namespace=?", [*arguments, namespace]
    return clause, arguments
