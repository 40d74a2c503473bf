"""The truth: objects, their index and the log of changes, in one SQLite file under one global revision.

Every change is one transaction: a new revision, the object's row, its index terms and a row of the log. A commit that
has returned survives SIGKILL of this process; with `durable` it survives a power cut too.
"""

from __future__ import annotations

import heapq
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from . import history
from .history import Event, History, Key
from .objects import Obj, dump, load
from .resources import ALL, BY_KEY, Resource, settled
from .selectors import EVERYTHING, MANY, Clause, Selector, Terms, query, terms_of

__all__ = ["Event", "Row", "Store"]
FIRST_REVISION = 100  # a real cluster's first objects come after a hundred revisions of its own
LOG_KEPT = 10_000
LOG_SLACK = 2_000
# Of the tables that are made from the objects: it changes with what is indexed.
_LAYOUT = zlib.crc32(repr((3, [(resource.key, resource.fields) for resource in ALL])).encode()) >> 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS state(one INTEGER PRIMARY KEY CHECK(one=1), revision INTEGER, compacted INTEGER);
CREATE TABLE IF NOT EXISTS objects(id INTEGER PRIMARY KEY, resource TEXT, namespace TEXT, name TEXT, uid TEXT UNIQUE,
    body TEXT, UNIQUE(resource, namespace, name));
