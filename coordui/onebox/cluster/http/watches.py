"""Watches: what the log still has since a revision, then every change as it commits, as one JSON object a line.

A watch keeps no events, only how far it has come. The hub keeps the latest events once, for all of them; a watch that
lags further behind reads the log, and one that lags behind the log is told 410. So no reader can fill the memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import takewhile

from ..errors import expired
from ..storage.objects import Obj, dump, load
from ..storage.resources import Resource
from ..storage.selectors import Selector
from ..storage.store import Event, Store
from .responses import PATIENCE
from .shapes import Shape

# By size and not by number: an object may have a few hundred bytes, or a million.
RECENT = 4 * 1024 * 1024  # characters of the events that are kept in memory for all watches
CHUNK = 1024 * 1024  # of those that one piece of text is made from


@dataclass(frozen=True)
class Scope:
    resource: Resource
    namespace: str | None
    selector: Selector

    def seen_as(self, event: Event) -> str | None:
        """The type this scope's watcher hears: leaving the selector is DELETED, entering it ADDED."""
        if event.resource is not self.resource or self.namespace not in (None, event.namespace):
            return None
        was = event.before is not None and self.selector.matches(event.namespace, event.name, event.before)
        is_in = event.after is not None and self.selector.matches(event.namespace, event.name, event.after)
        if is_in:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else None


class Hub:
    """Tells the open watches of committed events, and keeps the latest ones."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.patience = PATIENCE  # seconds a client may take nothing of what it is sent
        self.open_watches: set[Watch] = set()
        self._recent: deque[Event] = deque()
        self.held = 0  # characters, in _recent
        self._lines: dict[tuple[int, str], bytes] = {}  # what all who see a recent event alike are sent
        store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        self._recent.append(event)
        self.held += event.size
        while self.held > RECENT:
            self.held -= self._recent.popleft().size
        self._lines.clear()
        for watch in tuple(self.open_watches):  # one that nobody holds any more may leave at any moment
            watch.heard(event)

    def close(self) -> None:
        for watch in self.open_watches:
            watch.end()

    def open(self, scope: Scope, revision: int | None, *, initial: bool, mark: bool, shape: Shape) -> Watch:
        """From behind `revision`, or (None) from now on; `initial` sends what is there first, `mark` says its end."""
        watch = Watch(self, scope, revision, initial=initial, mark=mark, shape=shape)
        self.open_watches.add(watch)
        return watch

    def since(self, revision: int, scope: Scope) -> tuple[list[Event], int]:
        """The next CHUNK of changes after `revision`, oldest first, and the revision up to which that is all."""
        found: list[Event] = []
        size = 0
        for event in self._after(revision, scope):
            found.append(event)
            size += event.size
            if size >= CHUNK:
                return found, event.revision
        return found, self.store.revision

    def _after(self, revision: int, scope: Scope) -> Iterable[Event]:
        if self._is_recent(revision + 1):
            newest_first = takewhile(lambda event: event.revision > revision, reversed(self._recent))
            return reversed(list(newest_first))
        return self.store.history.since(revision, scope.resource, scope.namespace)

    def _is_recent(self, revision: int) -> bool:
        return bool(self._recent) and self._recent[0].revision <= revision

    def line(self, event: Event, kind: str, shape: Shape) -> bytes:
        """Made once for all watches, where they see it alike."""
        if not (shape.shared and self._is_recent(event.revision)):
            return _event_line(kind, shape.event(event.body)).encode()
        key = (event.revision, kind)
        if key not in self._lines:
            self._lines[key] = _event_line(kind, shape.event(event.body)).encode()
        return self._lines[key]


class Watch:
    """1. What is there, if it was asked for. 2. What the log has since the revision. 3. What comes."""

    def __init__(
        self, hub: Hub, scope: Scope, revision: int | None, *, initial: bool, mark: bool, shape: Shape
    ) -> None:
        self._hub, self._scope, self._shape = hub, scope, shape
        self._revision = hub.store.revision if revision is None else revision
        self._initial, self._mark = initial, mark
        self._wake = asyncio.Event()
        self._ended = False

    def heard(self, event: Event) -> None:
        if self._scope.seen_as(event):
            self._wake.set()
        elif self._revision == event.revision - 1 and not self._initial:
            self._revision = event.revision  # so that one to whom nothing happens does not lag behind

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    def close(self) -> None:
        self.end()
        self._hub.open_watches.discard(self)

    def take(self) -> bytes | None:
        """The next piece of what there is to say, empty where events are not this watch's; None when that was all."""
        store = self._hub.store
        if self._initial:
            self._initial = False
            return self._everything()
        if self._revision < store.compacted or self._revision < 1:
            self.end()
            message = f"too old resource version: {self._revision} ({store.compacted})"
            self._revision = store.revision
            return _event_line("ERROR", dump(expired(message).status())).encode()
        if self._revision >= store.revision:
            return None
        events, self._revision = self._hub.since(self._revision, self._scope)
        return b"".join(self._line(event) for event in events)

    def take_all(self) -> bytes:
        parts: list[bytes] = []
        while not self._ended and (part := self.take()) is not None:
            parts.append(part)
        return b"".join(parts)

    async def lines(self, seconds: float | None) -> AsyncIterator[bytes]:
        """The watch's lines, several at a time, until its time is over, it lags too far, or the server stops."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, self.end) if seconds is not None else None
        try:
            while True:
                self._wake.clear()
                while (text := self.take()) is not None:
                    if text:
                        yield text
                    if self._ended:
                        return
                if self._ended:
                    return
                await self._wake.wait()
        finally:
            if timer:
                timer.cancel()
            self.close()

    def _everything(self) -> bytes:
        store, scope = self._hub.store, self._scope
        self._revision = store.revision
        text = "".join(
            f'{{"type":"ADDED","object":{self._shape.event(row.body)}}}\n'
            for row in store.select(scope.resource, scope.namespace, scope.selector)
        )
        if self._mark:
            metadata = {"resourceVersion": str(store.revision), "annotations": {"k8s.io/initial-events-end": "true"}}
            text += _event_line("BOOKMARK", self._shape.bookmark(metadata))
        return text.encode()

    def _line(self, event: Event) -> bytes:
        kind = self._scope.seen_as(event)
        if kind is None:
            return b""
        if kind == "DELETED" and event.type == "MODIFIED" and event.previous is not None:
            return _event_line(kind, self._shape.event(_left(event.previous, event.revision))).encode()
        return self._hub.line(event, kind, self._shape)


def _left(last: str, revision: int) -> str:
    """The object as it last matched, with the revision of the change that took it out."""
    obj: Obj = load(last)
    obj["metadata"]["resourceVersion"] = str(revision)
    return dump(obj)


def _event_line(kind: str, text: str) -> str:
    return f'{{"type":"{kind}","object":{text}}}\n'
