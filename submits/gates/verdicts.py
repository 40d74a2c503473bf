"""What a try at the gates is given, tells on its way, and comes back with. Verdicts are values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from submits.states import Phase, Reason


class Outcome(StrEnum):
    SUBMITTED = "submitted"  # its finalizer is in the cluster
    SHUT = "shut"  # a gate was shut; its ticket stands
    BACK = "back"  # it left the line and is to stand in it again, after `Times.back_off`
    NOTHING = "nothing"  # the submit ended without a search: one of its three tries
    REFUSED = "refused"  # final: trying again would not help
    UNKNOWN = "unknown"  # the cluster did not answer; its ticket stands


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    reason: Reason = Reason.NONE
    detail: str = ""
    token: int = 0
    holder: str = ""
    exit_code: int | None = None


@dataclass(frozen=True)
class Run:
    """What is to be admitted: our id for it, its fixed elb-job-id, the door it came through."""

    submission: str
    run_id: str
    party: str


class Report(Protocol):
    def __call__(self, phase: Phase, **facts: Any) -> None: ...


class Back(Exception):
    """Leave the line in an orderly way (S10, S11) and say why. Stays inside the gates."""

    def __init__(self, outcome: Outcome, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.outcome, self.reason, self.detail = outcome, reason, detail
