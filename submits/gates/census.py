"""What an admission asks the cluster about Jobs: is my run there already, and how many places are taken.

Every question goes through `ask`, which renews the gate in between and repeats what stays unanswered for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from submits.gates import naming
from submits.gates.counting import id_of, is_counted, is_finalizer, is_work, live, occupied, phantoms, role
from submits.gates.objects import Controls, labels, notes_of
from submits.gates.ports import Cluster, NotFound, Object, Rules

T = TypeVar("T")
AT_ONCE = 50  # run ids in one selector: some 2,000 characters of an address


class Ask(Protocol):
    def __call__(self, read: Callable[[], T]) -> T: ...


@dataclass(frozen=True)
class Traces:
    """What the cluster has of one run. With a finalizer, ended or not, it was submitted, by whomever."""

    finalizer: bool
    work: tuple[Object, ...]  # its submit and blast Jobs, ended ones too

    @classmethod
    def among(cls, jobs: tuple[Object, ...]) -> Traces:
        return cls(any(map(is_finalizer, jobs)), tuple(filter(is_work, jobs)))


@dataclass(frozen=True)
class Count:
    places: int
    controls: Controls
    earlier: bool  # a reservation of an earlier attempt for this run stands: its requests may still be on their way


def read_controls(cluster: Cluster) -> Controls:
    try:
        return Controls.read(cluster.get("configmaps", naming.CONTROLS).object)
    except NotFound:
        return Controls.read(None)


def traces_of(cluster: Cluster, run_id: str) -> Traces:
    """One LIST by id: it finds what a GET of the finalizer by name finds, and tells left-over Jobs besides."""
    return Traces.among(cluster.list("jobs", naming.of_run(run_id)).items)


class Census:
    def __init__(self, cluster: Cluster, ask: Ask, rules: Rules, run_id: str) -> None:
        self.cluster, self.ask, self.rules, self.run_id = cluster, ask, rules, run_id

    def has_finalizer(self) -> bool:
        """Whether the run has a finalizer: one GET by name when it has, and a LIST by id only when that finds none."""
        try:
            found = self.ask(lambda: self.cluster.get("jobs", naming.finalizer(self.run_id))).object
            if labels(found).get(naming.ELB_JOB_ID) == self.run_id:
                return True
        except NotFound:
            pass
        return self.traces().finalizer

    def traces(self) -> Traces:
        return self.ask(lambda: traces_of(self.cluster, self.run_id))

    def count(self, reservation: str) -> Count:
        """Places taken by other runs, and the controls, both read freshly, once. Raises ClusterError.

        `reservation`: the name of this attempt's own. The LIST leaves out what succeeded. A finalizer that looks like
        a phantom in it is none if an ended Job of its id has changed since: so those are asked for too, and only then.
        """
        controls = read_controls(self.cluster)
        grace = self.rules.knobs.finalizer_grace
        listing = self.cluster.list("jobs", naming.COUNTED, naming.NOT_SUCCEEDED)
        jobs = list(listing.items)
        seen = {job["metadata"]["uid"] for job in jobs}
        doubtful = sorted({id_of(job) for job in phantoms(jobs, listing.date, grace)})
        for some in (doubtful[at : at + AT_ONCE] for at in range(0, len(doubtful), AT_ONCE)):
            of_these = self.ask(partial(self.cluster.list, "jobs", naming.of_runs(some))).items
            jobs += [other for other in of_these if is_counted(other) and other["metadata"]["uid"] not in seen]
        places = occupied(jobs, listing.date, grace, leaving_out=naming.parent(self.run_id))
        earlier = any(
            role(job) == "reservation"
            and notes_of(job).get(naming.FOR) == self.run_id
            and job["metadata"]["name"] != reservation
            for job in live(jobs)
        )
        return Count(len(places), controls, earlier)
