"""What a row says it waits for, and how often."""

from __future__ import annotations

import pytest

from submits.states import Phase, Reason, Status
from submits.waiting import Waits, tell_unknown
from tests.test_models import make

pytestmark = pytest.mark.django_db


def test_a_door_that_opens_and_shuts_is_not_told_to_everybody_in_line_each_time() -> None:
    """Else a line of n searches writes n events for each one that is submitted."""
    row, waits = make(status=Status.WAITING, reason=Reason.WAITING_IN_LINE, phase=Phase.IN_LINE), Waits()
    for second in range(40):
        reason = Reason.WAITING_IN_LINE if second % 4 else Reason.WAITING_FOR_SUBMIT_SLOT
        waits.settle(row, reason, "", float(second))
    assert (row.reason, row.events.count()) == (Reason.WAITING_IN_LINE, 0)
    for second in range(40, 46):
        waits.settle(row, Reason.WAITING_FOR_SUBMIT_SLOT, "", float(second))
    assert (row.reason, row.events.count()) == (Reason.WAITING_FOR_SUBMIT_SLOT, 1)


@pytest.mark.parametrize("reason", [Reason.DRAINED, Reason.WAITING_FOR_CAPACITY, Reason.WORKER_LOST])
def test_a_line_that_moves_again_says_so_however_quickly_door_a_opens_and_shuts(reason: Reason) -> None:
    row, waits = make(status=Status.WAITING, reason=reason, phase=Phase.IN_LINE), Waits()
    for turn in range(4):
        waits.settle(row, (Reason.WAITING_IN_LINE, Reason.WAITING_FOR_SUBMIT_SLOT)[turn % 2], "", turn * 0.4)
    assert row.reason in (Reason.WAITING_IN_LINE, Reason.WAITING_FOR_SUBMIT_SLOT)
    assert row.events.count() == 1


def test_that_all_places_are_taken_is_told_after_a_second() -> None:
    row, waits = make(status=Status.WAITING, reason=Reason.WAITING_IN_LINE, phase=Phase.IN_LINE), Waits()
    waits.settle(row, Reason.WAITING_FOR_CAPACITY, "", 10.0)
    assert row.reason == Reason.WAITING_IN_LINE
    waits.settle(row, Reason.WAITING_FOR_CAPACITY, "", 11.0)
    assert row.reason == Reason.WAITING_FOR_CAPACITY


def test_a_silent_cluster_is_told_once_and_whatever_comes_after_it_at_once() -> None:
    row, waits = make(status=Status.WAITING, reason=Reason.WAITING_IN_LINE, phase=Phase.IN_LINE), Waits()
    tell_unknown(row, "no answer")
    tell_unknown(row, "still none")
    assert (row.reason, row.detail, row.events.count()) == (Reason.COORDINATION_UNAVAILABLE, "no answer", 1)
    waits.settle(row, Reason.WAITING_FOR_SUBMIT_SLOT, "", 0.0)
    assert row.reason == Reason.WAITING_FOR_SUBMIT_SLOT


def test_what_no_longer_waits_is_forgotten() -> None:
    row, waits = make(status=Status.WAITING, reason=Reason.WAITING_IN_LINE, phase=Phase.IN_LINE), Waits()
    waits.settle(row, Reason.WAITING_FOR_CAPACITY, "", 0.0)
    waits.keep([])
    waits.settle(row, Reason.WAITING_FOR_CAPACITY, "", 9.0)
    assert row.reason == Reason.WAITING_IN_LINE
