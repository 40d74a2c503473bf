"""Memory limits: a container whose processes together hold more than its limit is killed, as the kernel's OOM killer
would do it.

What counts is what cannot be dropped: anonymous and shared memory of everything below the container's leash, and the
files in memory (memfd, /dev/shm) that it has open, mapped or not. Files on a disk that are mapped (as BLAST maps a
database) do not count, nor does address space. It is looked at every `INTERVAL`
seconds, so a container can be over its limit for that long. Memory that a process shares with its forked children is
counted once: the cheap sum of resident sizes is only believed to be too much when the kernel's proportional sum is.
A CPU limit is not enforced: it counts for finding room on the node only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

INTERVAL = 0.1
_RESIDENT = ("RssAnon:", "RssShmem:")
_PROPORTIONAL = ("Pss_Anon:", "Pss_Shmem:")
_IN_MEMORY = ("/memfd:", "/dev/shm/")  # noqa: S108  (what a link leads to)


def below(pid: int) -> Iterator[int]:
    """Every process below this one; orphans have become a leash's own children, so the tree is whole."""
    parents = [pid]
    while parents:
        for children in Path(f"/proc/{parents.pop()}/task").glob("*/children"):
            try:
                found = [int(child) for child in children.read_bytes().split()]
            except OSError:
                continue  # it has ended
            yield from found
            parents += found


def _sum(pid: int, file: str, name: str) -> int | None:
    """Bytes, or None if the process is gone or the kernel does not tell."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith(name)]
    return sum(found) if found else None


def in_memory_files(pids: Iterable[int]) -> int:
    """Bytes of the files in memory that these processes have open, each counted once."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(entry.path).startswith(_IN_MEMORY):
                        about = os.stat(entry.path)
                        found[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(found.values())


def resident(pid: int) -> int:
    return _held(pid, "status", _RESIDENT)


def proportional(pid: int) -> int:
    return _held(pid, "smaps_rollup", _PROPORTIONAL)


def _held(pid: int, file: str, names: tuple[str, str]) -> int:
    """Shared memory may be the same as the files in memory, so the larger of the two is believed."""
    pids = list(below(pid))
    anonymous, shared = (sum(_amount(process, file, at, names) for process in pids) for at in (0, 1))
    return anonymous + max(shared, in_memory_files(pids))


def _amount(pid: int, file: str, at: int, names: tuple[str, str]) -> int:
    found = _sum(pid, file, names[at])
    return (_sum(pid, "status", _RESIDENT[at]) or 0) if found is None else found


@dataclass(frozen=True)
class _Watched:
    limit: int
    over: Callable[[], None]


class MemoryWatch:
    """Looks at what it was given while there is something; nothing ticks otherwise."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._watched: dict[int, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, leash: int, limit: int, over: Callable[[], None]) -> None:
        """`over` is called once when what is below the process `leash` holds more than `limit` bytes."""
        self._watched[leash] = _Watched(limit, over)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval, self._look)

    def forget(self, leash: int) -> None:
        self._watched.pop(leash, None)
        if not self._watched and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._look)
        for leash, watched in list(self._watched.items()):
            if resident(leash) > watched.limit and proportional(leash) > watched.limit:
                watched.over()
                self.forget(leash)
