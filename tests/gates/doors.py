"""Doors that run side by side on one real cluster: ours with its line, older ones, and who watches them all.

Everything is the product's but what a database and Celery do: a row is an entry of `OurDoor.rows`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.clock import SystemClock
from submits.cluster.reflector import Heard, Reflector
from submits.cluster.seen import Seen, sources
from submits.gates import naming
from submits.gates.admission import admit
from submits.gates.line import Memory, Standing, advance, next_look, standings
from submits.gates.objects import ticket_body
from submits.gates.ports import AlreadyExists, Object, Rules, Unanswered
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from tests.gates.trying import FakeSubmit, body
from tests.gates.v1 import has_ended
from tests.onebox.cluster.fixtures import JOBS, MERGE, RunningCluster


@dataclass
class Stage:
    """One cluster, and what its doors have done there: each submit's start, in order, and whatever went wrong."""

    server: RunningCluster
    lasts: float  # seconds that a submit takes
    searches: float  # seconds that a search takes; it never ends by itself when 0
    starts: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    timers: list[threading.Timer] = field(default_factory=list)
    inside: threading.Lock = field(default_factory=threading.Lock)

    def connect(self) -> ApiCluster:
        return connect(Connection(str(self.server.kubeconfig), "default"))

    def submit(self, run: str, cluster: ApiCluster) -> None:
        """The finalizer in the middle of it, so that what comes before and after it is held too."""
        if not self.inside.acquire(blocking=False):
            self.wrong.append(f"{run} is submitted while another submit runs")
            return
        try:
            self.starts.append(run)
            time.sleep(self.lasts / 2)
            cluster.create("jobs", body("finalizer", run, naming.finalizer(run)))
            time.sleep(self.lasts / 2)
        finally:
            self.inside.release()
        if self.searches:
            self.timers.append(threading.Timer(self.searches, lambda: self.end(run)))
            self.timers[-1].start()

    def close(self) -> None:
        for timer in self.timers:
            timer.cancel()
            timer.join()

    def end(self, run: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        done = {"type": "Complete", "status": "True", "lastTransitionTime": now}
        first = {**done, "type": "SuccessCriteriaMet"}
        status = {"succeeded": 1, "completionTime": now, "conditions": [first, done]}
        path = f"{JOBS}/{naming.finalizer(run)}/status"
        reply = self.server.call("PATCH", path, {"status": status}, MERGE)
        # One that has ended before, by its timer, does not end a second time.
        assert reply.code in (200, 404) or "field is immutable" in reply.body["message"], reply.body


class OurDoor(threading.Thread):
    """A line over its own watches, and a thread for each try."""

    def __init__(self, stage: Stage, rules: Rules, party: str = "dashboard") -> None:
        super().__init__(name=party, daemon=True)
        self.stage, self.rules, self.party = stage, rules, party
        self.cluster, self.clock = stage.connect(), SystemClock()
        self.heard: queue.Queue[Heard] = queue.Queue()
        self.seen, self.memory = Seen("default", rules), Memory()
        self.reflectors = [Reflector(source, self.cluster, self.heard) for source in sources("default")]
        self.rows: dict[str, str] = {}  # submission → waiting, trying, done
        self.verdicts: list[Verdict] = []
        self.gave_way: set[str] = set()
        self.stopping = threading.Event()

    def take(self, submission: str) -> None:
        """Into the line now; it is led through when its turn comes."""
        until = datetime.now(UTC) + timedelta(days=1)
        try:
            self.cluster.create("leases", ticket_body(submission, naming.run_id(submission), self.party, until))
        except AlreadyExists:
            pass
        self.rows[submission] = "waiting"

    def has_submitted(self, submission: str) -> bool:
        return self.rows[submission] == "done"

    def run(self) -> None:
        for reflector in self.reflectors:
            reflector.start()
        wait = 0.0
        while not self.stopping.is_set():
            try:
                heard = self.heard.get(timeout=min(max(wait, 0.001), 0.2))
                self.seen.hear(heard, self.clock.boot())
            except queue.Empty:
                pass
            if self.heard.empty() and self.seen.synced:
                wait = self.look(self.clock.boot())
        for reflector in self.reflectors:
            reflector.stop()

    def look(self, now: float) -> float:
        sight = self.seen.sight(now)
        self.memory = advance(self.memory, sight, now)
        self.seen.holds = []
        for place in standings(sight, self.memory):
            self.decide(place)
        return next_look(sight, self.memory)

    def decide(self, place: Standing) -> None:
        submission = place.ticket.submission
        if place.detail:
            self.gave_way.add(submission)
        if place.turn and self.rows.get(submission) == "waiting":
            self.rows[submission] = "trying"
            threading.Thread(target=self.lead_through, args=(submission,), daemon=True).start()

    def lead_through(self, submission: str) -> None:
        what = Run(submission, naming.run_id(submission), self.party)
        cluster = self.stage.connect()
        submit = FakeSubmit(lambda run: self.stage.submit(run, cluster))
        verdict = admit(what, Means(cluster, self.clock, submit, self.rules, lambda phase, **facts: None))
        self.verdicts.append(verdict)
        if verdict.outcome in (Outcome.BACK, Outcome.NOTHING):
            self.take(submission)
        self.rows[submission] = "done" if verdict.outcome is Outcome.SUBMITTED else "waiting"


class Auditor(threading.Thread):
    """Follows the Jobs of one cluster by its own watch, and counts by its own words."""

    def __init__(self, stage: Stage, ceiling: int) -> None:
        super().__init__(name="auditor", daemon=True)
        self.stage, self.ceiling = stage, ceiling
        self.cluster = stage.connect()
        self.most = self.revisions = 0
        listing = self.cluster.list("jobs")
        self.jobs: dict[str, Object] = {job["metadata"]["name"]: job for job in listing.items}
        self.version = listing.version

    def run(self) -> None:
        with contextlib.suppress(Unanswered):  # the cluster ends before its auditor
            self.follow()

    def follow(self) -> None:
        for change in self.cluster.watch("jobs", self.version, seconds=600):
            name = change.object["metadata"]["name"]
            if change.type == "DELETED":
                self.jobs.pop(name, None)
            else:
                self.jobs[name] = change.object
            self.revisions += 1
            runs = {
                job["metadata"]["labels"]["elb-job-id"]
                for job in self.jobs.values()
                if "elb-job-id" in job["metadata"].get("labels", {}) and not has_ended(job)
            }
            self.most = max(self.most, len(runs))
            if len(runs) > self.ceiling:
                self.stage.wrong.append(f"{len(runs)} searches run where {self.ceiling} may: {sorted(runs)}")
