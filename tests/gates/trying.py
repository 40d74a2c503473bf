"""One try at the gates of a real API server: a submitter, the submit it runs, and the world it meets."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.admission import admit
from submits.gates.objects import Unchanged, ticket_body
from submits.gates.ports import Knobs, Object, Rules, Times
from submits.gates.verdicts import Means, Run, Verdict
from submits.states import Phase
from tests.gates.made import NOW

SCALE = 0.02  # heartbeats every 0.2 s, the leash 0.8 s, quiet 0.1 s after an exit and 1.2 s after a kill


def body(app: str, run: str | None, name: str) -> Object:
    labels = {"app": app} | ({naming.ELB_JOB_ID: run} if run else {})
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["sleep", "300"]}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {"parallelism": 0, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }


class FakeSubmit:
    """A submit whose doings a test chooses; what it is fed and whether it was killed is kept. (The real one is
    tested as a process, on its leash, elsewhere.)"""

    leashed = True

    def __init__(self, does: Callable[[str], Any] | None = None, code: int = 0, lasts: float = 0) -> None:
        self.does, self.code, self.lasts = does, code, lasts
        self.started: list[str] = []
        self.fed: list[float] = []
        self.killed = False

    def start(self, run_id: str, sent: float) -> None:
        self.fed.append(sent)
        self.started.append(run_id)
        self.end = time.monotonic() + self.lasts
        if self.does:
            self.does(run_id)

    def poll(self, seconds: float) -> int | None:
        if time.monotonic() >= self.end:
            return self.code
        time.sleep(min(0.02, seconds))
        return None

    def feed(self, sent: float) -> None:
        self.fed.append(sent)

    def kill(self, grace: float = 0.0) -> None:
        self.killed, self.grace = True, grace


class Try:
    """One try by one submitter, and what it told on its way."""

    def __init__(self, cluster: ApiCluster, number: int = 1, **knobs: Any) -> None:
        self.cluster = cluster
        self.what = Run(f"s{number}", naming.run_id(f"s{number}"), "dashboard")
        self.rules = Rules(Knobs(**knobs), Times().scaled(SCALE))
        self.submit = FakeSubmit(self.finalizer)
        self.steps: list[Phase] = []

    def finalizer(self, run_id: str) -> None:
        self.cluster.create("jobs", body("finalizer", run_id, naming.finalizer(run_id)))

    def report(self, phase: Phase, **facts: Any) -> None:
        self.steps.append(phase)

    def stand_in_line(self) -> None:
        self.cluster.create("leases", ticket_body(self.what.submission, self.what.run_id, "dashboard", NOW))

    def admit(
        self, submit: FakeSubmit | None = None, report: Any = None, unchanged: Unchanged | None = None
    ) -> Verdict:
        self.submit = submit or FakeSubmit(self.finalizer)
        return admit(self.what, self.means(report, unchanged))

    def means(self, report: Any = None, unchanged: Unchanged | None = None) -> Means:
        """With the submit of the last try."""
        report, unchanged = report or self.report, unchanged or Unchanged()
        return Means(self.cluster, SystemClock(), self.submit, self.rules, report, unchanged)

    def jobs(self) -> list[str]:
        return sorted(job["metadata"]["name"] for job in self.cluster.list("jobs").items)

    def holder(self) -> str:
        return str(self.gate()["spec"].get("holderIdentity", ""))

    def gate(self) -> Object:
        return self.cluster.get("leases", "elb-blast-submit-default").object

    def has_ticket(self) -> bool:
        return bool(self.cluster.list("leases", naming.TICKETS).items)


def take_gate(one: Try, holder: str = "openapi-1", **spec: Any) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "elb-blast-submit-default"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 900, **spec},
    }
    one.cluster.create("leases", lease)
