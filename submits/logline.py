"""One line for every change of state, in the words that page and JSON use too."""

from __future__ import annotations

import logging
from typing import Any

from submits import live
from submits.models import Submission
from submits.states import REASONS, Kind, Reason, Status

log = logging.getLogger(__name__)
AFTER = ("attempt", "token")


def fields(submission: Submission) -> dict[str, Any]:
    """What a line says, in its order; what does not apply is None."""
    view, stamped_at, _ = live.read(submission.scope)
    standing = live.standing(submission, view, stamped_at, submission.updated_at)
    return {
        "submission": submission.key,
        "status": str(submission.status),
        "phase": str(submission.phase),
        "gate": standing["gate"],
        "active_submissions": standing["active_submissions"],
        "lease_holder": standing["lease_holder"],
        "wait_elapsed": standing["wait_elapsed"],
        "reason": str(submission.reason) or None,
        **{name: getattr(submission, name) for name in AFTER},
        "elb_job_id": submission.run_id,
    }


def text(said: dict[str, Any]) -> str:
    return " ".join(f"{name}={'-' if value is None else value}" for name, value in said.items())


def level(status: str, reason: str) -> int:
    """A wait is no warning, nor is an end that somebody asked for; an error would be one of ours."""
    retried = bool(reason) and REASONS[Reason(reason)].kind is Kind.RETRY
    return logging.WARNING if retried or status == Status.FAILED else logging.INFO


def tell(sender: object, *, submission: Submission, **_: Any) -> None:
    """Hears of every recorded change. `fields` and the detail are keys of their own where lines are JSON."""
    said = fields(submission)
    log.log(
        level(submission.status, submission.reason),
        text(said),
        extra={"fields": {**said, "detail": submission.detail or None}},
    )
