"""What to start, restart and stop, and when. Pure: states and times in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

RESTART_AFTER = (0.2, 1.0, 5.0)  # seconds, for the first, the second and every later death of a minute
DEATHS_PER_MINUTE = 5

Probe = Callable[[], bool]


def at_once() -> bool:
    return True


@dataclass(frozen=True)
class Process:
    """One process of the tree. `once` runs to its end and is ready when that was a success."""

    name: str
    argv: Sequence[str]
    needs: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)
    ready: Probe = at_once
    alive: Probe = at_once  # asked again and again once it is ready
    silence: float = 30.0  # seconds without a sign of life after which it is killed, and so started again
    marker: Path | None = None  # a file that it makes when it is ready; removed before each start
    once: bool = False
    within: float = 60.0  # seconds from its start until it must be ready
    grace: float = 5.0  # seconds from SIGTERM until it is killed
    stop_rank: int = 0  # stopped in ascending order; equal ranks together


class State(Enum):
    WAITING = "waiting"  # for what it needs
    STARTING = "starting"
    READY = "ready"
    DEAD = "dead"  # until its next start
    DONE = "done"  # ran to its end, as it should


UP = (State.READY, State.DONE)


def startable(processes: Iterable[Process], states: Mapping[str, State]) -> list[Process]:
    """Those that wait for nothing any more. What is not part of this tree is somebody else's to have ready."""
    return [
        process
        for process in processes
        if states[process.name] is State.WAITING and all(states.get(need, State.READY) in UP for need in process.needs)
    ]


def all_up(states: Mapping[str, State]) -> bool:
    return all(state in UP for state in states.values())


def stop_order(processes: Iterable[Process]) -> list[list[Process]]:
    """Stages: each is stopped together, and ended before the next begins."""
    listed = list(processes)
    ranks = sorted({process.stop_rank for process in listed})
    return [[process for process in listed if process.stop_rank == rank] for rank in ranks]


@dataclass(frozen=True)
class GiveUp:
    deaths: int


@dataclass(frozen=True)
class Restart:
    after: float
    deaths: tuple[float, ...]  # those that still count


def after_death(deaths: Sequence[float], now: float) -> Restart | GiveUp:
    """`deaths` are the times of earlier ones; this one is `now`, on the same monotonic clock."""
    recent = (*(time for time in deaths if now - time < 60.0), now)
    if len(recent) >= DEATHS_PER_MINUTE:
        return GiveUp(len(recent))
    return Restart(RESTART_AFTER[min(len(recent), len(RESTART_AFTER)) - 1], recent)
