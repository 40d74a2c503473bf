"""What must never happen, looked for in everything that the watches tell. Pure: it mends nothing and decides nothing.

    ceiling   a run began while more ran than the ceiling in force allows (a split's children are one run)
    unmarked  a run that was announced began without a counted marker standing
    v1        for longer than a repair takes, an older door's count and ours differ in more than doubles
    ungated   a finalizer or submit Job appeared while its party did not hold the gate: such a party voids both gates

Each is found once. The limit: what both began and ended between two watches is not seen, and what cannot be told for
certain (a hold that a broken watch may have missed) is not accused.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from submits.gates import naming
from submits.gates.counting import (
    id_of,
    is_finalizer,
    is_marker,
    is_terminal,
    is_work,
    key_of,
    live,
    occupied,
    role,
    run_of,
)
from submits.gates.history import Appeared, GateHistory
from submits.gates.line import Sight
from submits.gates.objects import Controls, created, labels
from submits.gates.ports import Change, Listing, Object, Rules
from submits.gates.runs import Runs

SHOWN_FOR = timedelta(hours=1)
SLACK = 60.0  # seconds between an admission's count and the start of its submit, generously
UNJUDGED = 1000  # Jobs whose gate cannot be told yet; the oldest are let go


@dataclass(frozen=True)
class Breach:
    kind: str
    at: datetime  # by the API server's clock
    evidence: str


class Monitor:
    """Fed with every listing and change of gate, Jobs and controls, in the order in which they are heard."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.counts: Counter[str] = Counter()
        self.recent: deque[Breach] = deque(maxlen=20)
        self.found: list[Breach] = []  # since the last look
        self.gate = GateHistory()
        self.pending: deque[Appeared] = deque(maxlen=UNJUDGED)  # Jobs whose gate cannot be told yet
        self.jobs_at = 0  # revision up to which the Jobs have been heard
        self.uids: set[str] = set()  # of the finalizers and submit Jobs that are there
        self.running: set[str] | None = None  # keys that were live at the last look; None: nothing is known yet
        self.announced: dict[str, float] = {}  # runs by key, and when their reservation was heard of
        self.lowered: list[tuple[float, int]] = []  # ceilings that were in force, and until when
        self.ceiling = rules.knobs.ceiling
        self.differs: dict[tuple[str, str], float] = {}  # whose count lacks which key, and since when
        self.told: set[tuple[str, str]] = set()

    # What is heard ---------------------------------------------------------------------------------------------------

    def asked(self, version: str) -> None:
        """The gate was asked for by itself and is at this version ("" if there is none)."""
        if version == self.gate.version:
            for job in self.pending:
                job.asked += 1

    def hear(self, source: str, what: Listing | Change, jobs: Runs, date: datetime, now: float) -> None:
        """`jobs`: all of them, with this one taken in; `now`: seconds on a monotonic clock."""
        if source == "gate":
            self.gate.hear(what)
        elif source == "controls":
            self.told_ceiling(what)
        elif source == "jobs" and isinstance(what, Listing):
            version = int(what.version or 0)
            first, known = self.running is None, self.uids
            self.uids = set()
            for job in what.items:
                self.appeared(job, known, self.jobs_at + 1, first, now, jobs)
            self.jobs_at = max(self.jobs_at, version)
            self.begun(jobs, date, now)
        elif source == "jobs" and isinstance(what, Change):
            revision = int(what.object["metadata"]["resourceVersion"])
            self.jobs_at = max(self.jobs_at, revision)
            if what.type == "ADDED":
                self.appeared(what.object, self.uids, revision, False, now, jobs)
                self.added(what.object, jobs, date, now)
            elif what.type == "DELETED":
                self.uids.discard(what.object["metadata"]["uid"])

    def told_ceiling(self, what: Listing | Change) -> None:
        """A raise counts at once: whoever reads it may be led in before our next look, which is what lowers it."""
        objects = what.items[:1] if isinstance(what, Listing) else (what.object,) * (what.type != "DELETED")
        told = Controls.read(next(iter(objects), None)).ceiling_of(self.rules)
        self.ceiling = max(self.ceiling, told)

    def appeared(self, job: Object, known: set[str], earliest: int, first: bool, now: float, jobs: Runs) -> None:
        """Remember what is new: reservations by their run; finalizers and submit Jobs until their gate can be told."""
        meta = job["metadata"]
        if meta["uid"] in known:
            self.uids.add(meta["uid"])
        elif role(job) == "reservation":
            self.announced[run_of(job)] = now
        elif is_finalizer(job) or (is_work(job) and labels(job).get(naming.APP) == "submit"):
            self.uids.add(meta["uid"])
            if not first and is_submitted(job, jobs):
                self.pending.append(Appeared(job, earliest, int(meta["resourceVersion"])))

    def added(self, job: Object, jobs: Runs, date: datetime, now: float) -> None:
        key = key_of(job)
        if is_marker(job) or not (is_finalizer(job) or is_work(job)) or self.running is None or key in self.running:
            return
        others = (other for other in jobs.of(key) if other["metadata"]["name"] != job["metadata"]["name"])
        if key in self.announced and not live(others):
            self.breach("unmarked", date, f"{job['metadata']['name']} began, and nothing held its place before")
        self.begun(jobs, date, now)

    def begun(self, jobs: Runs, date: datetime, now: float) -> None:
        running = running_keys(jobs.acting(), date, self.rules)
        fresh = running - (running if self.running is None else self.running)
        allowed = max([self.ceiling, *(ceiling for until, ceiling in self.lowered if now < until)])
        if fresh and len(running) > allowed:
            self.breach("ceiling", date, f"{len(running)} searches run where {allowed} may")
        self.running = running

    # What is seen ----------------------------------------------------------------------------------------------------

    def look(self, sight: Sight, now: float) -> list[Breach]:
        """Everything found since the last look."""
        if sight.ceiling != self.ceiling:
            # An admission that counted under the old one may still be submitting.
            window = self.rules.knobs.exec_timeout + SLACK
            self.lowered = [*((u, c) for u, c in self.lowered if now < u), (now + window, self.ceiling)]
            self.ceiling = sight.ceiling
        self.running = {key for key, jobs in sight.places.items() if not all(map(is_marker, jobs))}
        self.forget(now, sight.places.keys())
        self.judge(sight.date)
        self.compare(sight, now)
        found, self.found = self.found, []
        return found

    def stand_by(self, date: datetime, now: float) -> None:
        """Nobody looks: the one that acts alarms what is found, and what is remembered stays bounded."""
        self.forget(now)
        self.judge(date)
        self.found = []

    def forget(self, now: float, places: Container[str] = ()) -> None:
        kept = 2 * self.rules.times.reservation
        self.announced = {run: at for run, at in self.announced.items() if run in places or now - at < kept}

    def judge(self, date: datetime) -> None:
        waiting: deque[Appeared] = deque(maxlen=UNJUDGED)
        for job in self.pending:
            if not self.gate.can_tell(job):
                waiting.append(job)
            elif (holder := self.gate.stranger(job)) is not None:
                who = f"{holder} held door A for another" if holder else "nobody held door A"
                self.breach("ungated", created(job.job) or date, f"{job.job['metadata']['name']} appeared while {who}")
        self.pending = waiting

    def compare(self, sight: Sight, now: float) -> None:
        """A repair is given time to pin and to guard; while somebody submits nobody else counts."""
        theirs = v1_counts(sight.jobs, sight.date, self.rules.knobs.finalizer_grace)
        found = {("we", key) for key in theirs - sight.places.keys()}
        if sight.gate_open:
            # A batch that names no run is nobody's to guard: only who made it could mend that.
            named = {key for key, jobs in sight.places.items() if any(map(id_of, jobs))}
            found |= {("v1", key) for key in named - theirs}
        self.differs = {what: self.differs.get(what, now) for what in found}
        self.told &= found
        for who, key in sorted(found - self.told):
            if now - self.differs[who, key] >= self.rules.times.mended_within:
                self.told.add((who, key))
                lacks = "an older door counts it and we do not" if who == "we" else "an older door does not count it"
                name = next(job["metadata"]["name"] for job in sight.jobs if key_of(job) == key)
                self.breach("v1", sight.date, f"{name}: {lacks}")

    def breach(self, kind: str, at: datetime, evidence: str) -> None:
        made = Breach(kind, at, evidence)
        self.counts[kind] += 1
        self.recent.appendleft(made)
        self.found.append(made)

    def shown(self, date: datetime) -> list[Breach]:
        """Newest first."""
        return [breach for breach in self.recent if date - breach.at < SHOWN_FOR]


