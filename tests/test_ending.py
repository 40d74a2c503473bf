"""How a row ends by what its run has written: the reason, the words, and what nobody knows."""

from __future__ import annotations

import logging

import pytest

from submits import logline
from submits.ending import by_outcome
from submits.engine.outcome import Outcome, write_outcome
from submits.models import Submission
from submits.scopes import store
from submits.states import REASONS_OF, Phase, Reason, Status
from tests.test_models import make

pytestmark = pytest.mark.django_db


def ended(reason: str, detail: str = "BLAST's words") -> Submission:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING)
    write_outcome(store(), row.run_id, Outcome("failed", 1, 0, 0, 3, "2.12.0+", "A sentence.", detail, reason))
    assert by_outcome(row)
    return Submission.objects.get(pk=row.pk)


@pytest.mark.parametrize("reason", [Reason.OUT_OF_MEMORY, Reason.QUERY_REFUSED, Reason.PODS_LOST])
def test_the_reason_of_the_outcome_is_the_rows_with_a_sentence_and_what_to_do(reason: Reason) -> None:
    row = ended(reason)
    assert (row.status, row.reason, row.detail) == (Status.FAILED, reason, "A sentence.\nBLAST's words")
    assert row.explained is not None and row.explained.next_step


@pytest.mark.parametrize("told", ["", "of a later version", "unschedulable", "cancelled_by_owner"])
def test_a_reason_that_no_failure_has_is_a_failure_like_any_other(told: str) -> None:
    assert ended(told).reason == Reason.SEARCH_FAILED and Reason.SEARCH_FAILED in REASONS_OF[Status.FAILED]


def test_blasts_words_are_bounded_and_in_the_log_line(caplog: pytest.LogCaptureFixture) -> None:
    row = ended("crashed", "x" * 9_000)
    assert len(row.detail) == 4_000
    with caplog.at_level(logging.INFO):
        logline.tell(None, submission=row)
    (line,) = caplog.records
    assert " reason=crashed " in line.getMessage() and line.levelno == logging.WARNING
    assert line.fields["reason"] == "crashed" and line.fields["detail"] == row.detail  # type: ignore[attr-defined]
