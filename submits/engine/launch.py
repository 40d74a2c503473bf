"""The submit Job's Pod: creates the batches' Jobs, one each, and ends when every one of them exists."""

from __future__ import annotations

from submits.engine import jobs
from submits.engine.errors import EngineError, Exit
from submits.engine.outcome import read_outcome
from submits.engine.prepare import read_plan
from submits.engine.settings import FILE, Settings
from submits.engine.submit import run_directory
from submits.engine.tries import create
from submits.gates.ports import Cluster, NotFound
from submits.work import WorkStore, run_key

WORDS = "launch.txt"


def launch(cluster: Cluster, store: WorkStore, run_id: str) -> int:
    """Creates what is missing and returns how many batches there are; may be called again at any point.

    A run that has its outcome is left alone: its finalizer has given up on it, or is done. So is one without a
    finalizer, which a submit that failed half-way has taken back.
    """
    try:
        cluster.get("jobs", jobs.Names(run_id).finalizer)
    except NotFound:
        raise EngineError(Exit.CLUSTER, f"{run_id} has no finalizer: its submit was taken back") from None
    plan = read_plan(store, run_id)
    settings = Settings.from_json(store.get(run_key(run_id, FILE)))
    work = run_directory(store, run_id)
    for batch in range(1, plan.batches + 1):
        if read_outcome(store, run_id) is not None:
            break
        create(cluster, jobs.blast(run_id, batch, plan.database, settings, work))
    return plan.batches


def keep_words(store: WorkStore, run_id: str, words: str) -> None:
    """Why launching failed, for the finalizer to repeat."""
    store.put(run_key(run_id, WORDS), words.encode("utf-8", "replace"))
