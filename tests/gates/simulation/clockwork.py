"""Simulated time, and the baton: actors are threads of which exactly one runs, from one port call to its next.

1. `Clockwork.run` takes the earliest event, moves the time there and does it. Two events of one moment keep the order
   in which they were planned, so the same plan gives the same run.
2. An event may resume an actor: the baton goes to its thread, and comes back with the actor's next port call (`ask`).
3. A crash leaves every actor of a process where it is: no `finally` of it runs while the run lasts.
4. A stopped process (SIGSTOP) is resumed late; what it waited for has happened meanwhile.
5. When the run has been judged, `close` ends the threads that are left: every port call of theirs now raises Abandoned.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

EPOCH = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)
Outcome = Callable[[], Any]  # what an actor is resumed with: a value, or an exception to raise
Answer = Callable[[Outcome], None]


class Abandoned(BaseException):
    """The run is over; this actor will never be resumed."""


class Clockwork:
    def __init__(self, seed: int) -> None:
        self.now = 0.0  # seconds since EPOCH, and everybody's boot
        self.chance = Random(seed)
        self.baton = threading.Lock()
        self.baton.acquire()
        self.current: Actor | None = None
        self.actors: list[Actor] = []
        self.steps = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, when: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._numbers), do))

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        self.at(self.now + seconds, do)

    def run(self, until: float, over: Callable[[], bool]) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, do = heapq.heappop(self._events)
            do()
            if over():
                return
        self.now = until

    def date(self) -> datetime:
        return EPOCH + timedelta(seconds=self.now)

    def ask(self, request: Callable[[Answer], None]) -> Any:
        """For the actor that runs: hand the baton on with a request, and wait for its answer."""
        assert self.current is not None, "a port is used outside an actor"
        return self.current.ask(request)

    def close(self) -> None:
        for actor in self.actors:
            actor.abandon()


class Process:
    """What crashes and stops as one, with a wall clock of its own (`offset` seconds before the API server's)."""

    def __init__(self, clockwork: Clockwork, role: str, number: int) -> None:
        self.clockwork, self.role, self.number = clockwork, role, number
        self.dead = False
        self.stopped_until = 0.0
        self.offset = 0.0
        self.requests = 0
        self.at_death: list[Callable[[], None]] = []
        self.below: list[Process] = []  # on the same machine, in processes of their own: they freeze together
        self.actors: list[Actor] = []

    @property
    def name(self) -> str:
        return f"{self.role} {self.number}"

    @property
    def alive(self) -> bool:
        return not self.dead and any(not actor.ended for actor in self.actors)

    def spawn(self, work: Callable[[], None]) -> Actor:
        actor = Actor(self, work)
        self.actors.append(actor)
        self.clockwork.at(self.clockwork.now, lambda: actor.resume(lambda: None))
        return actor

    def crash(self) -> None:
        if not self.dead:
            self.dead = True
            for do in self.at_death:
                do()

    def stop(self, seconds: float) -> None:
        self.stopped_until = max(self.stopped_until, self.clockwork.now + seconds)

    def freeze(self, seconds: float) -> None:
        self.stop(seconds)
        for process in self.below:
            process.freeze(seconds)


class Actor:
    def __init__(self, process: Process, work: Callable[[], None]) -> None:
        self.process, self.work, self.clockwork = process, work, process.clockwork
        self.ended = False
        self.abandoned = False
        self.failure: Exception | None = None
        self._go = threading.Lock()
        self._go.acquire()
        self._request: Callable[[Answer], None] | None = None
        self._outcome: Outcome = lambda: None
        self.clockwork.actors.append(self)
        self._thread = threading.Thread(target=self._main, name=process.name, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        self._go.acquire()
        try:
            if not self.abandoned:
                self.work()
        except Abandoned:
            pass
        except Exception as error:
            self.failure = error
        finally:
            self.ended = True
            self.clockwork.baton.release()

    def ask(self, request: Callable[[Answer], None]) -> Any:
        if self.abandoned:
            raise Abandoned
        self._request = request
        self.clockwork.baton.release()
        self._go.acquire()
        if self.abandoned:
            raise Abandoned
        return self._outcome()

    def resume(self, outcome: Outcome) -> None:
        clockwork, process = self.clockwork, self.process
        if process.dead or self.ended:
            return
        if process.stopped_until > clockwork.now:
            clockwork.at(process.stopped_until, lambda: self.resume(outcome))
            return
        clockwork.steps += 1
        self._outcome = outcome
        self._pass_baton()
        request, self._request = self._request, None
        if request is not None:
            request(self._once())

    def _pass_baton(self) -> None:
        before, self.clockwork.current = self.clockwork.current, self
        self._go.release()
        self.clockwork.baton.acquire()
        self.clockwork.current = before

    def _once(self) -> Answer:
        """Only the first answer to a request counts: a time-out and a late answer are two."""
        open_ = True

        def answer(outcome: Outcome) -> None:
            nonlocal open_
            if open_:
                open_ = False
                self.resume(outcome)

        return answer

    def abandon(self) -> None:
        self.abandoned = True
        if not self.ended:
            self._pass_baton()
        self._thread.join()


class SimulatedClock:
    """The `Clock` port of one process."""

    def __init__(self, process: Process) -> None:
        self.process, self.clockwork = process, process.clockwork

    def wall(self) -> datetime:
        return self.clockwork.date() + timedelta(seconds=self.process.offset)

    def boot(self) -> float:
        return 10_000.0 + self.clockwork.now

    def monotonic(self) -> float:
        return 5_000.0 + self.clockwork.now

    def wait(self, seconds: float) -> None:
        self.clockwork.ask(lambda answer: self.clockwork.after(seconds, lambda: answer(lambda: None)))
