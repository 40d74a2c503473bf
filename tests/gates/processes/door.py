"""A door in a process of its own, without a database and without Celery: the product's line over its own watches,
a thread for each try, the product's repair and its monitor. A row is an entry of `Door.rows`.

    python -m tests.gates.processes.door      (plans on standard input, one a line, in JSON: see `Plan`)

Each plan becomes a door, in a process that is forked when everything has been imported; its pid is the answer.
What a door does is in the log: one JSON object a line, with `at`, seconds of the clock that all processes share. A door
that is started again reads it and leads nobody through twice.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import kubernetes.client.rest  # here, so that a forked door need not
import kubernetes.config.kube_config  # noqa: F401

from submits.cluster import ApiCluster, Connection, pinned_kubeconfig
from submits.cluster.clock import SystemClock
from submits.cluster.reflector import Heard, Reflector
from submits.cluster.seen import Seen, sources
from submits.cluster.transport import HttpTransport, Response
from submits.engine.leashed import LeashedSubmit
from submits.gates import naming, repair
from submits.gates.admission import admit
from submits.gates.line import Memory, advance, next_look, standings
from submits.gates.monitor import Monitor
from submits.gates.objects import Gate, ticket_body
from submits.gates.ports import AlreadyExists, ClusterError, Knobs, NotFound, Rules, Submit, Times
from submits.gates.verdicts import Means, Outcome, Run
from submits.work import WorkStore
from tests.gates.trying import FakeSubmit, body

LOOK = 0.5  # seconds between two rounds of mending, at most


@dataclass(frozen=True)
class Plan:
    kubeconfig: str
    namespace: str
    party: str
    folder: str  # of the log and the work store, shared by all doors
    searches: int  # how many it leads through in all
    at_once: int  # and how many stand in line at the same time
    ceiling: int
    factor: float  # of the protocol's times
    submit: list[str]  # what runs on the leash; nothing: the door makes a finalizer itself, at once
    times: Mapping[str, float] = field(default_factory=dict)  # seconds, of those that go by no factor

    @property
    def log(self) -> Path:
        return Path(self.folder) / f"{self.party}.log"

    @property
    def rules(self) -> Rules:
        times = replace(Times().scaled(self.factor), **self.times)
        return Rules(Knobs(ceiling=self.ceiling, v1_yield=8 * self.factor), times)


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path

    def say(self, what: str, **facts: Any) -> None:
        line = json.dumps({"at": time.monotonic(), "what": what, **facts}) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []


class Counted(HttpTransport):
    """Of an admission's own connections: how many requests were sent. A heartbeat counts too."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.sent = 0

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        self.sent += 1
        return super().request(method, path, query, body, content_type)


class Signed:
    """A submit that signs in where it is started: that is the moment of an admission."""

    def __init__(self, inner: Submit, log: Log) -> None:
        self.inner, self.log, self.leashed = inner, log, inner.leashed

    def start(self, run_id: str, sent: float) -> None:
        self.log.say("started", run=run_id)
        self.inner.start(run_id, sent)

    def poll(self, seconds: float) -> int | None:
        return self.inner.poll(seconds)

    def feed(self, sent: float) -> None:
        self.inner.feed(sent)

    def kill(self, grace: float = 0.0) -> None:
        self.inner.kill(grace)


