"""What the watches have shown so far of one scope, and the line's Sight made from it. No I/O, one thread."""

from __future__ import annotations

from datetime import datetime, timedelta

from submits.cluster.reflector import Heard, Source
from submits.gates import naming
from submits.gates.counting import is_finalizer, is_terminal, role
from submits.gates.line import Sight
from submits.gates.objects import Controls, Demand, Gate, Ticket
from submits.gates.ports import Change, ClusterError, Listing, Object, Rules

PULSE = "pulse"
LAG = 90.0  # seconds: a watch's length, its silence, a time-out and a few retries


def sources(namespace: str) -> list[Source]:
    return [
        Source("gate", "leases", fields=f"metadata.name={naming.gate(namespace)}"),
        Source("tickets", "leases", labels=naming.TICKETS),
        Source("jobs", "jobs", labels=naming.COUNTED),
        Source("controls", "configmaps", fields=f"metadata.name={naming.CONTROLS}"),
        Source("demand", "configmaps", labels=naming.V1_TRYING),
    ]


class Seen:
    def __init__(self, namespace: str, rules: Rules) -> None:
        self.rules = rules
        self.objects: dict[str, dict[str, Object]] = {}
        self.wanted = {source.name for source in sources(namespace)}
        self.offset = timedelta(0)  # the API server's clock minus ours
        self.listed: dict[str, float] = {}  # monotonic, when each source was last listed whole
        self.answered: float | None = None  # monotonic, when the cluster last answered anything
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
        return self.wanted <= self.objects.keys()

    def lagging(self, now: float) -> bool:
        """Whether a source has not been listed for so long that what it shows may be history."""
        return any(now - self.listed.get(name, now) > LAG for name in self.wanted)

    def hear(self, heard: Heard, wall: datetime, now: float) -> None:
        if isinstance(heard.what, ClusterError):
            self.errors[heard.source] = heard.what
            return
        self.answered = now
        self.errors.pop(heard.source, None)
        if isinstance(heard.what, Listing):
            self.offset = heard.what.date - wall
            if heard.source != PULSE:
                self.listed[heard.source] = now
                objects = {obj["metadata"]["name"]: obj for obj in heard.what.items}
                if heard.source == "jobs":
                    self.stirred |= versions(self.objects.get("jobs", {})) != versions(objects)
                self.replace(heard.source, objects)
        else:
            self.change(heard.source, heard.what)
        self.note_gate(now)

    def replace(self, source: str, objects: dict[str, Object]) -> None:
        before = self.objects.get(source)
        if source == "jobs":
            self.jobs_changed = True
            self.moved |= before is not None and has_moved(finalizers(before), finalizers(objects))
        self.objects[source] = objects

    def change(self, source: str, change: Change) -> None:
        name = change.object["metadata"]["name"]
        self.stirred |= source == "jobs" and role(change.object) != "reservation"
        held = dict(self.objects.get(source, {}))
        if change.type == "DELETED":
            held.pop(name, None)
        else:
            held[name] = change.object
        self.replace(source, held)

    def note_gate(self, now: float) -> None:
        gate = self.gate()
        if gate.version != self.gate_version:
            self.gate_version, self.gate_since = gate.version, now
            if gate.holder:
                self.holds.append(gate)

    def gate(self) -> Gate:
        return Gate.read(next(iter(self.objects.get("gate", {}).values()), None))

    def date(self, wall: datetime) -> datetime:
        return wall + self.offset

    def sight(self, wall: datetime, now: float) -> Sight:
        controls = next(iter(self.objects.get("controls", {}).values()), None)
        return Sight(
            gate=self.gate(),
            tickets=tuple(Ticket.read(lease) for lease in self.objects.get("tickets", {}).values()),
            jobs=tuple(self.objects.get("jobs", {}).values()),
            controls=Controls.read(controls),
            date=self.date(wall),
            rules=self.rules,
            gate_seen_for=now - self.gate_since,
            demand=tuple(Demand.read(job) for job in self.objects.get("demand", {}).values()),
            holds=tuple(self.holds),
        )


def finalizers(jobs: dict[str, Object]) -> dict[str, bool]:
    """The finalizers by uid, and whether each has ended."""
    return {job["metadata"]["uid"]: is_terminal(job) for job in jobs.values() if is_finalizer(job)}


def versions(jobs: dict[str, Object]) -> set[tuple[str, str]]:
    """The Jobs that are no reservation, each at its version."""
    metas = (job["metadata"] for job in jobs.values() if role(job) != "reservation")
    return {(meta["uid"], meta["resourceVersion"]) for meta in metas}


def has_moved(before: dict[str, bool], now: dict[str, bool]) -> bool:
    """One has appeared, ended, or gone while it lived; that an ended one is tidied away moves nothing."""
    gone = any(not ended and uid not in now for uid, ended in before.items())
    return gone or any(before.get(uid) != ended for uid, ended in now.items())
