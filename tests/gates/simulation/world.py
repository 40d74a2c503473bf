"""One run: a schedule in, a report out."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from unittest.mock import patch

from submits.cluster import reflector
from submits.gates.ports import Knobs, Rules, Times
from submits.gates.verdicts import Outcome
from tests.gates.simulation import invariants
from tests.gates.simulation.clockwork import Clockwork, Process
from tests.gates.simulation.invariants import GATE
from tests.gates.simulation.jobs import PATH, JobLife
from tests.gates.simulation.judge import Judge
from tests.gates.simulation.network import Network
from tests.gates.simulation.parties import Gatekeeper, Older, Row, Tried, Worker
from tests.gates.simulation.schedule import Act, Blow, Deed, Schedule, What
from tests.gates.simulation.submitting import Submits
from tests.gates.v1 import has_ended

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
PARTIES = ("dashboard", "openapi")
# A dead v1 or unleashed holder, then a reservation's whole life, then a submit and its search, and some more.
LAST = 930.0 + 750.0
EACH = 40.0 * 5 + 65.0 + 500.0
QUIET_FOR = 5.0
MERGES = (1.0, 5.0, 20.0)
LONG_MERGES = (400.0,)  # beyond an older door's grace of 300 s: only those show whether a pin is missing


@dataclass(frozen=True)
class Ran:
    """What one run of the simulation was."""

    schedule: Schedule
    violation: str
    steps: int
    revisions: int
    seconds: float  # of simulated time
    struck: int  # blows and acts that met something
    verdicts: Mapping[Outcome, int]

    def __str__(self) -> str:
        return f"{self.violation}\n{self.schedule}"


class World:
    def __init__(self, schedule: Schedule, times: Times, *, leash_holds: bool, even: str) -> None:
        self.schedule = schedule
        self.rules = Rules(Knobs(ceiling=schedule.ceiling), times)
        self.clockwork = Clockwork(schedule.seed)
        self.network = Network(self.clockwork, schedule)
        self.life = JobLife(self.clockwork, self.network.server, MERGES + LONG_MERGES * bool(schedule.older))
        self.submits = Submits(self.clockwork, self.network, self.rules, leash_holds=leash_holds)
        self.numbers: dict[str, int] = {}
        self.rows: list[Row] = []
        self.tried: list[Tried] = []
        self.older: list[Older] = []
        self.acts = 0
        self.twice: list[Blow] = [blow for blow in schedule.blows if blow.what is What.TWICE and blow.role == "worker"]
        self.judge = Judge(self, invariants.excuses(schedule) - {even})

    def process(self, role: str) -> Process:
        number = self.numbers[role] = self.numbers.get(role, -1) + 1
        return Process(self.clockwork, role, number)

    def rows_of(self, party: str) -> list[Row]:
        return [row for row in self.rows if row.party == party]

    def gatekeeper(self, party: str) -> None:
        Gatekeeper(self, party)

    def work(self, row: Row) -> None:
        row.status, row.beat = "submitting", self.clockwork.now
        row.claim += 1
        Worker(self, row)

    def again(self, row: Row) -> None:
        Worker(self, row, twice=True)

    def receive(self, number: int) -> None:
        self.rows.append(Row(f"s{number}", PARTIES[number % self.schedule.parties]))

    def act(self, act: Act) -> None:
        self.network.disturbed(1.0)
        self.acts += 1
        network = self.network
        network.writer, network.method = Process(self.clockwork, "operator", 0), "DELETE"
        try:
            match act.deed:
                case Deed.DELETE_GATE:
                    network.server.call("DELETE", f"{LEASES}/{GATE}", body={})
                case Deed.EDIT_GATE:
                    headers = {"content-type": "application/merge-patch+json", "user-agent": "kubectl"}
                    note = {"metadata": {"annotations": {"checked": f"{self.clockwork.now:.0f}"}}}
                    network.server.call("PATCH", f"{LEASES}/{GATE}", headers=headers, body=note)
                case Deed.DELETE_TICKET:
                    tickets = [name for name in self.judge.leases if name != GATE]
                    for name in tickets[:1]:
                        network.server.call("DELETE", f"{LEASES}/{name}", body={})
                case Deed.DELETE_FINALIZER:
                    finalizers = [name for name in self.judge.jobs if name.startswith("elb-finalizer")]
                    for name in finalizers[:1]:
                        network.server.call("DELETE", f"{PATH}/{name}", body={"propagationPolicy": "Background"})
                case Deed.RESTART:
                    network.restart(0.5, compact=True)
                case Deed.AWAY:
                    network.restart(20.0, compact=False)
        finally:
            network.writer, network.method = None, ""

    def run(self) -> Ran:
        schedule, clockwork = self.schedule, self.clockwork
        for number in range(schedule.ours):
            clockwork.after(clockwork.chance.choice((0.0, 0.0, 5.0, 20.0)), partial(self.receive, number))
        for party in PARTIES[: schedule.parties]:
            self.gatekeeper(party)
        self.older += [Older(self, number) for number in range(schedule.older)]
        for act in schedule.acts:
            clockwork.at(float(act.at), partial(self.act, act))
        try:
            self.play()
            if not self.judge.violation:
                self.judge.end()
        finally:
            clockwork.close()
            self.network.server.close()
        return Ran(
            schedule, self.judge.violation, clockwork.steps, self.judge.revisions, clockwork.now,
            len(self.network.struck) + self.acts,
            Counter(tried.verdict.outcome for tried in self.tried if tried.verdict is not None),
        )  # fmt: skip

    def play(self) -> None:
        """Until all is done and nothing is left, or the protocol's own bounds are over."""
        bound = LAST + EACH * (self.schedule.ours + self.schedule.older)
        while not self.over():
            limit = max([self.network.last_blow, *(float(act.at) for act in self.schedule.acts)]) + bound
            if self.clockwork.now >= limit:
                return
            self.clockwork.run(min(limit, self.clockwork.now + QUIET_FOR), lambda: bool(self.judge.violation))
            if self.judge.violation:
                return

    def over(self) -> bool:
        if len(self.rows) < self.schedule.ours or not all(row.over for row in self.rows):
            return False
        if not all(older.over for older in self.older) or any(begun.runs for begun in self.submits.begun):
            return False
        working = any(not invariants.role(j) and not has_ended(j) for j in self.judge.jobs.values())
        acting = any(t.ended is None and t.process.alive for t in self.tried)
        return not working and not acting and not self.judge.left()


def play(schedule: Schedule, times: Times = Times(), *, leash_holds: bool = True, even: str = "") -> Ran:  # noqa: B008  # frozen
    """`times` and `leash_holds` are for taking a rule away; what is judged by does not change with them. `even`:
    an invariant that is judged although the schedule is known to break it."""
    logging.disable(logging.ERROR)
    before = random.getstate()
    random.seed(schedule.seed)  # a reflector draws the length of its watches from it
    try:
        world = World(schedule, times, leash_holds=leash_holds, even=even)
        with patch.object(reflector, "time", SimpleNamespace(monotonic=lambda: world.clockwork.now)):
            return world.run()
    finally:
        random.setstate(before)
        logging.disable(logging.NOTSET)
