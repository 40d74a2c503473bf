"""What the watches have shown so far of one scope, and the line's Sight made from it. No I/O, one thread.

`now` is CLOCK_BOOTTIME in seconds throughout: it is nobody's to set, and a machine that was suspended finds that it has
heard nothing for that long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from submits.cluster.reflector import Heard, Source
from submits.gates import naming
from submits.gates.counting import is_finalizer, is_terminal, role
from submits.gates.line import Sight
from submits.gates.objects import Controls, Demand, Gate, Ticket
from submits.gates.ports import Change, ClusterError, Listing, Object, Rules
from submits.gates.runs import Runs, slim
from submits.gates.servertime import ServerTime

PULSE = "pulse"
JOBS = "jobs"
LAG = 90.0  # seconds: a watch's length, its silence, a time-out and a few retries
NEVER = ServerTime(datetime(1970, 1, 1, tzinfo=UTC), 0.0)  # until the server's clock is heard nothing is old, or over


def sources(namespace: str) -> list[Source]:
    return [
        Source("gate", "leases", fields=f"metadata.name={naming.gate(namespace)}"),
        Source("tickets", "leases", labels=naming.TICKETS),
        Source(JOBS, "jobs", labels=naming.COUNTED, kept=slim),
        Source("controls", "configmaps", fields=f"metadata.name={naming.CONTROLS}"),
        Source("demand", "configmaps", labels=naming.V1_TRYING),
    ]


class Seen:
    def __init__(self, namespace: str, rules: Rules) -> None:
        self.rules = rules
        self.jobs = Runs()
        self.objects: dict[str, dict[str, Object]] = {}  # everything else: by source, then by name
        self.wanted = {source.name for source in sources(namespace)}
        self.dated = NEVER
        self.listed: dict[str, float] = {}  # when each source was last listed whole
        self.answered: float | None = None  # when the cluster last answered anything
        self.errors: dict[str, ClusterError] = {}  # by source, until it answers again
        self.gate_version, self.gate_since = "", 0.0
        # Until they are cleared: every hold of the gate, so that none is missed that began and ended between two looks;
        # whether a finalizer has appeared or ended; whether anything has changed of a Job that is no reservation.
        self.holds: list[Gate] = []
        self.moved = False
        self.stirred = False
        self.jobs_changed = True

    @property
    def synced(self) -> bool:
        return self.wanted <= self.listed.keys()

    def lagging(self, now: float) -> bool:
        """Whether a source has not been listed for so long that what it shows may be history."""
        return any(now - self.listed.get(name, now) > LAG for name in self.wanted)

    @property
    def silence(self) -> str:
        """What the sources that do not answer say."""
        return "; ".join(map(str, self.errors.values()))

    def hear(self, heard: Heard, now: float) -> None:
        if isinstance(heard.what, ClusterError):
            self.errors[heard.source] = heard.what
            return
        self.answered = now
        self.errors.pop(heard.source, None)
        if isinstance(heard.what, Listing):
            self.dated = self.dated.heard(heard.what.date, now)
            if heard.source != PULSE:
                self.list(heard.source, heard.what.items)
                self.listed[heard.source] = now
        else:
            self.change(heard.source, heard.what)
        self.note_gate(now)

    def list(self, source: str, items: Sequence[Object]) -> None:
        if source != JOBS:
            self.objects[source] = {obj["metadata"]["name"]: obj for obj in items}
            return
        here = {job["metadata"]["name"] for job in items}
        gone = [name for name in self.jobs.named if name not in here]
        self.take_in(
            gone, [job for job in items if version(job) != version(self.jobs.named.get(job["metadata"]["name"]))]
        )

    def change(self, source: str, change: Change) -> None:
        name, gone = change.object["metadata"]["name"], change.type == "DELETED"
        if source == JOBS:
            self.stirred |= role(change.object) != "reservation"
            self.take_in([name] if gone else [], [] if gone else [change.object])
        elif gone:
            self.objects[source].pop(name, None)
        else:
            self.objects[source][name] = change.object

    def take_in(self, gone: Iterable[str], new: Sequence[Object]) -> None:
        """Only what has changed is looked at: there may be very many Jobs."""
        before = [job for name in gone if (job := self.jobs.drop(name))]
        before += [job for job in map(self.jobs.put, new) if job]
        self.jobs_changed |= bool(before or new)
        self.stirred |= any(role(job) != "reservation" for job in (*before, *new))
        self.moved |= JOBS in self.listed and has_moved(finalizers(before), finalizers(new))

    def note_gate(self, now: float) -> None:
        gate = self.gate()
        if gate.version != self.gate_version:
            self.gate_version, self.gate_since = gate.version, now
            if gate.holder:
                self.holds.append(gate)

    def gate(self) -> Gate:
        return Gate.read(next(iter(self.objects.get("gate", {}).values()), None))

    def date(self, now: float) -> datetime:
        """The API server's clock."""
        return self.dated.at(now)

    def sight(self, now: float) -> Sight:
        controls = next(iter(self.objects.get("controls", {}).values()), None)
        return Sight(
            gate=self.gate(),
            tickets=tuple(Ticket.read(lease) for lease in self.objects.get("tickets", {}).values()),
            jobs=self.jobs.acting(),
            ended=self.jobs.ended,
            controls=Controls.read(controls),
            date=self.date(now),
            rules=self.rules,
            gate_seen_for=now - self.gate_since,
            demand=tuple(Demand.read(job) for job in self.objects.get("demand", {}).values()),
            holds=tuple(self.holds),
        )


def version(job: Object | None) -> tuple[str, str]:
    return (job["metadata"]["uid"], job["metadata"]["resourceVersion"]) if job else ("", "")


def finalizers(jobs: Iterable[Object]) -> dict[str, bool]:
    """The finalizers by uid, and whether each has ended."""
    return {job["metadata"]["uid"]: is_terminal(job) for job in jobs if is_finalizer(job)}


def has_moved(before: dict[str, bool], now: dict[str, bool]) -> bool:
    """One has appeared, ended, or gone while it lived; that an ended one is tidied away moves nothing. Both hold what
    has changed, or everything."""
    gone = any(not ended and uid not in now for uid, ended in before.items())
    return gone or any(before.get(uid) != ended for uid, ended in now.items())
