"""Exit statuses of the engine's programs, `elastic-blast`'s and one of our own, and the error that carries one."""

from __future__ import annotations

from enum import IntEnum

from submits.gates.ports import IN_DOUBT, ClusterError, Forbidden, Throttled, Unanswered
from submits.states import Reason, SubmitsError
from submits.work import Missing, Unstored, WorkError


class Exit(IntEnum):
    """What a caller may conclude from the exit status of `coordui-engine`."""

    OK = 0
    INPUT = 1  # configuration, plan or query
    BLASTDB = 2
    BLAST_ENGINE = 3
    OOM = 4
    TIMEOUT = 5
    PERMISSIONS = 6
    DEPENDENCY = 7  # a program, file system or credential that is not there
    CLUSTER = 8
    INTERRUPTED = 9
    NOT_READY = 10  # no room now; the same submit may succeed later
    IN_DOUBT = IN_DOUBT  # ours alone: it failed, and a request of it that had no answer may still arrive
    UNSTORED = 12  # ours alone: the work store did not answer
    UNKNOWN = 255


class EngineError(SubmitsError):
    """An end that was foreseen: its sentence goes to standard error, its `status` to the caller."""

    def __init__(self, status: Exit, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Interrupted(EngineError):
    """SIGTERM or SIGINT arrived."""

    def __init__(self) -> None:
        super().__init__(Exit.INTERRUPTED, "interrupted before it was done")


def status_of(error: BaseException) -> Exit:
    """The exit status that an error means; UNKNOWN for one that nobody foresaw."""
    match error:
        case EngineError():
            return error.status
        case Forbidden():
            return Exit.NOT_READY if error.reason is Reason.QUOTA_FULL else Exit.PERMISSIONS
        case Throttled() | Unanswered():
            return Exit.NOT_READY
        case ClusterError():
            return Exit.CLUSTER
        case Missing():
            return Exit.INPUT
        case Unstored():
            return Exit.UNSTORED
        case WorkError() | OSError():
            return Exit.DEPENDENCY
        case KeyboardInterrupt():
            return Exit.INTERRUPTED
    return Exit.UNKNOWN
