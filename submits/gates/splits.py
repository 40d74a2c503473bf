"""A split search: it stands in line once and holds one place; its children go through Gate A one at a time.

The parent's reservation is the place. It has the usual deadline, which is put off every five minutes while children
are to come, and before each child's submit, and it is deleted when the last has been submitted or given up: from then
on the children's own Jobs hold the place, under the parent's key.

The guarantee: no child writes while the parent's reservation may be gone, so the ceiling holds when a parent dies and
comes back. The limits: a dead parent's children go on, and its place is free `Times.reservation` after its last patch
or when its last child ends, whichever is later; an older door counts each child.

It is for a door that makes one search of several submits, as an API service in the cluster may. The dashboard calls
none of it: whatever batches a search of its own has, they are one submit's, and one finalizer's. What it shows and
mends of others' splits is in `line`, `repair` and `counting`.

A caller does, for one split, in this order: `place`; for each child `admit_child`, with `wait_for_gate` when it was
SHUT out, again when `child_may` says so, until `over`; `put_off` whenever it is `due`; `leave_place`. When a place is
gone it does `place` again, before any other child.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime

from submits.gates import naming
from submits.gates.admission import hold_gate, prove
from submits.gates.announcing import announce, count, was_submitted
from submits.gates.attempt import Attempt
from submits.gates.counting import is_terminal
from submits.gates.hold import until_definite
from submits.gates.line import Sight
from submits.gates.objects import created
from submits.gates.ports import Cluster, Knobs, NotFound, Object, Patch, Rules, Times
from submits.gates.settling import run_submit, settle
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from submits.states import Reason

SPLIT = "split"


@dataclass(frozen=True)
class Placed:
    """The parent's reservation. Times by the API server's clock; `seconds` is its deadline, counted from `since`."""

    name: str
    uid: str
    since: datetime
    patched: datetime
    seconds: int


@dataclass(frozen=True)
class PlaceGone:
    """The parent's reservation is not there any more: it must stand in line again before any other child."""

    name: str


class _Gone(Exception):
    """Stays inside this module."""


def place(run: Run, means: Means) -> Placed | Verdict:
    """The parent's one admission: S3 to S7, S10 and S11 as in `admit`, and nothing is submitted."""
    attempt = Attempt(run, means)
    placed: Placed | None = None

    def inside() -> Verdict:
        nonlocal placed
        made = announce(attempt, keep=SPLIT)  # S5
        count(attempt)  # S6: no Job ever carries the parent's own id
        prove(attempt)  # S7
        since = created(made) or attempt.hold.server_now()
        meta, attempt.reserved = made["metadata"], None
        placed = Placed(meta["name"], meta["uid"], since, since, made["spec"]["activeDeadlineSeconds"])
        return attempt.verdict(Outcome.SUBMITTED)

    verdict = hold_gate(attempt, inside)
    return placed or verdict


def admit_child(run: Run, placed: Placed, means: Means) -> Verdict | PlaceGone:
    """One try of one child, `run.run_id` its own id. Without ticket or count.

    S3   PUT the gate                        busy: SHUT
    --   put the parent's deadline off       only 200 lets it go on. 404: S11, and the parent stands in line again
    S6   look the child's id up              its finalizer: S9
    S7 to S9, S11                            as in `admit`
    """
    attempt = Attempt(run, means, in_line=False)

    def inside() -> Verdict:
        attempt.announced = attempt.clock.boot()
        write = _until(placed, attempt.hold.server_now(), attempt.rules.times, waits="")
        answer = attempt.asking(lambda: _patched(attempt.cluster, placed.name, write))
        if answer is None:
            raise _Gone
        if not was_submitted(attempt):  # S6
            prove(attempt)  # S7
            run_submit(attempt)  # S8
        return settle(attempt)  # S9

    try:
        return hold_gate(attempt, inside)
    except _Gone:
        return PlaceGone(placed.name)