class Door:
    def __init__(self, plan: Plan) -> None:
        self.plan, self.rules, self.log = plan, plan.rules, Log(plan.log)
        self.connection = Connection(plan.kubeconfig, plan.namespace)
        self.counted = Counted(self.connection)
        self.cluster = ApiCluster(self.counted, plan.namespace)
        self.watching = ApiCluster(HttpTransport(self.connection), plan.namespace)
        self.pinned = pinned_kubeconfig(self.connection)
        self.clock, self.heard = SystemClock(), queue.Queue[Heard]()
        self.seen, self.memory, self.monitor = Seen(plan.namespace, self.rules), Memory(), Monitor(self.rules)
        self.books, self.mended = repair.Bookkeeping(), 0.0
        ended = [line["submission"] for line in self.log.lines() if line.get("outcome") == "submitted"]
        self.rows = dict.fromkeys(ended, "done")  # submission → new, waiting, trying, done
        self.again: dict[str, float] = {}  # when one that failed stands in line again

    def run(self) -> None:
        for source in sources(self.plan.namespace):
            Reflector(source, self.watching, self.heard).start()
        wait = 0.0
        while True:
            self.listen(min(wait, 0.1))
            now = self.clock.boot()
            if not self.seen.synced or self.seen.errors:
                self.memory = replace(self.memory, opened=None)
                wait = 0.1
                continue
            self.stand_in_line(now)
            wait = self.look(now)
            if now - self.mended > LOOK:
                self.mended = now
                self.mend(now)

    def listen(self, timeout: float) -> None:
        while True:
            try:
                heard = self.heard.get(timeout=timeout) if timeout else self.heard.get_nowait()
            except queue.Empty:
                return
            now, timeout = self.clock.boot(), 0
            self.seen.hear(heard, now)
            if not isinstance(heard.what, ClusterError):
                self.monitor.hear(heard.source, heard.what, self.seen.jobs, self.seen.date(now), now)

    def look(self, now: float) -> float:
        sight = self.seen.sight(now)
        self.memory = advance(self.memory, sight, now)
        self.seen.holds = []
        for breach in self.monitor.look(sight, now):
            self.log.say("breach", kind=breach.kind, evidence=breach.evidence)
        for place in standings(sight, self.memory):
            submission = place.ticket.submission
            if place.turn and self.rows.get(submission) == "waiting":
                self.rows[submission] = "trying"
                threading.Thread(target=self.lead_through, args=(submission,), daemon=True).start()
        return next_look(sight, self.memory)

    def stand_in_line(self, now: float) -> None:
        """As many as may stand there at once; who failed stands there again a little later."""
        for submission, at in list(self.again.items()):
            if now >= at:
                del self.again[submission]
                self.take_place(submission)
        waiting = sum(state != "done" for state in self.rows.values())
        for number in range(self.plan.searches):
            submission = f"{self.plan.party}-{number}"
            if waiting >= self.plan.at_once:
                return
            if submission not in self.rows:
                self.rows[submission] = "new"
                self.take_place(submission)
                waiting += 1

    def take_place(self, submission: str) -> None:
        until = datetime.now(UTC) + timedelta(days=1)
        run = naming.run_id(submission)
        try:
            made = self.cluster.create("leases", ticket_body(submission, run, self.plan.party, until)).object
            order = int(made["metadata"]["resourceVersion"])
            self.log.say("ticket", submission=submission, run=run, order=order)
        except AlreadyExists:
            pass
        except ClusterError:
            self.again[submission] = self.clock.boot() + self.rules.times.back_off
            return
        self.rows[submission] = "waiting"

    def lead_through(self, submission: str) -> None:
        self.log.say("trying", submission=submission)
        what = Run(submission, naming.run_id(submission), self.plan.party)
        submit = Signed(self.submit(), self.log)
        verdict = admit(what, Means(self.cluster, self.clock, submit, self.rules, lambda phase, **facts: None))
        self.log.say(
            "verdict", submission=submission, run=what.run_id, outcome=verdict.outcome, reason=verdict.reason,
            detail=verdict.detail, token=verdict.token, sent=self.counted.sent,
        )  # fmt: skip
        if verdict.outcome is Outcome.SUBMITTED:
            self.rows[submission] = "done"
        elif verdict.outcome is Outcome.SHUT:
            self.rows[submission] = "waiting"
        else:
            self.again[submission] = self.clock.boot() + self.rules.times.back_off

    def submit(self) -> Submit:
        if not self.plan.submit:
            return FakeSubmit(lambda run: self.watching.create("jobs", body("finalizer", run, naming.finalizer(run))))
        return LeashedSubmit(
            self.plan.submit,
            "",
            self.pinned,
            {"PATH": os.environ["PATH"]},
            store=WorkStore(self.plan.folder),
            times=self.rules.times,
            parent=Path(self.plan.folder) / "submits",
        )

    def mend(self, now: float) -> None:
        sight = self.seen.sight(now)
        for act in repair.plan(sight, self.books, now):
            repair.carry_out(act, self.watching, self.clock, sight, self.books)
        try:
            self.monitor.asked(Gate.read(self.watching.get("leases", naming.gate(self.plan.namespace)).object).version)
        except NotFound:
            self.monitor.asked("")
        except ClusterError:
            return


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a door
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            Door(Plan(**json.loads(line))).run()
        print(pid, flush=True)


if __name__ == "__main__":
    main()
