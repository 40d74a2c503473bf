"""A preparation that takes its time: it says that it goes on, stops when it is another's, and is not begun for ever."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from django.utils import timezone

from submits import flow, preparing, reconcile
from submits.models import Submission, Submissions
from submits.scopes import store
from submits.states import Phase, Reason, Status
from submits.work import WorkStore, run_key
from tests.test_models import make

pytestmark = pytest.mark.django_db
TEXT = b">a\nAGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAG\n"


def queued(text: bytes = TEXT) -> Submission:
    row = make(status=Status.QUEUED)
    store().put(run_key(row.run_id, "query.fa"), text)
    return row


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Each look at the monotonic clock is a minute after the last one, and `meanwhile` happens at each."""

    def begin(meanwhile: Callable[[], None]) -> None:
        minutes = iter(range(10_000))

        def monotonic() -> float:
            meanwhile()
            return 60.0 * next(minutes)

        monkeypatch.setattr(preparing, "time", SimpleNamespace(monotonic=monotonic))

    return begin


def test_a_slow_preparation_is_not_given_up_while_it_reads_and_writes(slow: Any) -> None:
    row = queued()
    steps = 0

    def meanwhile() -> None:
        """What a gatekeeper does, and then the clock goes on for a good part of what a worker may be silent."""
        nonlocal steps
        steps += 1
        reconcile.desert_preparations(row.scope)
        beat = again(row).beat_at
        assert beat is not None
        Submission.objects.filter(pk=row.pk).update(beat_at=beat - timedelta(seconds=20))

    slow(meanwhile)
    flow.prepare(row.pk)
    found = again(row)
    assert (found.status, found.attempt) == (Status.WAITING, 1)
    assert steps > 10


@pytest.mark.parametrize("after", range(2, 12, 3))
def test_a_preparation_that_was_taken_over_stops_where_it_is(slow: Any, after: int) -> None:
    row, looks, looks_after = queued(), 0, 0

    def meanwhile() -> None:
        nonlocal looks, looks_after
        looks += 1
        looks_after += looks > after
        if looks == after:
            Submission.objects.move(again(row), Status.QUEUED, phase=Phase.RECEIVED, reason=Reason.WORKER_LOST)

    slow(meanwhile)
    flow.prepare(row.pk)
    found = again(row)
    assert (found.status, found.reason) == (Status.QUEUED, Reason.WORKER_LOST)
    assert looks_after <= 2
    assert not store().exists(run_key(row.run_id, "plan.json"))


def test_a_preparation_that_is_cancelled_takes_no_place_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    row = queued()
    writing = WorkStore.writing

    def cancelled(self: WorkStore, key: str) -> Any:
        if key.endswith("plan.json"):
            Submission.objects.move(again(row), Status.CANCELLING, phase=Phase.STOPPING, reason=Reason.CANCEL_ASKED)
        return writing(self, key)

    monkeypatch.setattr(WorkStore, "writing", cancelled)
    monkeypatch.setattr(flow, "connect", lambda scope: pytest.fail("the cluster is asked for a place"))
    flow.prepare(row.pk)
    assert (again(row).status, again(row).ticket_at) == (Status.CANCELLING, None)


def test_a_database_that_is_away_for_a_moment_ends_no_preparation(slow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    row, beat, beats = queued(), Submissions.beat, 0

    def away(self: Submissions, submission: Submission) -> bool:
        nonlocal beats
        beats += 1
        if beats == 2:
            raise OperationalError("the server closed the connection")
        return beat(self, submission)

    monkeypatch.setattr(Submissions, "beat", away)
    monkeypatch.setattr("submits.preparing.connection.close", lambda: None)
    slow(lambda: None)
    flow.prepare(row.pk)
    assert again(row).status == Status.WAITING and beats > 2


def test_a_database_that_fails_at_its_end_has_it_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    row, closed = queued(), []
    update = QuerySet.update

    def locked(self: Any, **values: Any) -> int:
        if set(values) == {"batches"}:
            raise OperationalError("database is locked")
        return update(self, **values)

    monkeypatch.setattr("submits.flow.connection.close", lambda: closed.append(True))
    with monkeypatch.context() as patch:
        patch.setattr(QuerySet, "update", locked)
        with pytest.raises(OperationalError):
            flow.prepare(row.pk)
    assert closed and (again(row).status, again(row).reason) == (Status.PREPARING, "")
    Submission.objects.filter(pk=row.pk).update(beat_at=timezone.now() - timedelta(minutes=5))
    reconcile.desert_preparations(row.scope)
    flow.prepare(row.pk)
    assert (again(row).status, again(row).batches) == (Status.WAITING, 1)


def test_a_query_that_every_worker_dies_of_is_not_taken_up_for_ever() -> None:
    row = queued()
    for lost in range(1, reconcile.PREPARATIONS + 1):
        assert Submission.objects.claim(
            row.pk, expected=Status.QUEUED, status=Status.PREPARING, phase=Phase.PREPARING, worker="w"
        ), f"not after {lost}"
        Submission.objects.filter(pk=row.pk).update(beat_at=timezone.now() - timedelta(minutes=5))
        reconcile.desert_preparations(row.scope)
    found = again(row)
    assert (found.status, found.reason) == (Status.FAILED, Reason.PREPARATION_FAILED)
    assert found.detail == "5 times the worker that prepared it was lost"
    assert found.events.filter(reason=Reason.WORKER_LOST).count() == 4
