"""The doors of one run: ours, with a gatekeeper and a worker for each try, and the older one.

What a door keeps in its database is a `Row`; it outlives every crash. A gatekeeper follows the cluster by the product's
own reflectors, decides by the product's line and mends by its repair; a worker is one `admit`. What lies between them
(claim, wake-up, verdict to next state, desertion) is said here as PROTOCOL says it, without the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from submits.cluster import ApiCluster
from submits.cluster.reflector import Heard, Reflector
from submits.cluster.seen import Seen, sources
from submits.gates import admission, naming, repair
from submits.gates.counting import is_finalizer, is_terminal, run_of
from submits.gates.line import Memory, Sight, Standing, advance, next_look, standings
from submits.gates.objects import notes_of, ticket_body
from submits.gates.ports import AlreadyExists, ClusterError
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from submits.states import Phase, Reason
from tests.gates.simulation.clockwork import Answer, Clockwork, Process, SimulatedClock
from tests.gates.simulation.network import SimulatedTransport
from tests.gates.simulation.schedule import What
from tests.gates.simulation.submitting import SimulatedSubmit
from tests.gates.v1 import OlderDoor

if TYPE_CHECKING:
    from tests.gates.simulation.world import World

LOOK = 4.0  # seconds between two looks of a gatekeeper that hears nothing
IDLE = 10.0  # the same, when nobody waits or submits: only repair has anything to do then
RESTART = 2.0  # seconds until a dead gatekeeper is there again
TRIES = 3
DESERTED = 55.0  # seconds without a sign of life: leash, kill, heartbeat
V1_TRIES = 400


@dataclass
class Row:
    """One submission as its door's database knows it."""

    submission: str
    party: str
    status: str = "waiting"  # waiting, submitting, running, failed
    next_try: float = 0.0
    tries: int = 0
    outages: int = 0
    beat: float = 0.0
    full: bool = False  # the last try found every place taken
    claim: int = 0  # counts the claims: whoever holds an old one writes nothing
    tokens: list[tuple[int, int]] = field(default_factory=list)  # claim and token

    @cached_property
    def run_id(self) -> str:
        return naming.run_id(self.submission)

    @property
    def over(self) -> bool:
        return self.status in ("running", "failed")


@dataclass
class Tried:
    """One try of a worker, from its start to its verdict."""

    row: Row
    process: Process
    begun: float
    ended: float | None = None
    verdict: Verdict | None = None


class News:
    """The queue between reflectors and the loop, which wakes the loop."""

    def __init__(self, clockwork: Clockwork) -> None:
        self.clockwork = clockwork
        self.heard: list[Heard] = []
        self.sleeper: Answer | None = None

    def put(self, heard: Heard) -> None:
        self.heard.append(heard)
        if self.sleeper is not None:
            sleeper, self.sleeper = self.sleeper, None
            self.clockwork.after(0.001, lambda: sleeper(lambda: None))

    def wait(self, seconds: float) -> list[Heard]:
        def sleep(answer: Answer) -> None:
            self.sleeper = answer
            self.clockwork.after(seconds, lambda: answer(lambda: None))

        if not self.heard:
            self.clockwork.ask(sleep)
        heard, self.heard = self.heard, []
        return heard


