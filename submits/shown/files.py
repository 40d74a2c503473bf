"""The files of a search, as pages read them: whole or not there. Damage is said, and raised is only that the work store
does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from submits.models import Submission
from submits.scopes import store
from submits.work import Missing, run_key

T = TypeVar("T")


def read(row: Submission, name: str, parse: Callable[[bytes], T]) -> T | None:
    """A file of a run, parsed; None when it is missing or is not what it should be. Raises OSError."""
    try:
        return parse(store().get(run_key(row.run_id, name)))
    except (Missing, ValueError, KeyError, TypeError):
        return None
