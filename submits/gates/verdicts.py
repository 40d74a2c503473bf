"""What a try at the gates is given, tells on its way, and comes back with. Verdicts are values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from submits.gates.objects import Unchanged
from submits.gates.ports import Clock, Cluster, Rules, Submit
from submits.states import Phase, Reason


class Outcome(StrEnum):
    SUBMITTED = "submitted"  # its finalizer is in the cluster
    SHUT = "shut"  # a gate was shut; its ticket stands
    BACK = "back"  # it left the line and is to stand in it again, after `Times.back_off`
    NOTHING = "nothing"  # the submit ended without a search: one of its three tries
    REFUSED = "refused"  # final: trying again would not help
    UNKNOWN = "unknown"  # the cluster did not answer; its ticket stands
    SUPERSEDED = "superseded"  # the claim on it is somebody else's by now: nothing was submitted, its ticket stands


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
    def __call__(self, phase: Phase, **facts: Any) -> bool | None:
        """Hears of each step, and of the same one again with each heartbeat.

        It may fail without stopping or repeating the try. False means one thing only: this claim is definitely
        somebody else's by now. Before the submit that ends the try; once it began it must be finished.
        """


@dataclass(frozen=True)
class Means:
    """What a try is made with, whatever it is for: the three ports, the rules in force, and who hears of each step.

    `unchanged`: how long the line has seen the gate at one version; needed where nothing else tells a hold's age.
    """

    cluster: Cluster
    clock: Clock
    submit: Submit
    rules: Rules
    report: Report
    unchanged: Unchanged = field(default_factory=Unchanged)


class Superseded(Exception):
    """The report said that the claim is somebody else's. Stays inside the gates."""


class Back(Exception):
    """Leave the line in an orderly way (S10, S11) and say why. Stays inside the gates."""

    def __init__(self, outcome: Outcome, reason: Reason, detail: str = "") -> None:
        super().__init__(detail)
        self.outcome, self.reason, self.detail = outcome, reason, detail