def is_submitted(job: Object, jobs: Runs) -> bool:
    """Whether a finalizer or submit Job tells of a submit under way. A submit Job after its finalizer does not: when a
    submit is cut off between the two, the finalizer makes it, long after the gate was given back."""
    before = (other for other in jobs.of(key_of(job)) if id_of(other) == id_of(job))
    return is_finalizer(job) or not any(map(is_finalizer, before))


def running_keys(jobs: Iterable[Object], date: datetime, rules: Rules) -> set[str]:
    """The runs of which something is alive that is more than a marker."""
    places = occupied(list(jobs), date, rules.knobs.finalizer_grace)
    return {key for key, found in places.items() if not all(map(is_marker, found))}


def v1_counts(jobs: Iterable[Object], date: datetime, grace: float) -> set[str]:
    """The keys of what an older door counts: every finalizer that has not ended, except one that names its id, was made
    more than `grace` seconds ago, and has no live submit or blast Job of that id. (Source: PROTOCOL, 1.)"""
    living = [job for job in jobs if not is_terminal(job)]
    label = naming.ELB_JOB_ID
    companions = {labels(job).get(label) for job in living if labels(job).get(naming.APP) in ("submit", "blast")}
    counted = set()
    for job in living:
        if labels(job).get(naming.APP) != "finalizer":
            continue
        run, made = labels(job).get(label), created(job)
        old = made is not None and (date - made).total_seconds() > grace
        if not run or run in companions or not old:
            counted.add(key_of(job))
    return counted
