"""What an admission asks the cluster about Jobs: is my run there already, and how many places are taken.

Every question goes through `ask`, which renews the gate in between and repeats what stays unanswered for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from submits.gates import naming
from submits.gates.counting import idle_finalizers, is_finalizer, occupied, role, run_of
from submits.gates.objects import Controls, labels
from submits.gates.ports import Cluster, NotFound, Object, Rules

T = TypeVar("T")


class Ask(Protocol):
    def __call__(self, read: Callable[[], T]) -> T: ...


def read_controls(cluster: Cluster) -> Controls:
    try:
        return Controls.read(cluster.get("configmaps", naming.CONTROLS).object)
    except NotFound:
        return Controls.read(None)


class Census:
    def __init__(self, cluster: Cluster, ask: Ask, rules: Rules, run_id: str) -> None:
        self.cluster, self.ask, self.rules, self.run_id = cluster, ask, rules, run_id

    def has_finalizer(self) -> bool:
        """Whether the run has a finalizer, ended or not: then it was submitted before, by whomever."""
        try:
            found = self.ask(lambda: self.cluster.get("jobs", naming.finalizer(self.run_id))).object
            if labels(found).get(naming.ELB_JOB_ID) == self.run_id:
                return True
        except NotFound:
            pass
        return any(is_finalizer(job) for job in self.jobs_of(self.run_id))

    def jobs_of(self, run_id: str) -> tuple[Object, ...]:
        return self.ask(lambda: self.cluster.list("jobs", f"{naming.ELB_JOB_ID}={run_id}")).items

    def left_over(self) -> list[Object] | None:
        """The run's submit and blast Jobs if it has no finalizer; None if it has one."""
        own = [job for job in self.jobs_of(self.run_id) if role(job) not in ("pin", "guard")]
        return None if any(is_finalizer(job) for job in own) else own

    def count(self) -> tuple[int, Controls]:
        """Places taken by other runs, and the controls, both read freshly, once. Raises ClusterError.

        The LIST leaves out what succeeded; whether an idle finalizer is a phantom is told by all Jobs of its run.
        """
        controls = read_controls(self.cluster)
        listing = self.cluster.list("jobs", naming.COUNTED, naming.NOT_SUCCEEDED)
        jobs = list(listing.items)
        for job in idle_finalizers(jobs):
            seen = {known["metadata"]["uid"] for known in jobs}
            jobs += [other for other in self.jobs_of(run_of(job)) if other["metadata"]["uid"] not in seen]
        grace = self.rules.knobs.finalizer_grace
        return len(occupied(jobs, listing.date, grace, leaving_out=self.run_id)), controls
