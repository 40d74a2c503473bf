"""Real processes for tests: waiting for a condition, and finding every process that a test has started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

SCALE = int(os.environ.get("SCALE", "1"))  # `make test-long`: the same tests with larger counts
T = TypeVar("T")
REPOSITORY = Path(__file__).resolve().parent.parent


def until(condition: Callable[[], T], within: float = 10.0) -> T:
    """The first true answer. Fails by name when there is none in time."""
    end = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"not so within {within:g} s: {condition.__qualname__}"
        time.sleep(0.02)


def processes_with(variable: str, value: str, at: Path | None = None) -> list[int]:
    """The living processes whose environment holds this variable with this value, or that stand in the directory
    `at`: the store overwrites its environment with its title."""
    wanted, found = f"{variable}={value}".encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            marked = wanted in (entry / "environ").read_bytes().split(b"\0")
            if marked or (at and (entry / "cwd").readlink().is_relative_to(at)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
