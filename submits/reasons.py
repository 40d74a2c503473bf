"""Every reason why a submission stands still or has ended, with its class, sentence and next step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    NO_ROOM = "no_room"
    DRAINED = "drained"
    PATH_PAUSED = "path_paused"
    CAPACITY_COUNT_ERROR = "capacity_count_error"
    COORDINATION_UNAVAILABLE = "coordination_unavailable"
    WORK_STORE_UNAVAILABLE = "work_store_unavailable"
    CLUSTER_RESTORED = "cluster_restored"
    GATE_LOST = "gate_lost"
    SUBMIT_RETRY = "submit_retry"
    WORKER_LOST = "worker_lost"
    DATABASE_AWAY = "database_away"
    CANCEL_ASKED = "cancel_asked"
    CANCEL_WAITS_FOR_SUBMIT = "cancel_waits_for_submit"
    CANCEL_CLEARS = "cancel_clears"
    CANCEL_REFUSED = "cancel_refused"
    UNSCHEDULABLE = "unschedulable"
    IMAGE_UNAVAILABLE = "image_unavailable"
    CONTAINER_NOT_MADE = "container_not_made"
    NO_POD = "no_pod"
    START_DELAYED = "start_delayed"
    EVICTED = "evicted"
    NODE_LOST = "node_lost"
    POD_RETRIED = "pod_retried"
    MARKER_MISSING = "marker_missing"
    SUBMIT_SLOT_TIMEOUT = "submit_slot_timeout"
    CAPACITY_TIMEOUT = "capacity_timeout"
    COORDINATION_LOST = "coordination_lost"
    WORK_STORE_LOST = "work_store_lost"
    CHILD_GATE_TIMEOUT = "child_gate_timeout"
    CHILD_GATE_ERROR = "child_gate_error"
    GATE_FORBIDDEN = "gate_forbidden"
    POLICY_DENIED = "policy_denied"
    NAMESPACE_MISSING = "namespace_missing"
    SUBMIT_FAILED = "submit_failed"
    QUERY_REFUSED = "query_refused"
    OPTION_REFUSED = "option_refused"
    BLAST_REFUSED = "blast_refused"
    FILES_UNREACHABLE = "files_unreachable"
    DATABASE_UNREADABLE = "database_unreadable"
    TAXONOMY_UNKNOWN = "taxonomy_unknown"
    ENGINE_FAILED = "engine_failed"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    STOPPED = "stopped"
    CRASHED = "crashed"
    PROGRAM_MISSING = "program_missing"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    PODS_LOST = "pods_lost"
    NOT_STARTED = "not_started"
    BATCH_GONE = "batch_gone"
    RESULTS_DAMAGED = "results_damaged"
    RESULTS_ELSEWHERE = "results_elsewhere"
    RESULTS_UNREAD = "results_unread"
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
    Reason.WORK_STORE_UNAVAILABLE: Explained(
        Kind.RETRY, "The work store does not answer; nothing is lost.", "It is tried again by itself."
    ),
    Reason.QUOTA_FULL: Explained(
        Kind.WAIT, "The namespace's quota is full.", "It is tried again; an operator can raise the quota."
    ),
    Reason.NO_ROOM: Explained(
        Kind.RETRY,
        "The cluster has no room for this search now, or is too busy.",
        "It is tried again by itself, at most every five minutes; an operator can make room.",
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
    Reason.DATABASE_AWAY: Explained(
        Kind.RETRY,
        "The database is away, so the search waits for it.",
        "It goes on by itself when the database is back; ask an operator if that lasts, or cancel and choose another.",
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
    Reason.UNSCHEDULABLE: Explained(
        Kind.WAIT, "The cluster has no room for all of it at the moment.", "It goes on by itself when room comes."
    ),
    Reason.IMAGE_UNAVAILABLE: Explained(
        Kind.RETRY,
        "The image that it runs in cannot be fetched.",
        "The cluster tries again by itself; tell an operator if it stays so.",
    ),
    Reason.CONTAINER_NOT_MADE: Explained(
        Kind.RETRY,
        "A container of it cannot be made.",
        "The cluster tries again by itself; tell an operator if it stays so.",
    ),
    Reason.NO_POD: Explained(
        Kind.RETRY,
        "The cluster makes no Pod for a part of it.",
        "The cluster tries again by itself; tell an operator if it stays so.",
    ),
    Reason.START_DELAYED: Explained(
        Kind.WAIT,
        "A part of it has its node, and is still being started there.",
        "It goes on by itself; tell an operator if it stays so.",
    ),
    Reason.EVICTED: Explained(
        Kind.RETRY, "A part of it had to leave its node, which was short of something.", "That part is run again."
    ),
    Reason.NODE_LOST: Explained(Kind.RETRY, "A node that a part of it ran on is gone.", "That part is run again."),
    Reason.POD_RETRIED: Explained(Kind.RETRY, "A part of it ended badly.", "That part is run again, a few times."),
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
    Reason.WORK_STORE_LOST: Explained(
        Kind.FINAL,
        "The work store did not answer for too long.",
        "Ask an operator to look at it, then search again; the detail has the last error.",
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
    Reason.QUERY_REFUSED: Explained(
        Kind.FINAL, "BLAST could not read the query.", "Its own words are below; mend the sequences and search again."
    ),
    Reason.OPTION_REFUSED: Explained(
        Kind.FINAL, "BLAST did not accept an option.", "Its own words are below; change the option and search again."
    ),
    Reason.BLAST_REFUSED: Explained(
        Kind.FINAL,
        "BLAST did not accept the query or an option.",
        "Its own words are below; change the search and try again.",
    ),
    Reason.FILES_UNREACHABLE: Explained(
        Kind.FINAL,
        "A file of the search could not be read or written where it runs.",
        "Ask an operator whether the Pods reach the work directory, then search again.",
    ),
    Reason.DATABASE_UNREADABLE: Explained(
        Kind.FINAL,
        "BLAST could not read the database.",
        "Tell an operator: its files may be missing or damaged. Other databases can be searched meanwhile.",
    ),
    Reason.TAXONOMY_UNKNOWN: Explained(
        Kind.FINAL,
        "The database has none of these taxonomy ids.",
        "Use ids of species or below that are in it, or take the option out.",
    ),
    Reason.ENGINE_FAILED: Explained(
        Kind.FINAL,
        "BLAST's engine failed.",
        "Its own words are below. It is often too little memory: search again with fewer or shorter sequences.",
    ),
    Reason.OUT_OF_MEMORY: Explained(
        Kind.FINAL,
        "It needed more memory than there was.",
        "Search with fewer or shorter sequences or in a smaller database, or ask an operator for more memory.",
    ),
    Reason.KILLED: Explained(
        Kind.FINAL,
        "BLAST was killed, most likely for want of memory.",
        "Search again with fewer or shorter sequences, or ask an operator to look at the nodes.",
    ),
    Reason.STOPPED: Explained(Kind.FINAL, "BLAST was stopped from outside.", "Search again."),
    Reason.CRASHED: Explained(
        Kind.FINAL,
        "BLAST broke down.",
        "Search again with other options; if it stays so, ask an operator to check the database.",
    ),
    Reason.PROGRAM_MISSING: Explained(
        Kind.FINAL, "BLAST is not installed where the search runs.", "An operator must mend the image that it runs in."
    ),
    Reason.DEADLINE_EXCEEDED: Explained(
        Kind.FINAL,
        "It took longer than a batch may take, its wait for room included.",
        "Search with fewer or shorter sequences, or again when the cluster has more room.",
    ),
    Reason.PODS_LOST: Explained(
        Kind.FINAL, "Its Pods lost their nodes again and again.", "Search again when the cluster is calmer."
    ),
    Reason.NOT_STARTED: Explained(
        Kind.FINAL, "Its batches could not be started.", "The detail says why; search again when it is mended."
    ),
    Reason.BATCH_GONE: Explained(
        Kind.FINAL, "A part of it was taken out of the cluster before it was done.", "Search again."
    ),
    Reason.RESULTS_DAMAGED: Explained(
        Kind.FINAL,
        "It was searched, but what was written is not whole.",
        "Ask an operator whether the work directory is full, then search again.",
    ),
    Reason.RESULTS_ELSEWHERE: Explained(
        Kind.FINAL,
        "It was searched in the cloud, but its results cannot be shown here.",
        "They are where the detail says; it says too what keeps them from being read.",
    ),
    Reason.RESULTS_UNREAD: Explained(
        Kind.FINAL,
        "It was handed to the cloud, and how it ended could not be learnt here.",
        "Its results may be where the detail says: look there before you search again, or ask an operator.",
    ),
    Reason.SEARCH_FAILED: Explained(
        Kind.FINAL, "The search failed.", "The detail says what is known; search again, or ask an operator."
    ),
    Reason.RUN_LOST: Explained(Kind.FINAL, "The search vanished from the cluster before it ended.", "Search again."),
    Reason.BAD_QUERY: Explained(
        Kind.FINAL, "The query cannot be searched as it is.", "Change it as the detail says and search again."
    ),
    Reason.DATABASE_GONE: Explained(
        Kind.FINAL, "The database is not offered any more.", "Choose another, or ask an operator."
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

# Of a search that runs: it is held up, and has not failed.
HELD_UP = frozenset(
    {
        Reason.UNSCHEDULABLE,
        Reason.IMAGE_UNAVAILABLE,
        Reason.CONTAINER_NOT_MADE,
        Reason.NO_POD,
        Reason.START_DELAYED,
        Reason.EVICTED,
        Reason.NODE_LOST,
        Reason.POD_RETRIED,
    }
)
