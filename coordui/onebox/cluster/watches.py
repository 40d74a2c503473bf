"""Watches: what the log still has since a revision, then every change as it commits, as one JSON object a line."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from .errors import expired
from .lists import on_wire
from .objects import Obj, dump, load
from .resources import Resource
from .selectors import Selector
from .store import Event, Store

BACKLOG = 20_000  # events a reader may lag behind before its watch ends and it has to list again
_REPLAY = 500


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


Shape = Callable[[str], str]  # a stored body to the text of the event's object


class Hub:
    """Hands committed events to the watches that are open."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._open: set[Watch] = set()
        store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        for watch in self._open:
            watch.heard(event)

    def close(self) -> None:
        for watch in self._open:
            watch.end()

    def open(self, scope: Scope, revision: int | None, *, initial: bool, mark: bool, shape: Shape) -> Watch:
        """From behind `revision`, or (None) from now on; `initial` sends what is there first, `mark` says its end."""
        watch = Watch(self, scope, revision, initial=initial, mark=mark, shape=shape)
        self._open.add(watch)
        return watch

    def closed(self, watch: Watch) -> None:
        self._open.discard(watch)


class Watch:
    def __init__(
        self, hub: Hub, scope: Scope, revision: int | None, *, initial: bool, mark: bool, shape: Shape
    ) -> None:
        self._hub, self._scope, self._shape = hub, scope, shape
        self._revision = hub.store.revision if revision is None else revision
        self._initial, self._mark = initial, mark
        self._news: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._ended = False

    def heard(self, event: Event) -> None:
        if len(self._news) >= BACKLOG:
            self.end()
        elif self._scope.seen_as(event):
            self._news.append(event)
            self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def lines(self, seconds: float | None) -> AsyncIterator[bytes]:
        """The watch's lines, several at a time, until its time is over, it lags too far, or the server stops."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(seconds, self.end) if seconds is not None else None
        try:
            if self._initial:
                yield self._synthetic()
            elif self._revision < self._hub.store.compacted or self._revision < 1:
                yield self._too_old()
                return
            else:
                for chunk in self._replay():
                    yield chunk
            while not self._ended:
                await self._wake.wait()
                self._wake.clear()
                fresh = [event for event in self._news if event.revision > self._revision]
                self._news.clear()
                if text := "".join(self._line(event) for event in fresh):
                    yield text.encode()
        finally:
            if timer:
                timer.cancel()
            self._hub.closed(self)

    def _synthetic(self) -> bytes:
        store, scope = self._hub.store, self._scope
        self._revision = store.revision
        self._news.clear()
        text = "".join(
            f'{{"type":"ADDED","object":{self._shape(row.body)}}}\n'
            for row in store.select(scope.resource, scope.namespace, scope.selector)
        )
        if self._mark:
            metadata = {"resourceVersion": str(store.revision), "annotations": {"k8s.io/initial-events-end": "true"}}
            text += _event_line("BOOKMARK", dump(_typed(scope.resource, metadata)))
        return text.encode()

    def _replay(self) -> list[bytes]:
        """Everything logged since the revision; what came live meanwhile has higher revisions or is dropped."""
        chunks: list[bytes] = []
        while events := self._hub.store.changes(self._revision, self._scope.resource, self._scope.namespace, _REPLAY):
            chunks.append("".join(self._line(event) for event in events).encode())
            self._revision = events[-1].revision
        return [chunk for chunk in chunks if chunk]

    def _line(self, event: Event) -> str:
        kind = self._scope.seen_as(event)
        if kind is None:
            return ""
        body = event.body
        if kind == "DELETED" and event.type == "MODIFIED":
            body = self._last_matching(event)
        return _event_line(kind, self._shape(body))

    def _last_matching(self, event: Event) -> str:
        """The object as it last matched, with the revision of the change that took it out."""
        old = self._hub.store.body_before(event)
        if old is None:
            return event.body
        obj: Obj = load(old)
        obj["metadata"]["resourceVersion"] = str(event.revision)
        return dump(obj)

    def _too_old(self) -> bytes:
        message = f"too old resource version: {self._revision} ({self._hub.store.compacted})"
        return _event_line("ERROR", dump(expired(message).status())).encode()


def _event_line(kind: str, text: str) -> str:
    return f'{{"type":"{kind}","object":{text}}}\n'


def _typed(resource: Resource, metadata: Obj) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}


def plain(resource: Resource) -> Shape:
    return lambda body: on_wire(resource, body)
