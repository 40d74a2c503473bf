"""What the pages live on: the snapshot a gatekeeper publishes, and the hint that something is new.

The snapshot lies in the database, so pages load without the key-value store. A hint carries a version and nothing
else; one that is lost costs a page at most the seconds until it looks again by itself.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict

from submits import rowclock
from submits.hints import HINTS
from submits.models import Cluster, Snapshot, Submission
from submits.states import Status

STALE_AFTER = timedelta(seconds=10)
UNKNOWN_AFTER = timedelta(seconds=15)


class Lease(TypedDict):
    """Gate A. `free_by` is when it can be taken over at the latest if its holder is dead. Times: ISO 8601, UTC."""

    holder: str | None
    source: str  # "dashboard", "openapi", ... : the part of the holder's name before the "-"
    since: str | None
    renewed: str | None
    free_by: str | None
    run_id: str | None  # the run it is held for, when its holder says so
    leashed: bool


class Place(TypedDict):
    """One place in line, first one first."""

    submission: str  # the submission's key (a dashboard's), or what its party calls it
    run_id: str
    party: str
    since: str
    position: int
    skipped: bool


class Slot(TypedDict):
    """What occupies one place behind door B."""

    key: str
    run_id: str | None
    party: str
    since: str
    what: str  # "announced", "running", "guard" or "unlabelled"
    batches: int
    batches_done: int
    merging: bool
    held_up: NotRequired[str]  # the reason, when its Pods do not get on, and the cluster's words of it
    words: NotRequired[str]


class Stuck(TypedDict):
    """A finalizer that holds a place, or would, and shows no sign of life: shown with its evidence, never removed."""

    name: str
    run_id: str | None
    since: str
    last_change: str
    evidence: str


class Breach(TypedDict):
    """Something that must never happen and did; its kind is one of `gates.monitor`'s."""

    kind: str
    at: str
    evidence: str


class Health(TypedDict):
    """What the gatekeeper knows of what it needs."""

    backend: str  # where the gates are, and why
    note: str  # what that means for those who wait; "" for the usual one
    power: list[str] | None  # what the cluster does not let us do, a sentence each; None: not asked yet
    silence: str | None  # why nothing is known of the cluster; None while it answers
    largest_node: NotRequired[int | None]  # its memory in MiB; None if nobody says


class View(TypedDict):
    """Snapshot.data: everything the board, the small pictures and the JSON are made from."""

    gate: str  # open, A_busy, B_full, unknown
    active: int
    ceiling: int
    lease: Lease
    line: list[Place]
    slots: list[Slot]
    stuck: list[Stuck]
    answered_at: str  # when the cluster last answered
    drained: bool
    breaches: list[Breach]  # of the last hour, newest first
    breach_counts: dict[str, int]  # by kind, since the gatekeeper started
    health: Health
    unchanged: tuple[str, float]  # the gate's version and for how many seconds it has been seen at it, at least


def empty_view(ceiling: int) -> View:
    lease = Lease(holder=None, source="", since=None, renewed=None, free_by=None, run_id=None, leashed=False)
    return View(
        gate="unknown",
        active=0,
        ceiling=ceiling,
        lease=lease,
        line=[],
        slots=[],
        stuck=[],
        answered_at="",
        drained=False,
        breaches=[],
        breach_counts={},
        health=Health(backend="", note="", power=None, silence=None),
        unchanged=("", 0.0),
    )


def group(scope_pk: int) -> str:
    """The channel-layer group of a scope's pages."""
    return f"scope-{scope_pk}"


def hint(scope_pk: int, version: int) -> None:
    """Tell every open page of the scope that there is something new. Never blocks or raises: it runs inside admissions
    and in the gatekeeper's loop, and a lost hint is only a later look."""
    HINTS.give(group(scope_pk), {"type": "live.changed", "version": version})


def say(submission: Submission) -> None:
    """Tell the scope's pages that this row has changed."""
    hint(submission.scope_id, submission.version)


def publish(scope: Cluster, view: View) -> int:
    """Stamp and store the scope's snapshot; the only writer of it. Hints only when something changed."""
    snapshot, _ = Snapshot.objects.get_or_create(scope=scope)
    changed = {**snapshot.data, "answered_at": ""} != {**view, "answered_at": ""}
    snapshot.version += changed
    snapshot.stamped_at = rowclock.now()
    snapshot.data = dict(view)
    snapshot.save()
    if changed:
        hint(scope.pk, snapshot.version)
    return snapshot.version


def read(scope: Cluster) -> tuple[View, datetime | None, int]:
    """The last published view, when it was stamped (None: never), and its version."""
    snapshot = Snapshot.objects.filter(scope=scope).first()
    if snapshot is None or not snapshot.data:
        return empty_view(0), None, 0
    data: Any = {**empty_view(0), **snapshot.data}  # an older version's snapshot lacks what is new
    return data, snapshot.stamped_at, snapshot.version


class Standing(TypedDict):
    """Where one search stands, named as in every other door's answers; what does not apply is None."""

    gate: str | None
    active_submissions: str | None
    lease_holder: str | None
    wait_elapsed: int | None
    position: int | None


def gate_now(view: View, stamped_at: datetime | None, now: datetime) -> str:
    """The gate as it may be shown: `unknown` when the cluster, or its gatekeeper, has been silent for 15 s."""
    return "unknown" if stamped_at is None or now - stamped_at > UNKNOWN_AFTER else view["gate"]


def standing(submission: Submission, view: View, stamped_at: datetime | None, now: datetime) -> Standing:
    """A search's place by the last snapshot. Pure: the same answer for page, JSON and log line."""
    if submission.status not in (Status.WAITING, Status.SUBMITTING):
        return Standing(gate=None, active_submissions=None, lease_holder=None, wait_elapsed=None, position=None)
    return Standing(
        gate=gate_now(view, stamped_at, now),
        active_submissions=f"{view['active']}/{view['ceiling']}",
        lease_holder=view["lease"]["holder"],
        wait_elapsed=submission.wait_elapsed(now),
        position=next((p["position"] for p in view["line"] if p["submission"] == submission.key), None),
    )


def is_stale(stamped_at: datetime | None, now: datetime) -> bool:
    return stamped_at is None or now - stamped_at > STALE_AFTER
