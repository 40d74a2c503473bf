"""claim() and move(): one winner, one event, no illegal step, no older token."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from submits.gates import naming
from submits.models import Cluster, Database, IllegalMove, Submission, new_key
from submits.states import Phase, Reason, Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def submission() -> Submission:
    return make()


def make(**values: Any) -> Submission:
    scope, _ = Cluster.objects.get_or_create(name="test", namespace="default")
    owner, _ = User.objects.get_or_create(username="ada")
    database, _ = Database.objects.get_or_create(
        scope=scope, key="db", defaults={"title": "A database", "path": "/db", "molecule": "nucl"}
    )
    key = new_key()
    usual = {"owner": owner, "scope": scope, "title": "t", "program": "blastn", "database": database}
    return Submission.objects.create(key=key, run_id=naming.run_id(key), **{**usual, **values})


def claim(pk: int) -> Submission | None:
    return Submission.objects.claim(
        pk, expected=Status.QUEUED, status=Status.PREPARING, phase=Phase.PREPARING, worker="w"
    )


def test_a_claim_is_won_once(submission: Submission) -> None:
    won = claim(submission.pk)
    assert won is not None
    assert (won.status, won.attempt, won.version) == (Status.PREPARING, 1, 1)
    assert claim(submission.pk) is None
    assert submission.events.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_ten_who_claim_at_once_one_wins() -> None:
    pk, start, won = make().pk, threading.Barrier(10), []

    def race() -> None:
        start.wait()
        won.append(claim(pk))
        connection.close()

    threads = [threading.Thread(target=race) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one is not None for one in won) == 1


def test_a_move_writes_its_event_and_tells_its_object(submission: Submission) -> None:
    assert Submission.objects.move(submission, Status.FAILED, phase=Phase.ENDED, reason=Reason.BAD_QUERY, detail="why")
    fresh = Submission.objects.get(pk=submission.pk)
    assert (submission.status, submission.version) == (fresh.status, fresh.version) == (Status.FAILED, 1)
    assert fresh.finished_at is not None
    event = fresh.events.get()
    assert (event.status, event.reason, event.detail, event.version) == ("failed", "bad_query", "why", 1)


def test_a_move_from_an_older_version_changes_nothing(submission: Submission) -> None:
    stale = Submission.objects.get(pk=submission.pk)
    assert claim(submission.pk)
    assert not Submission.objects.move(stale, Status.FAILED, phase=Phase.ENDED)
    assert Submission.objects.get(pk=submission.pk).status == Status.PREPARING
    assert submission.events.count() == 1


def test_a_step_the_table_does_not_have_is_refused(submission: Submission) -> None:
    with pytest.raises(IllegalMove, match="queued -> running"):
        Submission.objects.move(submission, Status.RUNNING, phase=Phase.STARTING)
    with pytest.raises(IllegalMove):
        Submission.objects.claim(
            submission.pk, expected=Status.COMPLETED, status=Status.RUNNING, phase=Phase.STARTING, worker="w"
        )


def test_a_smaller_fencing_token_is_refused() -> None:
    submission = make(status=Status.SUBMITTING, token=50)
    with pytest.raises(IllegalMove, match="token 49"):
        Submission.objects.move(submission, Status.SUBMITTING, phase=Phase.GATE_TAKEN, token=49)
    assert Submission.objects.move(submission, Status.SUBMITTING, phase=Phase.GATE_TAKEN, token=51)


def test_facts_alone_make_no_event_and_nothing_new_makes_no_write() -> None:
    submission = make(status=Status.RUNNING, phase=Phase.SEARCHING)
    assert Submission.objects.move(submission, Status.RUNNING, phase=Phase.SEARCHING, batches_done=2)
    assert submission.events.count() == 0
    version = submission.version
    assert Submission.objects.move(submission, Status.RUNNING, phase=Phase.SEARCHING, batches_done=2)
    assert submission.version == version


def test_a_sign_of_life_counts_only_for_the_claim_it_belongs_to(submission: Submission) -> None:
    won = claim(submission.pk)
    assert won is not None
    assert Submission.objects.beat(won)
    Submission.objects.filter(pk=won.pk).update(attempt=2)
    assert not Submission.objects.beat(won)


def test_people_see_their_own_and_operators_all(submission: Submission) -> None:
    bob, operator = User(username="bob"), User(username="op", is_staff=True)
    bob.save()
    operator.save()
    assert list(Submission.objects.visible_to(submission.owner)) == [submission]
    assert list(Submission.objects.visible_to(bob)) == []
    assert list(Submission.objects.visible_to(operator)) == [submission]


def test_a_claim_ends_what_was_waited_for() -> None:
    waiting = make(status=Status.WAITING, reason=Reason.WAITING_FOR_CAPACITY, detail="3/3")
    won = Submission.objects.claim(
        waiting.pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker="w"
    )
    assert won is not None
    assert (won.reason, won.detail, won.events.get().reason) == ("", "", "")


def test_only_a_cluster_that_was_restored_may_take_a_token_back() -> None:
    row = make(status=Status.SUBMITTING, token=50)
    restored = Reason.CLUSTER_RESTORED
    assert Submission.objects.move(row, Status.WAITING, phase=Phase.IN_LINE, reason=restored, token=0)
    assert Submission.objects.get(pk=row.pk).token == 0


def test_a_claim_that_is_not_ones_own_any_more_gives_no_sign_of_life_and_lets_nothing_go(
    submission: Submission,
) -> None:
    won = claim(submission.pk)
    assert won is not None
    Submission.objects.let_go(won)
    assert Submission.objects.get(pk=won.pk).worker == "w"  # nobody waits for that
    other = Submission.objects.get(pk=won.pk)
    Submission.objects.move(other, Status.CANCELLING, phase=Phase.STOPPING)
    assert not Submission.objects.beat(won)
    Submission.objects.filter(pk=won.pk).update(attempt=2)
    Submission.objects.let_go(won)
    assert Submission.objects.get(pk=won.pk).worker == "w"
    Submission.objects.let_go(Submission.objects.get(pk=won.pk))
    assert Submission.objects.get(pk=won.pk).worker == ""


def test_a_wait_ends_when_the_line_has_stood_still_for_as_long_and_at_its_end_at_the_latest() -> None:
    began = timezone.now()
    moved, until = began + timedelta(seconds=60), began + timedelta(seconds=100)
    row = make(status=Status.WAITING, ticket_at=began, moved_at=moved, until=until)
    assert row.wait_ends(30) == began + timedelta(seconds=90)
    assert row.wait_ends(1800) == until
    assert make(status=Status.RUNNING, ticket_at=began).wait_ends(30) is None
