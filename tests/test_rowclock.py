"""Hosts whose clocks are wrong: what one writes into a row, another takes neither for old nor for not yet due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from submits import cancel, flow, live, reconcile, rowclock
from submits.claim import Claim
from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.objects import notes_of, parse_time
from submits.gates.verdicts import Outcome, Verdict
from submits.models import Submission
from submits.scopes import rules, store
from submits.shown.look import Look
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.gates.made import sight
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make
from tests.views import factory

pytestmark = pytest.mark.django_db
Elsewhere = Callable[[], AbstractContextManager[None]]
OFF = [timedelta(minutes=10), timedelta(minutes=-10)]


@pytest.fixture(params=OFF, ids=["fast", "slow"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """`with elsewhere():` is on a host whose clock is ten minutes off."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite is a file of one machine, which has one clock")
    right = timezone.now

    @contextmanager
    def there() -> Iterator[None]:
        with monkeypatch.context() as host:
            host.setattr(timezone, "now", lambda: right() + request.param)
            yield

    return there


def claimed(status: Status, expected: Status, phase: Phase) -> Submission:
    won = Submission.objects.claim(
        make(status=expected).pk, expected=expected, status=status, phase=phase, worker="far:1"
    )
    assert won is not None
    return won


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


def test_a_worker_that_lives_is_not_given_up_and_a_dead_one_is(elsewhere: Elsewhere) -> None:
    with elsewhere():
        prepares = claimed(Status.PREPARING, Status.QUEUED, Phase.PREPARING)
        submits = claimed(Status.SUBMITTING, Status.WAITING, Phase.GATE_TAKEN)
        assert Submission.objects.beat(submits)
    reconcile.desert_preparations(prepares.scope)
    reconcile.desert_admissions(submits.scope, sight())
    assert (again(prepares).status, again(submits).status) == (Status.PREPARING, Status.SUBMITTING)
    times = rules().times
    silent = timedelta(seconds=times.leash + times.kill + times.heartbeat + 1)
    Submission.objects.filter(pk=submits.pk).update(beat_at=rowclock.now() - silent)
    reconcile.desert_admissions(submits.scope, sight())
    assert again(submits).reason == Reason.WORKER_LOST


def test_a_next_try_is_made_when_it_was_announced(elsewhere: Elsewhere) -> None:
    row = make(status=Status.SUBMITTING)
    with elsewhere():
        flow.record(row, Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE))
    again_at = again(row).next_try_at
    assert again_at is not None and 0 < (again_at - rowclock.now()).total_seconds() <= 15
    with elsewhere():
        flow.lead_through(row.pk)
        assert again(row).attempt == 0  # not before
    Submission.objects.filter(pk=row.pk).update(next_try_at=rowclock.now())
    with elsewhere():
        assert Submission.objects.claim(
            row.pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker="far:1"
        )


def test_a_spare_takes_no_claim_that_is_renewed(elsewhere: Elsewhere) -> None:
    scope = make(status=Status.FAILED).scope
    first, spare = Claim(scope, "near:1"), Claim(scope, "far:1")
    assert first.held(100.0)
    with elsewhere():
        assert not spare.held(100.0)
    first.give_up()
    with elsewhere():
        assert spare.held(110.0)
    assert not first.held(110.0)


def test_a_submit_that_lives_is_waited_for_by_a_cancel(elsewhere: Elsewhere, cluster: ApiCluster) -> None:
    with elsewhere():
        row = claimed(Status.SUBMITTING, Status.WAITING, Phase.GATE_TAKEN)
    cancel.ask(row.key, "ada")
    cancel.attempt(again(row), cluster)
    assert again(row).reason == Reason.CANCEL_WAITS_FOR_SUBMIT


def test_what_is_published_elsewhere_is_neither_stale_nor_of_tomorrow(elsewhere: Elsewhere) -> None:
    scope = make(status=Status.FAILED).scope
    with elsewhere():
        live.publish(scope, live.empty_view(3))
    look = Look.at(scope)
    assert look.stamped_at is not None and abs((look.now - look.stamped_at).total_seconds()) < 5
    assert not look.stale
    with elsewhere():
        assert not Look.at(scope).stale


@pytest.mark.parametrize("off", [600, -600])
def test_a_wait_begins_and_ends_by_the_clusters_clock(
    off: int, server: RunningCluster, cluster: ApiCluster, settings: Settings
) -> None:
    """Whose clock the gates go by: theirs is ten minutes from the rows'."""
    settings.KUBECONFIG = str(server.kubeconfig)
    row = make(status=Status.QUEUED, database=factory.database(), program="blastp")
    store().put(run_key(row.run_id, "query.fa"), b">a\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERM\n")
    server.faults.clock.offset = off
    flow.prepare(row.pk)
    found = again(row)
    (ticket,) = cluster.list("leases", naming.TICKETS).items
    assert found.ticket_at == found.moved_at == parse_time(ticket["metadata"]["creationTimestamp"])
    assert found.until is not None and found.ticket_at is not None
    assert found.until == parse_time(notes_of(ticket)[naming.UNTIL])
    assert abs((found.until - found.ticket_at).total_seconds() - rules().times.until) < 5
    assert abs(abs((found.ticket_at - found.updated_at).total_seconds()) - 600) < 30
