"""The Job that looks at a volume of databases which only the cluster sees: one at a time, looked at until it ends."""

from __future__ import annotations

from submits.blast.report import Report
from submits.engine import jobs
from submits.engine.diagnosis import held_up
from submits.engine.progress import state_of
from submits.engine.scanning import DIRECTORY, SCANNED, keep, last, troubled
from submits.engine.settings import Settings
from submits.gates.ports import AlreadyExists, Cluster, NotFound
from submits.states import Reason
from submits.work import WorkStore

WAITS = "The Job that looks at the databases cannot start"
FAILED = "The Job that looks at the databases has failed"


def look(cluster: Cluster, store: WorkStore, settings: Settings, *, begin: bool) -> Report:
    """Does what is next and returns what is known by then; may be called at any time and any number of times.

    1. No Job, and a look is due (`begin`): it is created.
    2. While its Pod cannot start, why not is the place's trouble. That it is slow to start is none: it goes on by
       itself, and a Job that never starts fails by its deadline.
    3. A Job that has ended well has left a report, which counts from now on; one that has failed has left the reason.
       Either way it is taken away, so that the next can come.
    Raises ClusterError; OSError of the work store.
    """
    place, before = settings.database_root, last(store)
    directory = store.directory(DIRECTORY)
    body = jobs.scan(settings, directory)
    name = body["metadata"]["name"]
    try:
        job = cluster.get("jobs", name).object
    except NotFound:
        if begin:
            create(cluster, store, body)
        return before
    state, reason, message = state_of(job)
    if state == "alive":
        pods = cluster.list("pods", f"job-name={name}")
        held = held_up(pods.items, pods.date)
        if held is None or held.reason is Reason.START_DELAYED:
            return before
        return keep(store, troubled(before, place, f"{WAITS}: {held.words}"), before)
    found = last(store, SCANNED)
    if state == "failed":
        found = troubled(before, place, f"{FAILED}: {message or reason}.")
    elif found.place != place:
        found = troubled(before, place, f"{FAILED}: it left no report.")
    keep(store, found, before)
    cluster.delete("jobs", name, job["metadata"]["uid"])
    return found


def create(cluster: Cluster, store: WorkStore, body: jobs.Body) -> None:
    if (directory := store.directory(DIRECTORY)) is not None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # its Pod mounts it
    try:
        cluster.create("jobs", body)
    except AlreadyExists:
        return
