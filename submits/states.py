"""Every status and phase of a submission, which reasons go with them, and the one transition table.

A status says where a submission stands, a phase what happens there, a reason why it stands still or ended.
Waiting is not running, and not an error.
"""

from __future__ import annotations

from enum import StrEnum

from submits.reasons import HELD_UP, REASONS, Explained, Kind, Reason

__all__ = ["HELD_UP", "REASONS", "Explained", "Kind", "Reason"]


class SubmitsError(Exception):
    """The root of every error this product raises on purpose."""


class Status(StrEnum):
    QUEUED = "queued"  # the row is there; nothing has been done
    PREPARING = "preparing"  # checked, split and stored by a worker
    WAITING = "waiting"  # its ticket stands in line
    SUBMITTING = "submitting"  # one admission is under way
    RUNNING = "running"  # its finalizer is in the cluster
    CANCELLING = "cancelling"  # somebody wants it gone; the cluster is being asked whether it is
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"  # the cluster has nothing of it any more


TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.PREPARING, Status.FAILED, Status.CANCELLING}),
    Status.PREPARING: frozenset({Status.QUEUED, Status.WAITING, Status.FAILED, Status.CANCELLING}),
    Status.WAITING: frozenset({Status.SUBMITTING, Status.RUNNING, Status.FAILED, Status.CANCELLING}),
    Status.SUBMITTING: frozenset({Status.WAITING, Status.RUNNING, Status.FAILED, Status.CANCELLING}),
    Status.RUNNING: frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLING}),
    # Completed or failed, when the search had ended before the cancel reached it.
    Status.CANCELLING: frozenset({Status.CANCELLED, Status.COMPLETED, Status.FAILED}),
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}
ENDED = frozenset(status for status, following in TRANSITIONS.items() if not following)
LIVE = frozenset(Status) - ENDED


class Phase(StrEnum):
    RECEIVED = "received"
    PREPARING = "preparing"
    IN_LINE = "in_line"
    GATE_TAKEN = "gate_taken"
    PLACE_ANNOUNCED = "place_announced"
    PLACES_COUNTED = "places_counted"
    SUBMIT_RUNNING = "submit_running"
    VERIFYING = "verifying"
    STARTING = "starting"
    SEARCHING = "searching"
    MERGING = "merging"
    STOPPING = "stopping"
    CLEARING = "clearing"
    READY = "ready"
    ENDED = "ended"


PHASES: dict[Status, frozenset[Phase]] = {
    Status.QUEUED: frozenset({Phase.RECEIVED}),
    Status.PREPARING: frozenset({Phase.PREPARING}),
    Status.WAITING: frozenset({Phase.IN_LINE}),
    Status.SUBMITTING: frozenset(
        {
            Phase.IN_LINE,
            Phase.GATE_TAKEN,
            Phase.PLACE_ANNOUNCED,
            Phase.PLACES_COUNTED,
            Phase.SUBMIT_RUNNING,
            Phase.VERIFYING,
        }
    ),
    Status.RUNNING: frozenset({Phase.STARTING, Phase.SEARCHING, Phase.MERGING}),
    Status.CANCELLING: frozenset({Phase.STOPPING, Phase.CLEARING}),
    Status.COMPLETED: frozenset({Phase.READY}),
    Status.FAILED: frozenset({Phase.ENDED}),
    Status.CANCELLED: frozenset({Phase.ENDED}),
}


_CANCELS = frozenset({Reason.CANCEL_ASKED, Reason.CANCEL_WAITS_FOR_SUBMIT, Reason.CANCEL_CLEARS, Reason.CANCEL_REFUSED})
_CANCELLED = frozenset({Reason.CANCELLED_BY_OWNER, Reason.CANCELLED_BY_OPERATOR})
_NONE = frozenset({Reason.NONE})
_QUEUED = frozenset({Reason.DATABASE_AWAY})  # before it has a place in line
# A reason explains a wait or an end; what goes forward needs none.
REASONS_OF: dict[Status, frozenset[Reason]] = {
    Status.QUEUED: _NONE | _QUEUED | {Reason.WORKER_LOST, Reason.WORK_STORE_UNAVAILABLE},
    Status.PREPARING: _NONE,
    Status.WAITING: frozenset(r for r, told in REASONS.items() if told.kind is not Kind.FINAL)
    - _CANCELS
    - HELD_UP
    - _QUEUED,
    Status.SUBMITTING: _NONE,
    Status.RUNNING: _NONE | HELD_UP,
    Status.CANCELLING: _CANCELS | {Reason.COORDINATION_UNAVAILABLE, Reason.WORK_STORE_UNAVAILABLE},
    Status.COMPLETED: _NONE,
    Status.FAILED: frozenset(r for r, told in REASONS.items() if told.kind is Kind.FINAL) - _CANCELLED,
    Status.CANCELLED: _CANCELLED,
}


def may(old: Status, new: Status) -> bool:
    """Whether the table allows this step; a submission may also stay where it is while phase or reason change."""
    return old == new or new in TRANSITIONS[old]


def occurs(status: Status, phase: Phase, reason: Reason) -> bool:
    """Whether a submission can stand so."""
    return phase in PHASES[status] and reason in REASONS_OF[status]
