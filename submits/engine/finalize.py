"""The finalizer's Pod: waits for the batches, merges them, writes the outcome."""

from __future__ import annotations

import subprocess
import time

from submits.blast.plan import Plan
from submits.blast.programs import executable
from submits.blast.table import BadRow
from submits.engine import jobs, words
from submits.engine.errors import EngineError, Exit
from submits.engine.following import WATCH, follow
from submits.engine.merge import merge
from submits.engine.outcome import Outcome, read_outcome, write_outcome
from submits.engine.prepare import read_plan
from submits.engine.progress import Failed, Progress, retried, state_of
from submits.engine.settings import FILE, Settings
from submits.engine.submit import run_directory
from submits.engine.tries import create
from submits.gates import naming
from submits.gates.counting import is_work
from submits.gates.ports import Cluster, ClusterError
from submits.states import Reason
from submits.work import Missing, WorkStore, run_key


def finalize(cluster: Cluster, store: WorkStore, run_id: str) -> Exit:
    """OK when the search has succeeded, UNKNOWN when it has failed; either way with its outcome written.

    1. An outcome that stands decides; nothing is done again.
    2. It follows the run's Jobs until every batch is complete or one thing happened after which that cannot be: a batch
       failed, a Job was taken away, the batches were never started. A submit Job that a submit which was cut off could
       not make is made.
    3. All complete: merge in batch order, then the outcome, last.
    4. Failed: the outcome, then the remaining batches are deleted, so that nothing runs on for a lost search, and its
       own further tries are taken away, so that its Job fails now and frees the place it holds.

    Guarantee: started again at any point, it ends with the same outcome. Limit: when the cluster is gone for 10 minutes
    it raises, without an outcome, and the Job's own retries go on from there.
    """
    standing = read_outcome(store, run_id)
    if standing is None:
        plan = read_plan(store, run_id)
        standing = write_outcome(store, run_id, _outcome(cluster, store, plan))
    if standing.status == "succeeded":
        return Exit.OK
    give_up(cluster, run_id)
    return Exit.UNKNOWN


def give_up(cluster: Cluster, run_id: str) -> None:
    """Deletes what a failed run still has running and lets its finalizer fail at the next exit; needs no success."""
    try:
        for job in cluster.list("jobs", labels=f"{naming.ELB_JOB_ID}={run_id},app in (submit,blast)").items:
            if is_work(job) and state_of(job)[0] == "alive":
                cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
        replace = {"op": "replace", "path": "/spec/backoffLimit", "value": 0}
        cluster.patch("jobs", jobs.Names(run_id).finalizer, [replace])
    except ClusterError:
        return


def _outcome(cluster: Cluster, store: WorkStore, plan: Plan) -> Outcome:
    failed = wait(cluster, store, plan)
    version = blast_version(plan.program)
    many = len(plan.queries)
    if failed is None:
        try:
            summary = merge(store, plan)
        except (Missing, BadRow) as error:
            sentence = "The search failed: a batch was done but its table is not whole."
            damaged = Reason.RESULTS_DAMAGED
            return Outcome("failed", many, 0, 0, plan.batches, version, sentence, str(error), damaged)
        return Outcome(
            "succeeded", many, summary.queries_with_hits, summary.hits, plan.batches, version,
            detail=words.warnings(store, plan),
        )  # fmt: skip
    reason, message, detail = words.explain(cluster, store, plan, failed)
    return Outcome("failed", many, 0, 0, plan.batches, version, message, detail, reason)


def wait(cluster: Cluster, store: WorkStore, plan: Plan) -> Failed | None:
    """Follows the run's Jobs until every batch is complete (None) or one thing says that they cannot be.

    A submit that was cut off between its two Jobs has left a run without its submit Job: it is made here, once, when
    it has been missing for so long that nobody is about to make it or to take the run back.
    """
    settings = Settings.from_json(store.get(run_key(plan.run_id, FILE)))
    progress = Progress(plan.run_id, plan.batches)
    names = jobs.Names(plan.run_id)
    started, made = time.monotonic(), False
    for found in follow(cluster, plan.run_id, min(WATCH, max(1, settings.patience // 3))):
        waited = time.monotonic() - started
        if not made and not progress.seen and names.submit not in found and waited >= settings.patience / 3:
            made = True
            make_submit(cluster, store, plan, settings)
        failed = progress.look(found, patient=waited < settings.patience)
        if failed is not None or progress.complete:
            return failed
        for batch in sorted(progress.seen - progress.done):
            if retried(found.get(names.blast(batch), {})) and (failed := words.settled(store, plan.run_id, batch)):
                return failed
    raise AssertionError("unreachable")


def make_submit(cluster: Cluster, store: WorkStore, plan: Plan, settings: Settings) -> None:
    """The Job that starts the batches. What keeps it from being made is said when the patience is over."""
    body = jobs.submit(plan.run_id, plan.batches, settings, run_directory(store, plan.run_id))
    try:
        create(cluster, body)
    except (ClusterError, EngineError) as error:
        print(f"coordui-engine: the submit Job of {plan.run_id} cannot be made: {error}", flush=True)


def blast_version(program: str) -> str:
    """The version of the program that searched, as "2.12.0+"; "" when it does not say."""
    try:
        done = subprocess.run(
            [executable(program), "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition(":")[2].strip().split("\n")[0].strip()