def wait_for_gate(placed: Placed, child: str, means: Means) -> Placed | PlaceGone:
    """Say on the parent's reservation that this child waits ("": none does), so that everyone else leaves the gate
    alone for a moment when it comes free. Raises ClusterError."""
    say = [{"op": "add", "path": f"/metadata/annotations/{_escaped(naming.CHILD_WAITS)}", "value": child}]
    return placed if _written(placed, say, means) is not None else PlaceGone(placed.name)


def put_off(placed: Placed, now: datetime, means: Means) -> Placed | PlaceGone:
    """Put the deadline off to `Times.reservation` from `now`, by the API server's clock. Raises ClusterError."""
    found = _written(placed, _until(placed, now, means.rules.times), means)
    if found is None:
        return PlaceGone(placed.name)
    return replace(placed, patched=now, seconds=found["spec"]["activeDeadlineSeconds"])


def due(placed: Placed, now: datetime, rules: Rules) -> bool:
    return (now - placed.patched).total_seconds() >= rules.times.extend_every


def leave_place(placed: Placed, means: Means) -> None:
    """The last child has been submitted or given up. Raises ClusterError; then the deadline does it."""
    until_definite(
        lambda: means.cluster.delete("jobs", placed.name, placed.uid), means.clock, means.rules.times.release_for
    )


def _until(placed: Placed, now: datetime, times: Times, waits: str | None = None) -> Patch:
    seconds = max(placed.seconds, math.ceil((now - placed.since).total_seconds() + times.reservation))
    write: Patch = [{"op": "replace", "path": "/spec/activeDeadlineSeconds", "value": seconds}]
    if waits is not None:
        write.append({"op": "add", "path": f"/metadata/annotations/{_escaped(naming.CHILD_WAITS)}", "value": waits})
    return write


def _written(placed: Placed, write: Patch, means: Means) -> Object | None:
    """`_patched`, until that is definite. Raises ClusterError."""
    return until_definite(lambda: _patched(means.cluster, placed.name, write), means.clock, means.rules.times.heartbeat)


def _patched(cluster: Cluster, name: str, write: Patch) -> Object | None:
    """The reservation as the patch left it; None if it is not there, or is ending: then its patch holds nothing."""
    try:
        found = cluster.patch("jobs", name, write).object
    except NotFound:
        return None
    ending = any(c.get("type") == "FailureTarget" for c in (found.get("status") or {}).get("conditions") or [])
    return None if ending or is_terminal(found) or found["metadata"].get("deletionTimestamp") else found


def _escaped(key: str) -> str:
    return key.replace("/", "~1")


# How long a child may go without the gate ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """For how long the gate was to be had and a child did not get it, in seconds. `child` and `parent` are the
    caller's to keep over its own restarts; `since` is of its monotonic clock."""

    child: float = 0.0
    parent: float = 0.0
    since: float | None = None
    failing: bool = False  # the last try ended in an error of the API


def child_may(sight: Sight) -> bool:
    """A child takes the gate as soon as it is free, or its holder expired; there is no line for it and no count."""
    return sight.gate_open


def spend(budget: Budget, to_be_had: bool, now: float) -> Budget:
    """One more look at `now`: time runs only while the gate is free or its holder expired, never during a live hold."""
    passed = 0.0 if budget.since is None else now - budget.since
    since = now if to_be_had else None
    return replace(budget, child=budget.child + passed, parent=budget.parent + passed, since=since)


def tried(budget: Budget, verdict: Verdict) -> Budget:
    return replace(budget, failing=verdict.outcome in (Outcome.UNKNOWN, Outcome.BACK))


def next_child(budget: Budget) -> Budget:
    return replace(budget, child=0.0, since=None, failing=False)


def over(budget: Budget, knobs: Knobs) -> Reason | None:
    if budget.child < knobs.split_child_wait_max and budget.parent < knobs.split_parent_budget:
        return None
    return Reason.CHILD_GATE_ERROR if budget.failing else Reason.CHILD_GATE_TIMEOUT