class Stopping:
    """In place of a reflector's event: its pauses take simulated time."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> bool:
        self.clock.wait(seconds)
        return False


class Gatekeeper:
    def __init__(self, world: World, party: str) -> None:
        self.world, self.party = world, party
        self.process = world.process("gatekeeper")
        self.clock = SimulatedClock(self.process)
        self.cluster = ApiCluster(SimulatedTransport(world.network, self.process), "default")
        self.news = News(world.clockwork)
        self.seen = Seen("default", world.rules)
        self.memory, self.books = Memory(), repair.Bookkeeping()
        self.looked = -LOOK
        self.wait = 0.0  # seconds until the first timer that a wait depends on
        self.process.at_death.append(lambda: world.clockwork.after(RESTART, lambda: world.gatekeeper(party)))
        for source in sources("default"):
            reflector = Reflector(source, self.cluster, self.news, resync=60.0)  # type: ignore[arg-type]
            reflector.stopping = Stopping(self.clock)  # type: ignore[assignment]
            self.process.spawn(reflector.run)
        self.process.spawn(self.loop)

    def loop(self) -> None:
        while True:
            busy = any(not row.over for row in self.world.rows_of(self.party))
            for heard in self.news.wait(min(self.wait, LOOK) if busy else IDLE):
                self.seen.hear(heard, self.clock.boot())
            now = self.clock.boot()
            if self.seen.synced and not self.seen.lagging(now):
                self.turn(now)
            else:
                self.memory, self.wait = replace(self.memory, opened=None), LOOK

    def turn(self, now: float) -> None:
        sight = self.seen.sight(now)
        self.memory = advance(self.memory, sight, now)
        self.seen.holds = []
        self.wait = next_look(sight, self.memory)
        places = standings(sight, self.memory)
        self.world.judge.look(places)
        by_submission = {place.ticket.submission: place for place in places}
        rows = self.world.rows_of(self.party)
        if self.seen.stirred:
            self.seen.stirred = False
            for row in rows:
                row.next_try = min(row.next_try, self.world.clockwork.now) if row.full else row.next_try
        for row in rows:
            place = by_submission.get(row.submission)
            if row.status != "waiting" or row.next_try > self.world.clockwork.now:
                continue
            if place is None:
                self.stand_in_line(row)
            elif place.turn:
                self.world.work(row)
        if now - self.looked >= LOOK:
            self.looked = now
            self.mend(sight, by_submission)

    def stand_in_line(self, row: Row) -> None:
        until = self.seen.date(self.clock.boot()) + timedelta(seconds=self.world.rules.times.until)
        try:
            self.cluster.create("leases", ticket_body(row.submission, row.run_id, row.party, until))
        except AlreadyExists:
            return
        except ClusterError:
            row.next_try = self.world.clockwork.now + 1.0

    def mend(self, sight: Sight, places: dict[str, Standing]) -> None:
        for act in repair.plan(sight, self.books, self.clock.boot()):
            repair.carry_out(act, self.cluster, self.clock, sight, self.books)
        alive = {run_of(job) for job in sight.jobs if not is_terminal(job)}
        if not sight.gate_open:
            alive.add(sight.gate.run_id)
        kept = {run_of(job) for job in sight.jobs if notes_of(job).get(naming.KEEP) == Reason.MARKER_MISSING}
        for row in self.world.rows_of(self.party):
            found = any(map(is_finalizer, sight.of_run(row.run_id)))
            if row.status == "submitting" and self.world.clockwork.now - row.beat > DESERTED:
                if found:
                    row.status = "running"
                elif row.run_id in kept:
                    row.status = "failed"
                elif row.run_id not in alive:
                    row.status = "waiting"
            elif row.status == "waiting" and found:
                row.status = "running"
            if row.over and row.submission in places:
                ticket = places[row.submission].ticket
                try:
                    self.cluster.delete("leases", ticket.name, ticket.uid)
                except ClusterError:
                    continue


class Worker:
    """One try: claim, admit, record."""

    def __init__(self, world: World, row: Row, *, twice: bool = False) -> None:
        self.world, self.row = world, row
        self.process = world.process("worker")
        self.clock = SimulatedClock(self.process)
        self.cluster = ApiCluster(SimulatedTransport(world.network, self.process), "default")
        self.claim = row.claim
        self.tried = Tried(row, self.process, world.clockwork.now)
        world.tried.append(self.tried)
        self.process.spawn(self.lead_through)
        if not twice and any(b.what is What.TWICE and b.number == self.process.number for b in world.twice):
            world.clockwork.after(world.clockwork.chance.uniform(0, 30), partial(world.again, row))

    def report(self, phase: Phase, **facts: Any) -> bool:
        row = self.row
        if row.claim != self.claim or row.status != "submitting":
            return False
        row.beat = self.world.clockwork.now
        if "token" in facts:
            self.world.judge.token(row, self.claim, facts["token"], facts["holder"])
        return True

    def lead_through(self) -> None:
        row, world = self.row, self.world
        what = Run(row.submission, row.run_id, row.party)
        submit = SimulatedSubmit(world.submits, self.process, leashed=world.schedule.leashed)
        verdict = admission.admit(what, Means(self.cluster, self.clock, submit, world.rules, self.report))
        self.tried.verdict, self.tried.ended = verdict, world.clockwork.now
        world.judge.verdict(self.tried)
        if row.claim == self.claim and row.status == "submitting":
            self.record(verdict)

    def record(self, verdict: Verdict) -> None:
        row, now = self.row, self.world.clockwork.now
        back_off = self.world.rules.times.back_off
        row.status, row.full = "waiting", verdict.reason is Reason.WAITING_FOR_CAPACITY
        match verdict.outcome:
            case Outcome.SUBMITTED:
                row.status = "running"
            case Outcome.SHUT:
                row.next_try = now + (back_off if row.full else 0)
            case Outcome.BACK:
                row.next_try = now + back_off
            case Outcome.UNKNOWN:
                row.outages += 1
                row.next_try = now + 15.0 * 2 ** min(row.outages - 1, 2)
            case Outcome.NOTHING:
                row.tries += 1
                row.next_try = now + back_off
                row.status = "failed" if row.tries >= TRIES else "waiting"
            case Outcome.REFUSED:
                row.status = "failed"


class Older:
    """A v1 door with one search to submit; its submit is a process of its own, which no leash holds."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.process = world.process("older")
        self.run = naming.run_id(f"older-{number}")
        self.clock = SimulatedClock(self.process)
        cluster = ApiCluster(SimulatedTransport(world.network, self.process), "default")
        self.door = OlderDoor(cluster, self.clock, world.schedule.ceiling)
        self.done = False
        self.process.spawn(self.work)

    def work(self) -> None:
        self.clock.wait(self.world.clockwork.chance.uniform(0, 20))
        self.door.lead_through(self.run, self.submit, V1_TRIES)
        self.done = True

    @property
    def over(self) -> bool:
        return self.done or self.process.dead

    def submit(self, run: str) -> None:
        begun = self.world.submits.begin(run, self.process, "older submit", older_order=True)
        while begun.runs:
            self.clock.wait(1.0)