CREATE TABLE IF NOT EXISTS terms(resource TEXT, term TEXT, value TEXT, object INTEGER,
    PRIMARY KEY(resource, term, value, object)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS terms_object ON terms(object);
"""


@dataclass(frozen=True)
class Row:
    namespace: str
    name: str
    body: str

    @property
    def object(self) -> Obj:
        found: Obj = load(self.body)
        return found

    @property
    def key(self) -> Key:
        return self.namespace, self.name


class Store:
    """`now` gives the POSIX seconds that changes are logged with."""

    def __init__(self, path: Path | str, *, durable: bool = False, now: Callable[[], float] = time.time) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        # An empty file has nothing to lose, so nobody waits for the disk while it is laid out.
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
        self._db.execute("PRAGMA journal_mode=WAL")
        self.history = History(self._db, now)
        self._lay_out()
        if not durable:
            self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("INSERT OR IGNORE INTO state VALUES(1, ?, ?)", (FIRST_REVISION, FIRST_REVISION))
        self.revision: int
        self.compacted: int
        self.revision, self.compacted = self._db.execute("SELECT revision, compacted FROM state").fetchone()
        self.revision = max(self.revision, self.history.latest())
        self.listeners: list[Callable[[Event], None]] = []
        self._pending: list[Event] = []
        self._outbox: deque[Event] = deque()
        self._publishing = False
        self._depth = 0

    def _lay_out(self) -> None:
        """A file of another layout keeps its objects; index and log are made anew, so watches have to list again."""
        (layout,) = self._db.execute("PRAGMA user_version").fetchone()
        known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name='objects'").fetchone() is not None
        self._db.executescript("BEGIN IMMEDIATE;" + _SCHEMA)
        if known and layout != _LAYOUT:
            latest = max(*self._db.execute("SELECT revision FROM state").fetchone(), self.history.latest())
            self._db.execute("UPDATE state SET revision=?, compacted=?", (latest + 1, latest + 1))
            self._db.execute("DROP TABLE IF EXISTS log")
            self._db.execute("DELETE FROM terms")
            for key, name, body in self._db.execute("SELECT id, resource, body FROM objects").fetchall():
                obj = load(body)
                self._index(BY_KEY[name], key, terms_of(BY_KEY[name], obj), _ownership(obj))
        self._db.executescript(history.SCHEMA + f"PRAGMA user_version={_LAYOUT};")  # commits

    def close(self) -> None:
        self._db.close()

    # -- reading

    def body(self, resource: Resource, namespace: str, name: str) -> str | None:
        found = self._db.execute(
            "SELECT body FROM objects WHERE resource=? AND namespace=? AND name=?", (resource.key, namespace, name)
        ).fetchone()
        return found[0] if found else None

    def body_at(self, resource: Resource, namespace: str, name: str, revision: int) -> str | None:
        """As it was at `revision`, which is not compacted."""
        past = self.history.undone(revision, resource, namespace)
        return past[namespace, name] if (namespace, name) in past else self.body(resource, namespace, name)

    def get(self, resource: Resource, namespace: str, name: str) -> Obj | None:
        body = self.body(resource, namespace, name)
        return None if body is None else load(body)

    def has_uid(self, uid: str) -> bool:
        return self.whereabouts(uid) is not None

    def whereabouts(self, uid: str) -> tuple[Resource, str, str] | None:
        """Resource, namespace and name of the object with that uid."""
        found = self._db.execute("SELECT resource, namespace, name FROM objects WHERE uid=?", (uid,)).fetchone()
        return (BY_KEY[found[0]], found[1], found[2]) if found else None

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
        after: Key | None = None,
        revision: int | None = None,
    ) -> list[Row]:
        """Rows ordered by namespace and name, from behind `after`; as they were at `revision`, not compacted."""
        rows = self._rows(resource, namespace, selector, after)
        if revision is not None and revision < self.revision:
            past = self.history.undone(revision, resource, namespace)
            then = sorted(
                (
                    Row(*key, body)
                    for key, body in past.items()
                    if body is not None
                    and (after is None or key > after)
                    and selector.matches(*key, terms_of(resource, load(body)))
                ),
                key=lambda row: row.key,
            )
            rows = heapq.merge((row for row in rows if row.key not in past), then, key=lambda row: row.key)
        return list(islice(rows, limit))

    def _rows(self, resource: Resource, namespace: str | None, selector: Selector, after: Key | None) -> Iterator[Row]:
        text, arguments = query(selector, resource.key, self._weigh)
        if namespace is not None:
            text, arguments = text + " AND o.namespace=?", [*arguments, namespace]
        if after is not None:
            text, arguments = text + " AND (o.namespace, o.name) > (?, ?)", [*arguments, *after]
        text = f"SELECT o.namespace, o.name, o.body {text} ORDER BY o.namespace, o.name"
        return (Row(*row) for row in self._db.execute(text, arguments))

    def _weigh(self, clause: Clause) -> int:
        text, arguments = clause
        counted = f"SELECT count(*) FROM (SELECT 1 FROM terms t WHERE {text} LIMIT {MANY})"  # noqa: S608
        return int(self._db.execute(counted, arguments).fetchone()[0])

    def count(self, resource: Resource, namespace: str | None, after: Key, revision: int) -> int:
        """How many objects there were behind `after` at `revision`."""
        text, arguments = "SELECT count(*) FROM objects WHERE resource=?", [resource.key]
        if namespace is not None:
            text, arguments = text + " AND namespace=?", [*arguments, namespace]
        found = self._db.execute(text + " AND (namespace, name) > (?, ?)", (*arguments, *after)).fetchone()
        return int(found[0]) - self.history.growth(revision, resource, namespace, after)

    def owned_by(self, uid: str, *, settled: bool = True) -> list[tuple[Resource, Obj]]:
        """Every object with an ownerReference to that uid; or only those that are not settled, see resources.py."""
        rows = self._db.execute(
            "SELECT o.resource, o.body FROM terms t JOIN objects o ON o.id=t.object"
            " WHERE t.resource='' AND t.term IN ('owner', ?) AND t.value=? ORDER BY o.id",
            ("past" if settled else "owner", uid),
        )
        return [(BY_KEY[key], load(body)) for key, body in rows]

    def orphaned(self) -> list[tuple[Resource, Obj]]:
        """Every object whose ownerReferences name an owner that is gone."""
        rows = self._db.execute(
            "SELECT DISTINCT o.resource, o.body FROM terms t JOIN objects o ON o.id=t.object"
            " WHERE t.resource='' AND t.term IN ('owner', 'past')"
            " AND NOT EXISTS (SELECT 1 FROM objects w WHERE w.uid=t.value)"
        )
        return [(BY_KEY[key], load(body)) for key, body in rows]

    def content(self, namespace: str) -> list[tuple[Resource, Row]]:
        rows = self._db.execute(
            "SELECT resource, namespace, name, body FROM objects WHERE namespace=? ORDER BY resource", (namespace,)
        )
        return [(BY_KEY[key], Row(*rest)) for key, *rest in rows]

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
            self._index(resource, cursor.lastrowid or 0, terms, _ownership(obj))
            self._log(Event(self.revision, "ADDED", resource, namespace, name, body, None, None, terms))
        return obj

    def replace(self, resource: Resource, old: Obj, obj: Obj) -> Obj:
        namespace, name, uid = _names(obj)
        with self.transaction():
            key, previous = self._stored(uid)
            body = self._next(obj)
            self._db.execute("UPDATE objects SET body=? WHERE id=?", (body, key))
            before, after = terms_of(resource, old), terms_of(resource, obj)
            if before != after or _ownership(old) != _ownership(obj):
                self._db.execute("DELETE FROM terms WHERE object=?", (key,))
                self._index(resource, key, after, _ownership(obj))
            self._log(Event(self.revision, "MODIFIED", resource, namespace, name, body, previous, before, after))
        return obj

    def remove(self, resource: Resource, obj: Obj) -> Obj:
        """The object as its DELETED event shows it, with the deletion's own revision."""
        namespace, name, uid = _names(obj)
        with self.transaction():
            key, previous = self._stored(uid)
            body = self._next(obj)
            self._db.execute("DELETE FROM terms WHERE object=?", (key,))
            self._db.execute("DELETE FROM objects WHERE id=?", (key,))
            before = terms_of(resource, load(previous))
            self._log(Event(self.revision, "DELETED", resource, namespace, name, body, previous, before, None))
        return obj

    def compact(self, revision: int) -> None:
        """Forget the log up to `revision`; a watch or a page from before it is told 410."""
        self.compacted = revision
        with self.transaction():
            self._db.execute("UPDATE state SET revision=?, compacted=?", (self.revision, revision))
            self.history.forget(revision)

    def _stored(self, uid: str) -> tuple[int, str]:
        key, body = self._db.execute("SELECT id, body FROM objects WHERE uid=?", (uid,)).fetchone()
        return key, body

    def _next(self, obj: Obj) -> str:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        return dump(obj)

    def _index(self, resource: Resource, key: int, terms: Terms, ownership: list[tuple[str, str]]) -> None:
        rows = [(resource.key, term, value, key) for term, value in terms.items()]
        rows += [("", term, uid, key) for term, uid in ownership]  # of no resource: no selector asks for it
        self._db.executemany("INSERT OR IGNORE INTO terms VALUES(?,?,?,?)", rows)

    def _log(self, event: Event) -> None:
        self.history.append(event)
        self._pending.append(event)


def _names(obj: Obj) -> tuple[str, str, str]:
    found = obj["metadata"]
    return found.get("namespace", ""), found["name"], found["uid"]


def _ownership(obj: Obj) -> list[tuple[str, str]]:
    """The index terms by which an owner finds it, apart from those of what is settled."""
    owners = obj["metadata"].get("ownerReferences", ())
    term = "past" if owners and settled(obj) else "owner"
    return [(term, str(owner.get("uid", ""))) for owner in owners]
