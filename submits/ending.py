"""How a submission's row ends: by the outcome that its run has written, or with a reason."""

from __future__ import annotations

from typing import Any

from submits.engine.outcome import read_outcome
from submits.live import say
from submits.models import Submission
from submits.scopes import store
from submits.states import REASONS_OF, Phase, Reason, Status


def by_outcome(submission: Submission) -> bool:
    """End it as its run did; False while the run has written no outcome."""
    try:
        outcome = read_outcome(store(), submission.run_id)
    except (ValueError, TypeError) as error:
        # It is written whole or not at all, so waiting would not mend it.
        fail(submission, Reason.RESULTS_DAMAGED, f"the outcome of {submission.run_id} is damaged: {error}")
        return True
    if outcome is None:
        return False
    if outcome.status != "succeeded":
        fail(submission, ended_by(outcome.reason), "\n".join(filter(None, (outcome.message, outcome.detail))))
        return True
    found: dict[str, Any] = {
        "queries_with_hits": outcome.queries_with_hits,
        "hits": outcome.hits,
        "batches": outcome.batches,
        "batches_done": outcome.batches,
    }
    Submission.objects.move(submission, Status.COMPLETED, phase=Phase.READY, **found)
    say(submission)
    return True


def ended_by(told: str) -> Reason:
    """The reason that an outcome names; one that this version does not know, or none, is a failure like any other."""
    return next((reason for reason in REASONS_OF[Status.FAILED] if reason == told), Reason.SEARCH_FAILED)


def has_results(submission: Submission) -> bool:
    """Whether its run has written that it succeeded: everything else was written before that."""
    try:
        outcome = read_outcome(store(), submission.run_id)
    except (ValueError, TypeError):
        return False
    return outcome is not None and outcome.status == "succeeded"


def fail(submission: Submission, reason: Reason, detail: str) -> None:
    Submission.objects.move(submission, Status.FAILED, phase=Phase.ENDED, reason=reason, detail=detail)
    say(submission)
