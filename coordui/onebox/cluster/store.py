"""The truth: objects, their index and the log of changes, in one SQLite file under one global revision.

Every change is one transaction: a new revision, the object's row, its index terms and a row of the log. A commit that
has returned survives SIGKILL of this process; with `durable` it survives a power cut too.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .objects import Obj, dump, load
from .resources import BY_KEY, Resource
from .selectors import EVERYTHING, Selector, Terms, terms_of, where

FIRST_REVISION = 100  # a real cluster's first objects come after a hundred revisions of its own
LOG_KEPT = 10_000
LOG_SLACK = 2_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS state(one INTEGER PRIMARY KEY CHECK(one=1), revision INTEGER, compacted INTEGER);
CREATE TABLE IF NOT EXISTS objects(id INTEGER PRIMARY KEY, resource TEXT, namespace TEXT, name TEXT, uid TEXT UNIQUE,
    body TEXT, UNIQUE(resource, namespace, name));
CREATE TABLE IF NOT EXISTS terms(resource TEXT, term TEXT, value TEXT, object INTEGER,
    PRIMARY KEY(resource, term, value, object)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS terms_object ON terms(object);
CREATE TABLE IF NOT EXISTS log(revision INTEGER PRIMARY KEY, resource TEXT, namespace TEXT, name TEXT, type TEXT,
    body TEXT, before TEXT);
CREATE INDEX IF NOT EXISTS log_resource ON log(resource, revision);
CREATE INDEX IF NOT EXISTS log_object ON log(resource, namespace, name, revision);
"""

Change = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(frozen=True)
class Event:
    """One committed change. `before` and `after` are what selectors ask; None where there is no object."""

    revision: int
    type: Change
    resource: Resource
    namespace: str
    name: str
    body: str
    before: Terms | None
    after: Terms | None

    @property
    def object(self) -> Obj:
        found: Obj = load(self.body)
        return found


@dataclass(frozen=True)
class Row:
    namespace: str
    name: str
    body: str

    @property
    def object(self) -> Obj:
        found: Obj = load(self.body)
        return found


