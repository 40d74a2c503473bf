"""A gate and Jobs that change, with every change told to a monitor as a watch would tell it."""

from __future__ import annotations

from itertools import count
from typing import Any

from submits.gates.monitor import Monitor
from submits.gates.ports import Change, Listing, Object
from submits.gates.runs import Runs
from tests.gates.made import NOW, RULES, job, lease, reservation, sight


class World:
    def __init__(self, *jobs: Object, gate: Object | None = None) -> None:
        self.monitor = Monitor(RULES)
        self.revisions = count(100)
        self.jobs = Runs()
        self.gate: Object | None = None
        self.now = 0.0
        for one in jobs:
            self.put(one)
        if gate is not None:
            self.gate = self.written(gate)
        self.list_gate()
        self.list_jobs()
        assert self.look() == []

    def written(self, obj: Object) -> Object:
        meta = {"uid": obj["metadata"]["name"], **obj["metadata"], "resourceVersion": str(next(self.revisions))}
        return {"status": {}, **obj, "metadata": meta}

    def put(self, obj: Object) -> Object:
        made = self.written(obj)
        self.jobs.put(made)
        return made

    def hear(self, source: str, what: Listing | Change) -> None:
        self.monitor.hear(source, what, self.jobs, NOW, self.now)

    def list_gate(self) -> None:
        self.hear("gate", Listing((self.gate,) if self.gate else (), str(next(self.revisions)), NOW))

    def list_jobs(self) -> None:
        self.hear("jobs", Listing(tuple(self.jobs.named.values()), str(next(self.revisions)), NOW))

    def hold(self, gate: Object | None, told: bool = True) -> None:
        kind = "DELETED" if gate is None else "MODIFIED"
        changed = self.written(gate or self.gate or lease())
        self.gate = None if gate is None else changed
        if told:
            self.hear("gate", Change(kind, changed))

    def add(self, obj: Object, told: bool = True) -> None:
        made = self.put(obj)
        if told:
            self.hear("jobs", Change("ADDED", made))

    def drop(self, obj: Object) -> None:
        gone = self.jobs.drop(obj["metadata"]["name"])
        assert gone is not None
        self.hear("jobs", Change("DELETED", self.written(gone)))

    def ask(self) -> None:
        self.monitor.asked(self.gate["metadata"]["resourceVersion"] if self.gate else "")

    def look(self, after: float = 1.0, **seen: Any) -> list[str]:
        self.now += after
        found = self.monitor.look(sight(jobs=list(self.jobs.acting()), gate=self.gate, **seen), self.now)
        return [breach.kind for breach in found]

    def admit(self, run: str, *work: Object) -> None:
        """As an admission of ours does it."""
        place = reservation(run, f"dashboard-{run}")
        self.hold(lease(f"dashboard-{run}", leashed=True, run=run))
        self.add(place)
        for one in work or (job("finalizer", run, active=1), job("submit", run, active=1)):
            self.add(one)
        self.drop(place)
        self.hold(lease())


def running(number: int) -> list[Object]:
    return [job("finalizer", f"job-{n}", active=1) for n in range(number)]
