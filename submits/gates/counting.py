"""Gate B: which searches occupy a place, counted from Jobs and from nothing else (PROTOCOL: counting, phantoms)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from submits.gates import naming
from submits.gates.objects import labels, last_written, notes_of
from submits.gates.ports import Object


def is_terminal(job: Object) -> bool:
    """Ended for good. A bare `failed > 0` still runs; `Suspended` and `SuccessCriteriaMet` are not terminal."""
    status = job.get("status") or {}
    if (status.get("succeeded") or 0) > 0 or status.get("completionTime"):
        return True
    # By type, not by position: newer servers put SuccessCriteriaMet first.
    conditions = status.get("conditions") or []
    return any(c.get("type") in ("Complete", "Failed") and c.get("status") == "True" for c in conditions)


def role(job: Object) -> str:
    return labels(job).get(naming.ROLE, "")


def is_marker(job: Object) -> bool:
    """A reservation or a guard: holds a place for the run it names, and never gets a Pod."""
    return role(job) in ("reservation", "guard")


def is_counted(job: Object) -> bool:
    """Of the kinds that are watched and counted; a run has others besides."""
    return labels(job).get(naming.APP) in ("finalizer", "submit", "blast")


def is_finalizer(job: Object) -> bool:
    return labels(job).get(naming.APP) == "finalizer" and not is_marker(job)


def is_work(job: Object) -> bool:
    """A submit or blast Job that does something: no pin, no guard."""
    return labels(job).get(naming.APP) in ("submit", "blast") and role(job) == ""


def id_of(job: Object) -> str:
    """The one id a Job belongs to, a split child's own; "" if it names none."""
    return notes_of(job).get(naming.FOR, "") if is_marker(job) else labels(job).get(naming.ELB_JOB_ID, "")


def run_of(job: Object) -> str:
    """Its id up to the first dot: a split's children share their parent's place."""
    return naming.parent(id_of(job))


def key_of(job: Object) -> str:
    """What is counted once: the run; a Job that names none is a search of its own."""
    return run_of(job) or job["metadata"]["uid"]


def live(jobs: Iterable[Object]) -> list[Object]:
    """A set deletionTimestamp still counts: its Pods may still run."""
    return [job for job in jobs if role(job) != "pin" and not is_terminal(job)]


def idle_finalizers(jobs: Iterable[Object]) -> list[Object]:
    """Labelled finalizers with no active Pod and no live submit or blast Job of their id: phantoms, if old enough."""
    living = live(jobs)
    busy = {id_of(job) for job in living if is_work(job)}
    return [
        job
        for job in living
        if is_finalizer(job) and id_of(job) and id_of(job) not in busy and not (job.get("status") or {}).get("active")
    ]


def last_change(run_id: str, jobs: Iterable[Object]) -> datetime | None:
    """The newest write to any Job of an id, ended ones included and pins not, by the API server's clock."""
    of_id = (job for job in jobs if id_of(job) == run_id and role(job) != "pin")
    return max((when for job in of_id if (when := last_written(job))), default=None)


def phantoms(jobs: list[Object], date: datetime, grace: float) -> list[Object]:
    """Finalizers that hold no place because nothing has happened for `grace` seconds.

    `jobs` must hold *all* counted Jobs of an idle finalizer's id, ended ones too: then every process gets the same
    answer. Of what it does hold one recent change is proof enough that a finalizer is none.
    """
    found = []
    for job in idle_finalizers(jobs):
        changed = last_change(id_of(job), jobs)
        if changed is not None and (date - changed).total_seconds() > grace:
            found.append(job)
    return found


def occupied(jobs: list[Object], date: datetime, grace: float, leaving_out: str = "") -> dict[str, list[Object]]:
    """Key → its live Jobs, phantoms and the run `leaving_out` apart. Its length is what the ceiling is held against."""
    gone = {id(job) for job in phantoms(jobs, date, grace)}
    places: dict[str, list[Object]] = {}
    for job in live(jobs):
        if id(job) not in gone and key_of(job) != leaving_out:
            places.setdefault(key_of(job), []).append(job)
    return places
