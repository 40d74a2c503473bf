"""A work queue of keys: each key is worked on once for any number of events, soon or at its time. No polling."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
_SLICE = 0.005  # seconds of work before requests get their turn
_RETRY_SECONDS = 1.0


class Handle(Protocol):
    def cancel(self) -> None: ...


class Timers(Protocol):
    """What a queue needs of an event loop; the in-process cluster has one that runs when it is told to."""

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> Handle: ...
    def call_later(self, delay: float, callback: Callable[..., object], *arguments: Any) -> Handle: ...


class WorkQueue(Generic[K]):
    """Calls `work(key)` in the event loop's thread; an exception is logged and the key tried again after a second.
    Without `timers` it is the loop that runs when a key is added."""

    def __init__(self, work: Callable[[K], None], timers: Timers | None = None) -> None:
        self._work = work
        self._loop = timers
        self._keys: dict[K, None] = {}
        self._timers: dict[K, Handle] = {}
        self._scheduled: Handle | None = None
        self._closed = False

    def add(self, key: K) -> None:
        if self._closed:
            return
        self._keys[key] = None
        if self._scheduled is None:
            self._scheduled = self._ticks.call_soon(self._drain)

    def add_after(self, key: K, seconds: float) -> None:
        """Replaces an earlier time of the same key."""
        self.forget(key)
        if not self._closed:
            self._timers[key] = self._ticks.call_later(max(0.0, seconds), self._due, key)

    def forget(self, key: K) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def close(self) -> None:
        self._closed = True
        for key in list(self._timers):
            self.forget(key)
        self._keys.clear()

    @property
    def _ticks(self) -> Timers:
        return self._loop or asyncio.get_running_loop()

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _drain(self) -> None:
        end = time.perf_counter() + _SLICE
        while self._keys:
            key = next(iter(self._keys))
            del self._keys[key]
            try:
                self._work(key)
            except Exception:  # one object that cannot be worked on keeps no other waiting
                log.exception("work on %s failed; trying again in %g s", key, _RETRY_SECONDS)
                self.add_after(key, _RETRY_SECONDS)
            if time.perf_counter() > end:
                break
        more = self._keys and not self._closed
        self._scheduled = self._ticks.call_soon(self._drain) if more else None
