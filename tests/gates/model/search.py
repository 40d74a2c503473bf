"""Breadth-first search through every state of a model: the shortest way to whatever is broken, told in sentences."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """One atomic act. `fault` marks what a world without further faults does not do; `broken` what the act breaks."""

    who: int
    text: str
    state: S
    fault: bool = False
    broken: str = ""


@dataclass
class Explored(Generic[S]):
    came: dict[S, tuple[S, int, str] | None]
    broken: dict[str, list[tuple[S, int, str]]] = field(default_factory=dict)  # what → the shortest way to it
    calm_into: dict[S, list[S]] = field(default_factory=dict)  # state → those that reach it by a step without a fault
    seconds: float = 0.0

    def __str__(self) -> str:
        broken = f", found: {', '.join(sorted(self.broken))}" if self.broken else ""
        return f"{len(self):,} states, {self.seconds:.2f} s{broken}"

    def __len__(self) -> int:
        return len(self.came)

    def way(self, state: S) -> list[tuple[S, int, str]]:
        """The steps from the start to `state`: (state before, who, what)."""
        steps = []
        while (came := self.came[state]) is not None:
            steps.append(came)
            state = came[0]
        return steps[::-1]

    def cannot_reach(self, goal: Callable[[S], bool]) -> list[S]:
        """The states from which no way without a fault leads to the goal: AG EF goal holds if there are none."""
        reached = {state for state in self.came if goal(state)}
        waiting = list(reached)
        while waiting:
            for before in self.calm_into.get(waiting.pop(), ()):
                if before not in reached:
                    reached.add(before)
                    waiting.append(before)
        return [state for state in self.came if state not in reached]


class TooMany(Exception):
    """The model has grown past what its test allows for: nothing is shown."""


def explore(
    start: S,
    steps: Callable[[S], Iterable[Step[S]]],
    wrong: Callable[[S], Iterable[str]],
    *,
    until: frozenset[str] = frozenset(),
    liveness: bool = False,
    limit: int = 2_000_000,
) -> Explored[S]:
    """Every state reachable from `start`, or as many as it takes to find all of `until`. Raises TooMany."""
    began = time.process_time()
    found = Explored[S](came={start: None})
    waiting = deque([start])
    came, broken = found.came, found.broken
    while waiting:
        state = waiting.popleft()
        for what in wrong(state):
            if what not in broken:
                broken[what] = found.way(state)
        if until and until <= broken.keys():
            break
        for who, text, after, fault, breaks in steps(state):
            if breaks and breaks not in broken:
                broken[breaks] = [*found.way(state), (state, who, text)]
            if liveness and not fault:
                found.calm_into.setdefault(after, []).append(state)
            if after not in came:
                came[after] = (state, who, text)
                waiting.append(after)
        if len(came) > limit:
            raise TooMany(f"more than {limit} states")
    found.seconds = time.process_time() - began
    return found
