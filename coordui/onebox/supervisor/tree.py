"""Runs a set of processes: starts each when what it needs is ready, starts again what died, stops them in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coordui.onebox.supervisor.child import Child, Log
from coordui.onebox.supervisor.plan import (
    GiveUp,
    Process,
    State,
    after_death,
    all_up,
    startable,
    stop_order,
)
from coordui.onebox.supervisor.signals import Signals

PROBE_EVERY = 0.05
LOOK_EVERY = 5.0  # also bounds the logs
KILL_WITHIN = 10.0


@dataclass
class Running:
    process: Process
    log: Log
    state: State = State.WAITING
    child: Child | None = None
    since: float = 0.0
    due: float = 0.0
    deaths: tuple[float, ...] = ()
    heard: float = 0.0  # when it last gave a sign of life, once it is ready
    ask_at: float = 0.0


def how(status: int) -> str:
    if status < 0:
        return f"its leash was killed by signal {-status}"
    if status <= 128:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(status - 128).name}"
    except ValueError:
        return f"exit status {status}"


class Tree:
    """Single-threaded. `say` gets one line per thing worth knowing, `on_up` and `on_down` whether all is ready."""

    def __init__(
        self,
        processes: Sequence[Process],
        *,
        env: Mapping[str, str],
        cwd: Path,
        logs: Path,
        say: Callable[[str], None],
        on_up: Callable[[], None] = lambda: None,
        on_down: Callable[[], None] = lambda: None,
        keep: Sequence[int] = (),
    ) -> None:
        self.all = {process.name: Running(process, Log(logs / f"{process.name}.log")) for process in processes}
        self.env, self.cwd, self.keep = env, cwd, keep
        self.say, self.on_up, self.on_down = say, on_up, on_down
        self.up = self.ever_up = False
        self.failure = ""

    def run(self) -> int:
        """Until a signal or a failure; 0 or 1. Nothing runs any more when it returns."""
        with Signals() as signals:
            for running in self.all.values():
                running.log.rotate()
            try:
                while not signals.received and not self.failure:
                    self._turn(time.monotonic())
                    signals.wait(0.0 if self.failure else self._patience(time.monotonic()))
            finally:
                self._stop(signals)
        self.say(self.failure or "everything has stopped")
        return 1 if self.failure else 0

    def _turn(self, now: float) -> None:
        for running in self.all.values():
            self._reap(running, now)
        if self.failure:
            return
        for process in self._startable():
            self._start(self.all[process.name])
        for running in self.all.values():
            if running.state is State.DEAD and now >= running.due:
                self._start(running)
            elif running.state is State.STARTING:
                self._probe(running, now)
            elif running.state is State.READY and now >= running.ask_at:
                self._ask(running, now)
            running.log.bound()
        self._tell()

    def _start(self, running: Running) -> None:
        process = running.process
        if process.marker:
            process.marker.unlink(missing_ok=True)
        env = {**self.env, **process.env}
        running.child = Child(process.argv, env, self.cwd, running.log, self.keep)
        running.state, running.since = State.STARTING, time.monotonic()

    def _probe(self, running: Running, now: float) -> None:
        process = running.process
        if process.once:
            return
        if process.marker.exists() if process.marker else process.ready():
            running.state, running.heard, running.ask_at = State.READY, now, now
            self.say(f"{process.name} is ready ({now - running.since:.1f} s)")
        elif now - running.since > process.within and running.child:
            if not self.ever_up:
                self._fail(running, f"was not ready within {process.within:g} s")
            else:
                self.say(f"{process.name} was not ready within {process.within:g} s; it is killed")
                running.child.kill()

    def _ask(self, running: Running, now: float) -> None:
        """What hangs does not die by itself."""
        process = running.process
        running.ask_at = now + min(LOOK_EVERY, process.silence / 3)
        if process.alive():
            running.heard = now
        elif now - running.heard > process.silence and running.child:
            self.say(f"{process.name} has not answered for {now - running.heard:.0f} s; it is killed")
            running.child.kill()

    def _reap(self, running: Running, now: float) -> None:
        status = running.child.ended() if running.child else None
        if status is None:
            return
        running.child = None
        if running.process.once:
            running.state = State.DONE
            if status != 0:
                self._fail(running, f"failed ({how(status)})")
            else:
                self.say(f"{running.process.name} is done ({now - running.since:.1f} s)")
            return
        verdict = after_death(running.deaths, now)
        if isinstance(verdict, GiveUp):
            self._fail(running, f"died {verdict.deaths} times within a minute ({how(status)})")
            return
        running.state, running.due, running.deaths = State.DEAD, now + verdict.after, verdict.deaths
        self.say(f"{running.process.name} ended ({how(status)}); it is started again in {verdict.after:g} s")

    def _fail(self, running: Running, what: str) -> None:
        lines = "".join(f"\n    {line}" for line in running.log.tail())
        self.failure = (
            f"{running.process.name} {what}; everything is stopped. The last lines of {running.log.path}:{lines}"
        )

    def _tell(self) -> None:
        up = all_up(self._states())
        if up != self.up:
            self.up = up
            (self.on_up if up else self.on_down)()
            self.ever_up = self.ever_up or up

    def _states(self) -> dict[str, State]:
        return {name: running.state for name, running in self.all.items()}

    def _startable(self) -> list[Process]:
        return startable([one.process for one in self.all.values()], self._states())

    def _patience(self, now: float) -> float:
        if self._startable():
            return 0.0
        states = [running.state for running in self.all.values()]
        if State.STARTING in states:
            return PROBE_EVERY
        due = [one.due - now for one in self.all.values() if one.state is State.DEAD]
        asks = [one.ask_at - now for one in self.all.values() if one.state is State.READY]
        return min([LOOK_EVERY, *due, *asks])

    def _stop(self, signals: Signals) -> None:
        """In order, each stage within its grace. One more signal takes the grace away."""
        patient = signals.received
        if self.up:
            self.on_down()
        self.say("stopping" + (" (once more: at once)" if patient else ""))
        for stage in stop_order([running.process for running in self.all.values()]):
            living = [self.all[process.name] for process in stage if self.all[process.name].child]
            for running in living:
                if running.child:
                    running.child.terminate()
            self._wait(living, signals, {one.process.name: one.process.grace for one in living}, patient)
            for running in living:
                if running.child:
                    running.child.kill()
            self._wait(living, signals, {one.process.name: KILL_WITHIN for one in living}, None)
            for running in living:
                if running.child:
                    self.say(f"{running.process.name} could not be ended: its leash is pid {running.child.leash.pid}")

    def _wait(self, living: list[Running], signals: Signals, within: Mapping[str, float], patient: int | None) -> None:
        begun = time.monotonic()
        while True:
            passed = time.monotonic() - begun
            for running in living:
                if running.child and running.child.ended() is not None:
                    running.child = None
            left = [within[running.process.name] - passed for running in living if running.child]
            if not left or max(left) <= 0 or (patient is not None and signals.received > patient):
                return
            signals.wait(min(max(left), 0.5))
