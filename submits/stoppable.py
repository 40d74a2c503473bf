"""A submit that is killed when somebody cancels its search."""

from __future__ import annotations

import time
from collections.abc import Callable

from submits.gates.ports import KILLED, Submit

ASK_EVERY = 2.0  # seconds


class Stoppable:
    """`inner`, which `asked` can end: it is asked between polls, every two seconds.

    Between SIGTERM and SIGKILL it has `grace` seconds. An `asked` that does not know must say False: a submit is not
    stopped because a database is away.
    """

    def __init__(self, inner: Submit, asked: Callable[[], bool], grace: float = 0.0) -> None:
        self.inner, self.asked, self.grace = inner, asked, grace
        self.next = 0.0  # monotonic

    @property
    def leashed(self) -> bool:
        return self.inner.leashed

    def start(self, run_id: str, sent: float) -> None:
        self.inner.start(run_id, sent)

    def poll(self, seconds: float) -> int | None:
        code = self.inner.poll(seconds)
        if code is not None or time.monotonic() < self.next:
            return code
        self.next = time.monotonic() + ASK_EVERY
        if not self.asked():
            return None
        self.inner.kill(self.grace)
        return KILLED

    def feed(self, sent: float) -> None:
        self.inner.feed(sent)

    def kill(self, grace: float = 0.0) -> None:
        self.inner.kill(grace)