class Store:
    def __init__(self, path: Path, *, durable: bool = False) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self._db.executescript(_SCHEMA)
        self._db.execute("INSERT OR IGNORE INTO state VALUES(1, ?, ?)", (FIRST_REVISION, FIRST_REVISION))
        self.revision, self.compacted = self._db.execute("SELECT revision, compacted FROM state").fetchone()
        self.listeners: list[Callable[[Event], None]] = []
        self._pending: list[Event] = []
        self._outbox: deque[Event] = deque()
        self._publishing = False
        self._depth = 0

    def close(self) -> None:
        self._db.close()

    # -- reading

    def body(self, resource: Resource, namespace: str, name: str) -> str | None:
        found = self._db.execute(
            "SELECT body FROM objects WHERE resource=? AND namespace=? AND name=?", (resource.key, namespace, name)
        ).fetchone()
        return found[0] if found else None

    def get(self, resource: Resource, namespace: str, name: str) -> Obj | None:
        body = self.body(resource, namespace, name)
        return None if body is None else load(body)

    def has_uid(self, uid: str) -> bool:
        return self._db.execute("SELECT 1 FROM objects WHERE uid=?", (uid,)).fetchone() is not None

    def find_uid(self, uid: str) -> tuple[Resource, Obj] | None:
        found = self._db.execute("SELECT resource, body FROM objects WHERE uid=?", (uid,)).fetchone()
        return (BY_KEY[found[0]], load(found[1])) if found else None

    def select(
        self,
        resource: Resource,
        namespace: str | None = None,
        selector: Selector = EVERYTHING,
        *,
        limit: int | None = None,
        after: tuple[str, str] | None = None,
    ) -> list[Row]:
        """Rows ordered by namespace and name, from behind `after`."""
        text, arguments = "SELECT namespace, name, body FROM objects WHERE resource=?", [resource.key]
        if namespace is not None:
            text, arguments = text + " AND namespace=?", [*arguments, namespace]
        if after is not None:
            text, arguments = text + " AND (namespace, name) > (?, ?)", [*arguments, *after]
        clause, more = where(selector, resource.key)
        text += clause + " ORDER BY namespace, name" + (f" LIMIT {int(limit)}" if limit else "")
        return [Row(*row) for row in self._db.execute(text, (*arguments, *more))]

    def count(self, resource: Resource, namespace: str | None, selector: Selector, after: tuple[str, str]) -> int:
        text, arguments = "SELECT count(*) FROM objects WHERE resource=?", [resource.key]
        if namespace is not None:
            text, arguments = text + " AND namespace=?", [*arguments, namespace]
        clause, more = where(selector, resource.key)
        text += " AND (namespace, name) > (?, ?)" + clause
        return int(self._db.execute(text, (*arguments, *after, *more)).fetchone()[0])

    def owned_by(self, uid: str) -> list[tuple[Resource, Obj]]:
        """Every object with an ownerReference to that uid."""
        rows = self._db.execute(
            "SELECT o.resource, o.body FROM terms t JOIN objects o ON o.id=t.object"
            " WHERE t.resource='' AND t.term='owner' AND t.value=? ORDER BY o.id",
            (uid,),
        )
        return [(BY_KEY[key], load(body)) for key, body in rows]

    def orphaned(self) -> list[tuple[Resource, Obj]]:
        """Every object whose ownerReferences name an owner that is gone."""
        rows = self._db.execute(
            "SELECT DISTINCT o.resource, o.body FROM terms t JOIN objects o ON o.id=t.object"
            " WHERE t.resource='' AND t.term='owner' AND NOT EXISTS (SELECT 1 FROM objects w WHERE w.uid=t.value)"
        )
        return [(BY_KEY[key], load(body)) for key, body in rows]

    def content(self, namespace: str) -> list[tuple[Resource, Row]]:
        rows = self._db.execute(
            "SELECT resource, namespace, name, body FROM objects WHERE namespace=? ORDER BY resource", (namespace,)
        )
        return [(BY_KEY[key], Row(*rest)) for key, *rest in rows]

    def changes(self, since: int, resource: Resource, namespace: str | None, limit: int = 500) -> list[Event]:
        """Logged changes after revision `since`, oldest first, at most `limit`."""
        text = "SELECT revision, type, namespace, name, body, before FROM log WHERE resource=? AND revision>?"
        arguments: list[object] = [resource.key, since]
        if namespace is not None:
            text, arguments = text + " AND namespace=?", [*arguments, namespace]
        rows = self._db.execute(text + f" ORDER BY revision LIMIT {int(limit)}", arguments)
        return [
            Event(
                revision,
                kind,
                resource,
                place,
                name,
                body,
                before=load(before),
                after=None if kind == "DELETED" else terms_of(resource, load(body)),
            )
            for revision, kind, place, name, body, before in rows
        ]

    def body_before(self, event: Event) -> str | None:
        """The object as it was before this change, if the log still has it."""
        found = self._db.execute(
            "SELECT body FROM log WHERE resource=? AND namespace=? AND name=? AND revision<?"
            " ORDER BY revision DESC LIMIT 1",
            (event.resource.key, event.namespace, event.name, event.revision),
        ).fetchone()
        return found[0] if found else None

    # -- writing

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """All or nothing; may be nested. Listeners hear of it after the commit. `keep=False` (a dry run) rolls back."""
        if self._depth:
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
            return
        before = self.revision
        self._db.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            yield
            if keep:
                self._db.execute("UPDATE state SET revision=?", (self.revision,))
            self._db.execute("COMMIT" if keep else "ROLLBACK")
        except BaseException:
            keep = False
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0
            events, self._pending = self._pending, []
            if not keep:
                self.revision = before
        if keep:
            self._publish(events)

    def _publish(self, events: list[Event]) -> None:
        """In the order of the commits, also when a listener writes."""
        self._outbox += events
        if self._publishing:
            return
        self._publishing = True
        try:
            while self._outbox:
                event = self._outbox.popleft()
                for listener in tuple(self.listeners):
                    listener(event)
        finally:
            self._publishing = False
        if self.revision - self.compacted > LOG_KEPT + LOG_SLACK:
            self.compact(self.revision - LOG_KEPT)

    def add(self, resource: Resource, obj: Obj) -> Obj:
        namespace, name, uid = _names(obj)
        with self.transaction():
            body = self._next(obj)
            cursor = self._db.execute(
                "INSERT INTO objects(resource, namespace, name, uid, body) VALUES(?,?,?,?,?)",
                (resource.key, namespace, name, uid, body),
            )
            terms = terms_of(resource, obj)
            self._index(resource, cursor.lastrowid or 0, terms, _owners(obj))
            self._log(Event(self.revision, "ADDED", resource, namespace, name, body, None, terms))
        return obj

    def replace(self, resource: Resource, old: Obj, obj: Obj) -> Obj:
        namespace, name, uid = _names(obj)
        with self.transaction():
            body = self._next(obj)
            (key,) = self._db.execute("SELECT id FROM objects WHERE uid=?", (uid,)).fetchone()
            self._db.execute("UPDATE objects SET body=? WHERE id=?", (body, key))
            before, after = terms_of(resource, old), terms_of(resource, obj)
            if before != after or _owners(old) != _owners(obj):
                self._db.execute("DELETE FROM terms WHERE object=?", (key,))
                self._index(resource, key, after, _owners(obj))
            self._log(Event(self.revision, "MODIFIED", resource, namespace, name, body, before, after))
        return obj

    def remove(self, resource: Resource, obj: Obj) -> Obj:
        """The object as its DELETED event shows it, with the deletion's own revision."""
        namespace, name, uid = _names(obj)
        with self.transaction():
            body = self._next(obj)
            self._db.execute("DELETE FROM terms WHERE object=(SELECT id FROM objects WHERE uid=?)", (uid,))
            self._db.execute("DELETE FROM objects WHERE uid=?", (uid,))
            self._log(Event(self.revision, "DELETED", resource, namespace, name, body, terms_of(resource, obj), None))
        return obj

    def compact(self, revision: int) -> None:
        """Forget the log up to `revision`; a watch from before it is told 410."""
        self._db.execute("DELETE FROM log WHERE revision<=?", (revision,))
        self._db.execute("UPDATE state SET compacted=?", (revision,))
        self.compacted = revision

    def _next(self, obj: Obj) -> str:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return dump(obj)

    def _index(self, resource: Resource, key: int, terms: Terms, owners: list[str]) -> None:
        rows = [(resource.key, term, value, key) for term, value in terms.items()]
        rows += [("", "owner", uid, key) for uid in owners]  # of no resource: no selector asks for it
        self._db.executemany("INSERT OR IGNORE INTO terms VALUES(?,?,?,?)", rows)

    def _log(self, event: Event) -> None:
        self._db.execute(
            "INSERT INTO log VALUES(?,?,?,?,?,?,?)",
            (
                event.revision,
                event.resource.key,
                event.namespace,
                event.name,
                event.type,
                event.body,
                dump(event.before),
            ),
        )
        self._pending.append(event)


def _names(obj: Obj) -> tuple[str, str, str]:
    found = obj["metadata"]
    return found.get("namespace", ""), found["name"], found["uid"]


def _owners(obj: Obj) -> list[str]:
    return [str(owner.get("uid", "")) for owner in obj["metadata"].get("ownerReferences", ())]
