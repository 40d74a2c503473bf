"""The Job that makes a format of a finished search's results: created once, looked at until there is a file."""

from __future__ import annotations

from submits.engine import jobs
from submits.engine.prepare import read_plan
from submits.engine.progress import state_of
from submits.engine.requested import asked, attempt, fail, key, standing
from submits.engine.settings import FILE, Settings
from submits.engine.submit import run_directory
from submits.gates.ports import AlreadyExists, Cluster, NotFound
from submits.work import WorkStore, run_key

WAITS, WORKS = "waiting for a machine", "at work"


def look(cluster: Cluster, store: WorkStore, run_id: str, name: str) -> None:
    """Does what is next for a format that was asked for; may be called at any time and any number of times.

    1. What is made or has failed is left alone.
    2. No Job of this try: it is created.
    3. A Job that has ended without a file has failed: that is said.
    4. Else whether its Pod is at work is written down, for the page.
    """
    chosen = asked(store, run_id, name)
    if standing(store, run_id, chosen).state != "asked":
        return
    plan = read_plan(store, run_id)
    settings = Settings.from_json(store.get(run_key(run_id, FILE)))
    work = run_directory(store, run_id)
    body = jobs.formatting(run_id, name, attempt(store, run_id, name), plan.database, settings, work)
    job_name = body["metadata"]["name"]
    try:
        job = cluster.get("jobs", job_name).object
    except NotFound:
        try:
            cluster.create("jobs", body)
        except AlreadyExists:
            return
        say(store, run_id, name, WAITS)
        return
    state, reason, message = state_of(job)
    if state == "alive":
        say(store, run_id, name, WORKS if (job.get("status") or {}).get("ready") else WAITS)
    elif standing(store, run_id, chosen).state == "asked":
        fail(
            store,
            run_id,
            name,
            f"The Job that makes it has ended without it: {message or reason or 'it left no file'}.",
        )


def say(store: WorkStore, run_id: str, name: str, words: str) -> None:
    store.put(key(run_id, f"{name}.seen"), words.encode())
