"""Every status, phase and reason of a submission, with its class, sentence and next step; the one transition table.

A status says where a submission stands, a phase what happens there, a reason why it stands still or ended.
Waiting is not running, and not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


class Kind(StrEnum):
    WAIT = "wait"  # calm: its turn comes
    RETRY = "retry"  # something went wrong and is tried again
    FINAL = "final"  # it has ended


@dataclass(frozen=True)
class Explained:
    kind: Kind
    sentence: str
    next_step: str


class Reason(StrEnum):
    NONE = ""
    WAITING_FOR_SUBMIT_SLOT = "waiting_for_submit_slot"
    WAITING_FOR_CAPACITY = "waiting_for_capacity"
    WAITING_IN_LINE = "waiting_in_line"
    QUOTA_FULL = "quota_full"
    DRAINED = "drained"
    PATH_PAUSED = "path_paused"
    CAPACITY_COUNT_ERROR = "capacity_count_error"
    COORDINATION_UNAVAILABLE = "coordination_unavailable"
    CLUSTER_RESTORED = "cluster_restored"
    GATE_LOST = "gate_lost"
    SUBMIT_RETRY = "submit_retry"
    WORKER_LOST = "worker_lost"
    CANCEL_ASKED = "cancel_asked"
    CANCEL_WAITS_FOR_SUBMIT = "cancel_waits_for_submit"
    CANCEL_CLEARS = "cancel_clears"
    CANCEL_REFUSED = "cancel_refused"
    MARKER_MISSING = "marker_missing"
    SUBMIT_SLOT_TIMEOUT = "submit_slot_timeout"
    CAPACITY_TIMEOUT = "capacity_timeout"
    COORDINATION_LOST = "coordination_lost"
    CHILD_GATE_TIMEOUT = "child_gate_timeout"
    CHILD_GATE_ERROR = "child_gate_error"
    GATE_FORBIDDEN = "gate_forbidden"
    POLICY_DENIED = "policy_denied"
    NAMESPACE_MISSING = "namespace_missing"
    SUBMIT_FAILED = "submit_failed"
    SEARCH_FAILED = "search_failed"
    RUN_LOST = "run_lost"
    BAD_QUERY = "bad_query"
    DATABASE_GONE = "database_gone"
    PREPARATION_FAILED = "preparation_failed"
    CANCELLED_BY_OWNER = "cancelled_by_owner"
    CANCELLED_BY_OPERATOR = "cancelled_by_operator"


REASONS: dict[Reason, Explained] = {
    Reason.WAITING_FOR_SUBMIT_SLOT: Explained(
        Kind.WAIT, "Another search is being submitted.", "Yours goes on by itself when that is done."
    ),
    Reason.WAITING_FOR_CAPACITY: Explained(
        Kind.WAIT, "All places for running searches are taken.", "Yours starts as soon as one of them ends."
    ),
    Reason.WAITING_IN_LINE: Explained(
        Kind.WAIT, "Other searches stand before this one.", "First come, first served; nothing to do."
    ),
    Reason.CAPACITY_COUNT_ERROR: Explained(
        Kind.RETRY, "The running searches could not be counted, so nothing is started.", "It is tried again."
    ),
    Reason.COORDINATION_UNAVAILABLE: Explained(
        Kind.RETRY, "The cluster does not answer; nothing is lost.", "It is tried again by itself."
    ),
    Reason.QUOTA_FULL: Explained(
        Kind.WAIT, "The namespace's quota is full.", "It is tried again; an operator can raise the quota."
    ),
    Reason.DRAINED: Explained(Kind.WAIT, "An operator has stopped new searches.", "It goes on when they resume."),
    Reason.PATH_PAUSED: Explained(Kind.WAIT, "An operator has paused this way in.", "It goes on when they resume."),
    Reason.GATE_LOST: Explained(
        Kind.RETRY, "The submit was stopped because it lost door A.", "It stands in line again."
    ),
    Reason.SUBMIT_RETRY: Explained(
        Kind.RETRY, "The submit ended without starting the search.", "It is tried again, three times in all."
    ),
    Reason.WORKER_LOST: Explained(
        Kind.RETRY, "The process that submitted this search is gone.", "The cluster was asked; it stands in line again."
    ),
    Reason.CLUSTER_RESTORED: Explained(
        Kind.RETRY,
        "The cluster has gone back to an earlier state.",
        "Everything is looked up again; tell an operator, because searches may have been lost.",
    ),
    Reason.CANCEL_ASKED: Explained(
        Kind.WAIT, "It is being cancelled.", "It leaves the line, and the cluster is asked."
    ),
    Reason.CANCEL_WAITS_FOR_SUBMIT: Explained(
        Kind.WAIT,
        "It was being submitted; that is being stopped.",
        "It is cancelled as soon as nothing of it can write any more, usually within two minutes.",
    ),
    Reason.CANCEL_CLEARS: Explained(
        Kind.WAIT,
        "What it has in the cluster is being taken away.",
        "It is cancelled when the cluster shows that nothing of it is left.",
    ),
    Reason.CANCEL_REFUSED: Explained(
        Kind.RETRY,
        "The cluster refuses to take its Jobs away, so it may still be running.",
        "It is tried again by itself; the detail has the cluster's words for an administrator.",
    ),
    Reason.MARKER_MISSING: Explained(
        Kind.FINAL,
        "The submit said it succeeded, but the search is not in the cluster.",
        "Tell an operator: the submit may use another namespace.",
    ),
    Reason.SUBMIT_SLOT_TIMEOUT: Explained(
        Kind.FINAL, "Door A did not become free in time.", "Ask an operator to look at the gate, then search again."
    ),
    Reason.CAPACITY_TIMEOUT: Explained(
        Kind.FINAL, "No place became free in time.", "Search again later, or ask an operator to look at the gate."
    ),
    Reason.COORDINATION_LOST: Explained(
        Kind.FINAL,
        "The cluster did not answer for too long.",
        "Search again when the gate is seen again; the detail has the last error.",
    ),
    Reason.CHILD_GATE_TIMEOUT: Explained(
        Kind.FINAL,
        "A part of the search did not get door A in time, although it was free.",
        "Ask an operator to look at the gate, then search again.",
    ),
    Reason.CHILD_GATE_ERROR: Explained(
        Kind.FINAL,
        "A part of the search could not be handed over: the cluster refused or did not answer.",
        "The detail has the last error; search again when it is mended.",
    ),
    Reason.GATE_FORBIDDEN: Explained(
        Kind.FINAL,
        "We are not allowed to use the gate in this cluster.",
        "An administrator must grant the Role; the detail names the verb.",
    ),
    Reason.POLICY_DENIED: Explained(
        Kind.FINAL, "The cluster refused this search by a policy.", "The detail has its words; ask an administrator."
    ),
    Reason.NAMESPACE_MISSING: Explained(
        Kind.FINAL, "The namespace does not exist in the cluster.", "An administrator must create it."
    ),
    Reason.SUBMIT_FAILED: Explained(
        Kind.FINAL, "The search could not be started.", "The detail has the engine's words; search again when mended."
    ),
    Reason.SEARCH_FAILED: Explained(
        Kind.FINAL, "BLAST reported an error.", "Its own words are below; change the search and try again."
    ),
    Reason.RUN_LOST: Explained(Kind.FINAL, "The search vanished from the cluster before it ended.", "Search again."),
    Reason.BAD_QUERY: Explained(
        Kind.FINAL, "The query cannot be searched as it is.", "Change it as the detail says and search again."
    ),
    Reason.DATABASE_GONE: Explained(
        Kind.FINAL, "The database is not there any more.", "Choose another, or ask an operator."
    ),
    Reason.PREPARATION_FAILED: Explained(
        Kind.FINAL, "The search could not be prepared.", "Ask an operator to read the log."
    ),
    Reason.CANCELLED_BY_OWNER: Explained(
        Kind.FINAL, "It was cancelled.", "Nothing of it is left in the cluster; it can be searched again."
    ),
    Reason.CANCELLED_BY_OPERATOR: Explained(
        Kind.FINAL, "An operator cancelled it.", "The detail says who and why; it can be searched again."
    ),
}

_CANCELS = frozenset({Reason.CANCEL_ASKED, Reason.CANCEL_WAITS_FOR_SUBMIT, Reason.CANCEL_CLEARS, Reason.CANCEL_REFUSED})
_CANCELLED = frozenset({Reason.CANCELLED_BY_OWNER, Reason.CANCELLED_BY_OPERATOR})
_NONE = frozenset({Reason.NONE})
# A reason explains a wait or an end; what goes forward needs none.
REASONS_OF: dict[Status, frozenset[Reason]] = {
    Status.QUEUED: _NONE | {Reason.WORKER_LOST},
    Status.PREPARING: _NONE,
    Status.WAITING: frozenset(r for r, told in REASONS.items() if told.kind is not Kind.FINAL) - _CANCELS,
    Status.SUBMITTING: _NONE,
    Status.RUNNING: _NONE,
    Status.CANCELLING: _CANCELS | {Reason.COORDINATION_UNAVAILABLE},
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
