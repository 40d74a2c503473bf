"""The submit that runs under the gate, as a simulated process below a simulated leash.

The leash's rule: it does not start later than 40 s after the heartbeat it is given, dies 40 s after the last one it was
fed, and with its holder. What it had sent by then still arrives. An unleashed one goes on to its own cap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.ports import IN_DOUBT, KILLED, AlreadyExists, ClusterError, Rules, Throttled, Unanswered
from tests.gates.simulation.clockwork import Answer, Clockwork, Process, SimulatedClock
from tests.gates.simulation.network import Network, SimulatedTransport
from tests.gates.trying import body

FAILS = 3  # its exit status when the cluster refuses, and every request of it has been answered
TRIES = 4


@dataclass
class Begun:
    """One submit that was started."""

    run: str
    process: Process
    holder: Process
    at: float
    ended: float | None = None
    code: int | None = None
    at_end: list[Callable[[], None]] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        return self.ended is None


@dataclass
class Submits:
    """Every submit of a run of the simulation, in the order of their starts."""

    clockwork: Clockwork
    network: Network
    rules: Rules
    fails: float = 0.1  # how often one fails of itself
    leash_holds: bool = True  # False: a leash that kills nobody
    begun: list[Begun] = field(default_factory=list)
    started: list[Callable[[Begun], None]] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def begin(self, run: str, holder: Process, role: str, older_order: bool) -> Begun:
        number = self.numbers[role] = self.numbers.get(role, -1) + 1
        process = Process(self.clockwork, role, number)
        begun = Begun(run, process, holder, self.clockwork.now)
        cluster = ApiCluster(SimulatedTransport(self.network, process), "default")
        script = Script(cluster, SimulatedClock(process), self.clockwork.chance, run, older_order, self.fails)

        def work() -> None:
            code = script.run()
            self.end(begun, code)

        process.at_death.append(lambda: self.end(begun, KILLED))
        process.spawn(work)
        holder.below.append(process)
        self.begun.append(begun)
        for told in self.started:
            told(begun)
        # Every door caps its submit by a process beside it, whoever else lives.
        self.clockwork.after(self.rules.knobs.exec_timeout + 30, lambda: self.kill(begun))
        return begun

    def end(self, begun: Begun, code: int) -> None:
        if begun.runs:
            begun.ended, begun.code = self.clockwork.now, code
            for do in begun.at_end:
                do()

    def kill(self, begun: Begun) -> None:
        if begun.runs:
            begun.process.crash()


class Script:
    """What ElasticBLAST does: ours makes the finalizer first; the older order makes it last."""

    def __init__(
        self,
        cluster: ApiCluster,
        clock: SimulatedClock,
        chance: Random,
        run: str,
        older_order: bool,
        fails: float,
    ) -> None:
        self.cluster, self.clock, self.run_id = cluster, clock, run
        self.pauses = [chance.choice((0.1, 0.1, 1.0, 4.0, 8.0, 35.0, 90.0)) for _ in range(4)]
        self.fails_at = chance.choice((0, 1)) if chance.random() < fails else None
        finalizer, submit = ("finalizer", naming.finalizer(run)), ("submit", f"{run}-submit")
        batches = [("blast", f"{run}-b{number}") for number in range(1)]
        self.order = [submit, *batches, finalizer] if older_order else [finalizer, submit]
        self.unanswered = False

    def run(self) -> int:
        made: list[str] = []
        try:
            for number, (app, name) in enumerate(self.order):
                self.clock.wait(self.pauses[number])
                if number == self.fails_at:
                    raise Unanswered("it fails of itself")
                self.create(app, name)
                made.append(name)
        except ClusterError:
            self.undo(made)
            return IN_DOUBT if self.unanswered else FAILS
        return 0

    def create(self, app: str, name: str) -> None:
        for attempt in range(TRIES):
            try:
                self.cluster.create("jobs", body(app, self.run_id, name))
            except AlreadyExists:
                return
            except (Unanswered, Throttled) as error:
                self.unanswered |= isinstance(error, Unanswered)
                if attempt == TRIES - 1:
                    raise
                self.clock.wait(0.5 * 2**attempt)
            else:
                return

    def undo(self, made: list[str]) -> None:
        """The finalizer last: while anything of the run is left, it is counted."""
        try:
            for name in sorted(made, key=lambda name: name.startswith("elb-finalizer")):
                self.cluster.delete("jobs", name)
        except ClusterError:
            return


class SimulatedSubmit:
    """The `Submit` port of one admission."""

    def __init__(self, submits: Submits, holder: Process, *, leashed: bool) -> None:
        self.submits, self.holder, self.leashed = submits, holder, leashed
        self.clockwork, self.clock = submits.clockwork, SimulatedClock(holder)
        self.begun: Begun | None = None
        self.deadline = 0.0  # on the machine's CLOCK_BOOTTIME
        self.lapsed = False

    @property
    def held(self) -> bool:
        return self.leashed and self.submits.leash_holds

    def start(self, run_id: str, sent: float) -> None:
        self.clock.wait(self.submits.network.latency())
        self.deadline = sent + self.submits.rules.times.leash
        if self.held and self.clock.boot() >= self.deadline:
            self.lapsed = True
            return
        self.begun = begun = self.submits.begin(run_id, self.holder, "submit", older_order=False)
        if self.held:
            self.watch(begun)
            self.holder.at_death.append(lambda: self.orphaned(begun))

    def watch(self, begun: Begun) -> None:
        """The leash's own clock."""
        left = self.deadline - self.clock.boot()
        frozen = begun.process.stopped_until - self.clockwork.now
        if not begun.runs:
            return
        if left > 0 or frozen > 0:
            self.clockwork.after(max(left, frozen + 0.02), lambda: self.watch(begun))
            return
        self.submits.kill(begun)

    def orphaned(self, begun: Begun) -> None:
        """The end of the pipe; killing takes a while."""
        kill = self.submits.rules.times.kill
        self.clockwork.after(self.clockwork.chance.uniform(0.01, kill), lambda: self.submits.kill(begun))

    def poll(self, seconds: float) -> int | None:
        if self.lapsed:
            return KILLED
        assert self.begun is not None
        begun, clockwork = self.begun, self.clockwork

        def until(answer: Answer) -> None:
            clockwork.after(seconds, lambda: answer(lambda: None))
            begun.at_end.append(lambda: clockwork.after(0.01, lambda: answer(lambda: None)))

        if begun.runs:
            clockwork.ask(until)
        return begun.code

    def feed(self, sent: float) -> None:
        self.deadline = max(self.deadline, sent + self.submits.rules.times.leash)

    def kill(self, grace: float = 0.0) -> None:
        if self.begun is not None:
            self.submits.kill(self.begun)
        self.clock.wait(0.05)
