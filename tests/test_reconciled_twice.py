"""Two who reconcile the same rows at the same moment: each row is mended once, and both go on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.utils import timezone

from submits import reconcile
from submits.claim import Claim
from submits.cluster import ApiCluster
from submits.engine.outcome import write_outcome
from submits.models import Submission, Watch
from submits.scopes import store
from submits.states import ENDED, Phase, Reason, Status
from tests.cancelling import outcome
from tests.gates.made import job, sight
from tests.test_models import make

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], object]) -> None:
    """Each in a thread, begun at the same moment; what one of them raises is raised here."""
    start, raised = threading.Barrier(len(acts)), []

    def act(do: Callable[[], object]) -> None:
        start.wait()
        try:
            do()
        except BaseException as error:
            raised.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=act, args=[do]) for do in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert raised == []


def told(submission: Submission) -> list[tuple[str, str]]:
    return list(submission.events.values_list("status", "reason"))


def test_every_kind_of_stale_row_is_mended_once(cluster: ApiCluster) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    dead = {"worker": "w", "beat_at": long_ago}
    unprepared = make(status=Status.PREPARING, phase=Phase.PREPARING, **dead)
    lost = make(status=Status.SUBMITTING, phase=Phase.SUBMIT_RUNNING, **dead)
    submitted = make(status=Status.SUBMITTING, phase=Phase.SUBMIT_RUNNING, **dead)
    waiting = make(status=Status.WAITING, phase=Phase.IN_LINE)
    done = make(status=Status.RUNNING, phase=Phase.MERGING, submitted_at=long_ago)
    vanished = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=long_ago)
    write_outcome(store(), done.run_id, outcome("succeeded"))
    seen = sight(jobs=[job("finalizer", row.run_id, active=1) for row in (submitted, waiting)])

    def mend() -> None:
        scope = Submission.objects.get(pk=lost.pk).scope
        queue = list(Submission.objects.filter(status=Status.WAITING))
        for _ in range(3):
            reconcile.desert_preparations(scope)
            reconcile.desert_admissions(scope, seen)
            reconcile.find_submitted(queue, seen)
            reconcile.follow(scope, seen, cluster)

    at_once(mend, mend)
    assert told(unprepared) == [("queued", "worker_lost")]
    assert told(lost) == [("waiting", "worker_lost")]
    assert told(submitted) == told(waiting) == [("running", "")]
    assert told(done) == [("completed", "")]
    assert told(vanished) == [("failed", Reason.RUN_LOST)]
    assert Submission.objects.filter(status__in=ENDED).count() == 2


def test_what_was_found_is_said(cluster: ApiCluster) -> None:
    lost = make(
        status=Status.SUBMITTING,
        phase=Phase.GATE_TAKEN,
        worker="onebox:17",
        beat_at=timezone.now() - timedelta(minutes=5),
    )
    reconcile.desert_admissions(lost.scope, sight())
    event = lost.events.get()
    assert "onebox:17" in event.detail and "nothing of it is in the cluster" in event.detail


def test_of_two_gatekeepers_that_ask_at_once_one_is_active() -> None:
    scope = make(status=Status.FAILED).scope
    active: list[bool] = []

    def ask(claim: Claim) -> None:
        active.append(claim.held(100.0))

    for _ in range(3):
        Watch.objects.all().delete()
        active.clear()
        at_once(*(partial(ask, Claim(scope, f"keeper {number}")) for number in range(2)))
        assert sorted(active) == [False, True]
