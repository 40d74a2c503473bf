from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from submits import live
from submits.models import Submission
from submits.shown import telling, waits, words
from submits.states import REASONS, Kind, Phase, Reason, Status
from tests.views import factory

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1:00"), (252, "4:12"), (3600, "1:00:00"), (3852, "1:04:12"), (97200, "1 d 3 h")],
)
def test_durations(seconds: int, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "just now"), (5, "5 s ago"), (60, "1 min ago"), (7199, "1 h ago"), (86400 * 3, "3 d ago")],
)
def test_how_long_ago(seconds: int, text: str) -> None:
    assert words.ago(seconds) == text


def test_ordinals() -> None:
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111)
    told = "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th"
    assert " ".join(map(words.ordinal, numbers)) == told


def test_a_moment_that_is_none_is_none() -> None:
    assert [words.moment(text) for text in (None, "", "yesterday")] == [None] * 3


def row(status: Status, **values: object) -> Submission:
    return Submission(key="k", run_id="job-1", title="T", status=status, **values)


def tell(status: Status, position: int | None = None, **values: object) -> telling.Told:
    view = live.empty_view(3)
    return telling.tell(row(status, **values), view, position, NOW)


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason])
def test_every_reason_has_a_mood_a_sentence_and_a_next_step(reason: Reason) -> None:
    explained = REASONS[reason]
    status = Status.FAILED if explained.kind == Kind.FINAL else Status.WAITING
    told = tell(status, 2, reason=reason, finished_at=NOW)
    assert told.mood == {Kind.WAIT: "wait", Kind.RETRY: "retry", Kind.FINAL: "fail"}[explained.kind]
    assert told.sentence.endswith(".") and told.next_step.endswith(".")


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("phase", list(Phase))
def test_every_state_can_be_told(status: Status, phase: Phase) -> None:
    told = tell(status, phase=phase)
    assert told.word and told.sentence.endswith(".") and told.tab
    assert telling.step(status, phase, "").rstrip(".")


def test_a_wait_is_no_error_and_no_running() -> None:
    assert tell(Status.WAITING, 3, reason=Reason.WAITING_FOR_CAPACITY).word == "waiting"
    assert tell(Status.WAITING, 3, reason=Reason.WAITING_FOR_CAPACITY).mood == "wait"


def test_a_retry_says_when() -> None:
    later = NOW + timedelta(seconds=12)
    told = tell(Status.WAITING, 1, reason=Reason.COORDINATION_UNAVAILABLE, next_try_at=later)
    assert told.sentence.endswith("Tried again in 12 s.")


def test_the_first_with_nothing_before_it_is_not_told_of_others() -> None:
    told = tell(Status.WAITING, 1, reason=Reason.WAITING_IN_LINE)
    assert told.sentence == "Nothing stands before it: it goes in at any moment."


@pytest.mark.parametrize(
    ("waited", "told"),
    [
        ([], ""),
        ([100] * 4, ""),
        ([1, 2, 3, 4, 5], "Usually less than a minute."),
        ([30, 130, 170, 290, 900], "Usually 2 to 5 min."),
        ([170] * 6, "Usually 2 to 3 min."),
        ([241, 242, 243, 300, 300], "Usually 4 to 5 min."),
    ],
)
def test_a_range_of_waits_only_from_five_searches_on(waited: list[float], told: str) -> None:
    assert waits.spread(waited) == told


@pytest.mark.django_db
def test_only_this_scopes_ended_searches_count() -> None:
    ann = factory.person("ann")
    for _ in range(5):
        factory.running(ann)
    rows = Submission.objects.all()
    assert waits.usual(rows[0].scope_id) == ""
    rows.update(finished_at=NOW)
    assert waits.usual(rows[0].scope_id) == "Usually less than a minute."
    assert waits.usual(rows[0].scope_id + 1) == ""
