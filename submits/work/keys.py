"""The names of files in the work store, and what can be wrong with it."""

from __future__ import annotations

import re

from submits.states import SubmitsError

RUN_ID = re.compile(r"job-[0-9a-f]{32}")


class WorkError(SubmitsError):
    """The work store cannot be used as configured."""


class Missing(WorkError):
    """No file under this key."""


class Unstored(WorkError, OSError):
    """An object store did not do what it was asked: no answer in time, no right, no room. It may be asked again."""


def run_key(run_id: str, *parts: str) -> str:
    """The key of a file of a run. `run_id` is ours (never a user's text) and is checked all the same."""
    if not RUN_ID.fullmatch(run_id):
        raise WorkError(f"{run_id!r} is not a run id")
    return "/".join(("runs", run_id, *parts))


def checked(key: str) -> str:
    """The key itself: slash-separated names that never lead out of the store. Raises WorkError."""
    if any(part in ("", ".", "..") or "\0" in part for part in key.split("/")):
        raise WorkError(f"{key!r} is not a key of the work store")
    return key
