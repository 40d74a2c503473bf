"""The life of Jobs, as a Job controller, a node and the Pods of ElasticBLAST make it. Nobody's code under test.

A submit Job's Pod creates the batch and ends; a batch runs and ends; the finalizer merges when no batch is left, and
ends. A Job past its deadline fails, and goes when its `ttlSecondsAfterFinished` is 0. A marker never gets a Pod.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from coordui.onebox.cluster.authors import Author
from coordui.onebox.cluster.inprocess import LocalCluster
from coordui.onebox.cluster.storage.resources import JOBS
from coordui.onebox.cluster.storage.selectors import parse
from coordui.onebox.cluster.storage.store import Event
from submits.gates.ports import Object
from tests.gates.simulation.clockwork import Clockwork
from tests.gates.trying import body

PATH = "/apis/batch/v1/namespaces/default/jobs"
CONTROLLER = Author("kube-controller-manager", "Update", "status")
GIVES_UP = 120.0  # seconds a finalizer waits for the first batch


@dataclass(frozen=True)
class Pace:
    """How long one run's parts take, in seconds."""

    submit: float
    batch: float
    merge: float


def labels(job: Object) -> dict[str, str]:
    return job["metadata"].get("labels") or {}


class JobLife:
    def __init__(self, clockwork: Clockwork, server: LocalCluster, merges: tuple[float, ...]) -> None:
        self.clockwork, self.server, self.merges = clockwork, server, merges
        self.paces: dict[str, Pace] = {}
        server.core.store.listeners.append(self.heard)

    def pace(self, run: str) -> Pace:
        if run not in self.paces:
            chance = self.clockwork.chance
            self.paces[run] = Pace(chance.uniform(0.5, 3), chance.uniform(3, 30), chance.choice(self.merges))
        return self.paces[run]

    def heard(self, event: Event) -> None:
        if event.resource is not JOBS or event.type != "ADDED":
            return
        job = event.object
        name, uid, run = event.name, job["metadata"]["uid"], labels(job).get("elb-job-id", "")
        deadline = job["spec"].get("activeDeadlineSeconds")
        after = self.clockwork.after
        if deadline:
            after(deadline + 1, lambda: self.overdue(name, uid))
        if labels(job).get("coordui/role"):
            return
        pace = self.pace(run)
        match labels(job)["app"]:
            case "submit":
                after(pace.submit, lambda: self.launched(name, uid, run))
            case "blast":
                after(pace.batch, lambda: self.end(name, uid))
            case "finalizer":
                after(0.2, lambda: self.status(name, uid, {"active": 1}))
                after(GIVES_UP, lambda: self.give_up(name, uid, run))
                after(pace.submit + pace.batch + pace.merge, lambda: self.merged(name, uid, run, pace))

    def now(self, name: str, uid: str) -> Object | None:
        found = self.server.core.store.get(JOBS, "default", name)
        return found if found is not None and found["metadata"]["uid"] == uid else None

    def status(self, name: str, uid: str, status: dict[str, Any]) -> None:
        job = self.now(name, uid)
        if job is None or job["status"].get("conditions"):
            return
        kept = {field: value for field, value in job["status"].items() if field != "active"}
        self.server.core.registry.amend(JOBS, job, {**job, "status": kept | status}, CONTROLLER)

    def end(self, name: str, uid: str, how: str = "Complete") -> None:
        at = self.clockwork.date().strftime("%Y-%m-%dT%H:%M:%SZ")
        first = "SuccessCriteriaMet" if how == "Complete" else "FailureTarget"
        conditions = [
            {"type": kind, "status": "True", "reason": how, "lastTransitionTime": at, "lastProbeTime": at}
            for kind in (first, how)
        ]
        done: dict[str, Any] = {"succeeded": 1, "completionTime": at} if how == "Complete" else {"failed": 1}
        self.status(name, uid, {"conditions": conditions, "startTime": at, **done})

    def launched(self, name: str, uid: str, run: str) -> None:
        """The submit Job's Pod: it makes the batch, unless its run has been taken back meanwhile."""
        if self.now(name, uid) is None:
            return
        if any(labels(job)["app"] == "finalizer" for job in self.of_run(run)):
            self.server.call("POST", PATH, body=body("blast", run, f"{run}-b0"))
        self.end(name, uid)

    def merged(self, name: str, uid: str, run: str, pace: Pace) -> None:
        """The finalizer's Pod: it ends when no batch is left."""
        if self.now(name, uid) is None:
            return
        batches = self.batches(run)
        if batches and all(one["status"].get("succeeded") for one in batches):
            self.end(name, uid)
        else:
            self.clockwork.after(pace.merge, lambda: self.merged(name, uid, run, pace))

    def give_up(self, name: str, uid: str, run: str) -> None:
        if not self.batches(run):
            self.end(name, uid, "Failed")

    def batches(self, run: str) -> list[Object]:
        return [one for one in self.of_run(run) if labels(one)["app"] == "blast"]

    def overdue(self, name: str, uid: str) -> None:
        job = self.now(name, uid)
        if job is None:
            return
        left = job["spec"].get("activeDeadlineSeconds", 0) + 1 - self.age(job)
        if left > 0:  # it has been prolonged
            self.clockwork.after(left, lambda: self.overdue(name, uid))
            return
        self.end(name, uid, "Failed")
        if job["spec"].get("ttlSecondsAfterFinished") == 0:
            self.server.call("DELETE", f"{PATH}/{name}", body={"propagationPolicy": "Background"})

    def age(self, job: Object) -> float:
        return (self.clockwork.date() - datetime.fromisoformat(job["metadata"]["creationTimestamp"])).total_seconds()

    def of_run(self, run: str) -> list[Object]:
        rows = self.server.core.store.select(JOBS, "default", parse(JOBS, f"elb-job-id={run}", ""))
        return [row.object for row in rows if not labels(row.object).get("coordui/role")]
