"""The submit itself: what runs while the gate is held. Two Jobs, the finalizer first, and out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from submits.blast.plan import Plan
from submits.engine import jobs
from submits.engine.errors import EngineError, Exit, Interrupted
from submits.engine.outcome import read_outcome
from submits.engine.prepare import read_plan
from submits.engine.settings import FILE, Settings
from submits.engine.tries import create
from submits.gates import naming
from submits.gates.ports import Cluster, ClusterError, Unanswered
from submits.work import Missing, WorkStore, run_key


def submit(cluster: Cluster, store: WorkStore, run_id: str, settings: Settings) -> None:
    """Creates the run's finalizer, then its submit Job. May be called again for the same run.

    1. The plan must be there: nothing is created for a run that was not prepared, or that has its outcome.
    2. The settings are kept beside the plan, for the Pods.
    3. The finalizer: from here on every gate counts the run.
    4. The submit Job, whose Pod creates the batches' Jobs.
    5. If 4 fails or is interrupted, what this call made is deleted again, the finalizer last and by uid; if that fails
       too the finalizer stays and shows that the run is half made. If a request of this call had no answer the error
       says so by its status: what it asked for may still come about.
    """
    plan = plan_to_submit(store, run_id)
    store.put(run_key(run_id, FILE), settings.to_json())
    work = run_directory(store, run_id)
    with doubted() as unanswered:
        made, ours = create(cluster, jobs.finalizer(run_id, plan.batches, settings, work), unanswered)
        try:
            create(cluster, jobs.submit(run_id, plan.batches, settings, work), unanswered)
        except (ClusterError, EngineError, Interrupted):
            if ours and not _undo(cluster, run_id, made["metadata"]["uid"]):
                unanswered.append(jobs.Names(run_id).finalizer)
            raise


def plan_to_submit(store: WorkStore, run_id: str) -> Plan:
    """Raises EngineError for a run that was not prepared, or that has its outcome."""
    try:
        plan = read_plan(store, run_id)
    except Missing:
        raise EngineError(Exit.INPUT, f"{run_id} was not prepared: it has no plan in {store.url}") from None
    if read_outcome(store, run_id) is not None:
        raise EngineError(Exit.INPUT, f"{run_id} has ended already")
    return plan


@contextmanager
def doubted() -> Iterator[list[str]]:
    """For the names of Jobs of which a request had no answer: an error then says so by its status."""
    unanswered: list[str] = []
    try:
        yield unanswered
    except (ClusterError, EngineError) as error:
        if not unanswered:
            raise
        told = f"{error}; the request for {unanswered[0]} had no answer and may still arrive"
        raise EngineError(Exit.IN_DOUBT, told) from error


def run_directory(store: WorkStore, run_id: str) -> Path | None:
    """The one directory of the work store that a run's Pods see; None where they fetch and bring each file."""
    return store.directory(run_key(run_id))


def _undo(cluster: Cluster, run_id: str, finalizer: str) -> bool:
    """False when a request had no answer: what was asked for may still come about."""
    try:
        for job in cluster.list("jobs", labels=f"{naming.ELB_JOB_ID}={run_id},app in (submit,blast)").items:
            cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
        if not cluster.list("jobs", labels=f"{naming.ELB_JOB_ID}={run_id},app in (submit,blast)").items:
            cluster.delete("jobs", jobs.Names(run_id).finalizer, finalizer)
    except ClusterError as error:
        return not isinstance(error, Unanswered)
    return True
