"""How somebody asks an object store who must not stand still while it is away: a loop's turn, a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PATIENCE = 3.0  # seconds for an answer


class Round:
    """What is asked within one `brisk` block. `failed`: something had no answer, or one that is of no object alone."""

    def __init__(self) -> None:
        self.failed = False


_round: ContextVar[Round | None] = ContextVar("round", default=None)


@contextmanager
def brisk() -> Iterator[None]:
    """Within it a request waits a shorter time, and after one that failed none is sent: whatever is asked, the block
    costs the patience for one. Each is Unstored all the same. So is an object that the store refuses to give, after
    which the next is asked for. Of this thread alone; a directory is asked as ever."""
    token = _round.set(Round())
    try:
        yield
    finally:
        _round.reset(token)


def current() -> Round | None:
    return _round.get()
