"""A work queue of keys: each key is worked on once for any number of events, soon or at its time. No polling."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)
_BATCH = 20  # keys worked on before requests get their turn
_RETRY_SECONDS = 1.0


class WorkQueue(Generic[K]):
    """Calls `work(key)` in the event loop's thread; an exception is logged and the key tried again after a second."""

    def __init__(self, work: Callable[[K], None]) -> None:
        self._work = work
        self._keys: dict[K, None] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._scheduled: asyncio.Handle | None = None
        self._closed = False

    def add(self, key: K) -> None:
        if self._closed:
            return
        self._keys[key] = None
        if self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_soon(self._drain)

    def add_after(self, key: K, seconds: float) -> None:
        """Replaces an earlier time of the same key."""
        self.forget(key)
        if not self._closed:
            self._timers[key] = asyncio.get_running_loop().call_later(max(0.0, seconds), self._due, key)

    def forget(self, key: K) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def close(self) -> None:
        self._closed = True
        for key in list(self._timers):
            self.forget(key)
        self._keys.clear()

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _drain(self) -> None:
        for key in list(self._keys)[:_BATCH]:
            self._keys.pop(key, None)
            try:
                self._work(key)
            except Exception:
                log.exception("work on %s failed; trying again in %g s", key, _RETRY_SECONDS)
                self.add_after(key, _RETRY_SECONDS)
        more = self._keys and not self._closed
        self._scheduled = asyncio.get_running_loop().call_soon(self._drain) if more else None
