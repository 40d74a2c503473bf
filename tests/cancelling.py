"""A search in the embedded cluster that is being cancelled: its Jobs, its row, and a wire to whoever cancels it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from submits import cancel
from submits.cluster import ApiCluster
from submits.engine.outcome import Outcome
from submits.gates import naming
from submits.gates.objects import pin_body, reservation_body
from submits.gates.ports import Object
from submits.models import Submission
from submits.scopes import rules
from submits.states import Status
from tests.gates.trying import body
from tests.gates.wire import Wire, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make

NOW = timezone.now()


def outcome(status: Any) -> Outcome:
    return Outcome(status, queries=4, queries_with_hits=2, hits=9, batches=2, blast="2.12.0+")


@dataclass
class Run:
    """A search in the cluster, with a Job for each of its parts, and its row."""

    server: RunningCluster
    cluster: ApiCluster
    row: Submission
    wire: Wire
    asked: ApiCluster = field(repr=False)

    def job(self, app: str, name: str, *command: str) -> Object:
        """With a command its Pod really runs; else it never has one."""
        made = body(app, self.row.run_id, name)
        if command:
            made["spec"].pop("parallelism")
            container = {"name": "c", "image": self.server.image, "command": [*command]}
            made["spec"]["template"]["spec"]["containers"] = [container]
        return self.cluster.create("jobs", made).object

    def parts(self, *command: str) -> None:
        digest = self.row.run_id[4:16]
        finalizer = self.job("finalizer", naming.finalizer(self.row.run_id), *command)
        for app, name in (("setup", "setup"), ("submit", "submit"), ("blast", "blast-1"), ("blast", "blast-2")):
            self.job(app, f"{name}-{digest}", *command)
        self.cluster.create("jobs", pin_body(self.row.run_id, finalizer))

    def reserve(self, holder: str = "dashboard-1") -> str:
        made = reservation_body(self.row.run_id, holder, 7, rules(), leashed=True)
        self.cluster.create("jobs", made)
        return str(made["metadata"]["name"])

    def step(self) -> Submission:
        self.row = Submission.objects.get(pk=self.row.pk)
        if not self.row.ended:
            cancel.attempt(self.row, self.asked)
        return self.row

    def over(self) -> bool:
        return self.step().ended

    def left(self) -> list[str]:
        jobs = cancel.jobs_of(self.row, self.cluster) + cancel.markers_of(self.row, self.cluster)
        return cancel.names(jobs + cancel.pods_of(self.row, self.cluster))

    def deleted(self) -> list[str]:
        return [words.partition("jobs/")[2] for words in self.wire.log() if words.startswith("DELETE jobs/")]


class Runs:
    def __init__(self, server: RunningCluster, cluster: ApiCluster) -> None:
        self.server, self.cluster = server, cluster

    def __call__(self, status: Status = Status.RUNNING, ask: bool = True, **values: Any) -> Run:
        if status is Status.RUNNING:
            values = {"submitted_at": NOW, "batches": 2, **values}
        row = make(status=status, **values)
        if ask:
            assert cancel.ask(row.key, row.owner.get_username())
        asked, wire = wired(self.server)
        return Run(self.server, self.cluster, row, wire, asked)
