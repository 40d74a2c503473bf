"""Cancelling on the embedded cluster: what is deleted, in which order, and what must be seen before it is said."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from submits import cancel
from submits.cluster import ApiCluster
from submits.ending import by_outcome
from submits.engine.outcome import write_outcome
from submits.gates import naming
from submits.gates.counting import occupied
from submits.gates.objects import guard_body, ticket_body
from submits.models import Submission
from submits.scopes import store
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.cancelling import NOW, Runs, outcome
from tests.gates.trying import take_gate
from tests.gates.wire import Dead, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make
from tests.world import SCALE, until

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(server: RunningCluster, cluster: ApiCluster) -> Runs:
    return Runs(server, cluster)


def test_a_running_search_is_cancelled_when_nothing_of_it_is_left_and_not_before(runs: Runs) -> None:
    run, other = runs(), runs(ask=False)
    run.parts("sleep", "300")
    run.reserve()
    other.parts()
    until(lambda: len(cancel.pods_of(run.row, run.cluster)) == 5)

    def over() -> bool:
        ended = run.over()
        left = run.left()
        assert not (ended and left)
        # As long as anything of it may write, every door counts its place.
        if any(map(cancel.at_work, cancel.pods_of(run.row, run.cluster))):
            listing = run.cluster.list("jobs", naming.COUNTED)
            assert run.row.run_id in occupied(list(listing.items), listing.date, 300)
        return ended

    until(over, 20)
    assert (run.row.status, run.row.reason) == (Status.CANCELLED, Reason.CANCELLED_BY_OWNER)
    order = run.deleted()
    finalizer = order.index(naming.finalizer(run.row.run_id))
    assert all(order.index(name) < finalizer for name in order if name.startswith(("setup", "submit", "blast")))
    assert all(order.index(name) > finalizer for name in order if name.startswith(("elb-pin", "elb-resv")))
    assert all(sent.body["propagationPolicy"] == "Background" for sent in run.wire.sent if "DELETE jobs" in sent.words)
    assert all(sent.body["preconditions"]["uid"] for sent in run.wire.sent if "DELETE jobs" in sent.words)
    assert len(cancel.jobs_of(other.row, other.cluster)) == 5 + 1  # and the pin
    assert list(dict.fromkeys(run.row.events.values_list("status", flat=True))) == ["cancelling", "cancelled"]


def test_wherever_the_process_dies_the_next_one_goes_on(runs: Runs) -> None:
    """Its last request may have been done or not; either way nothing is left and it is said once."""
    deaths, died = 0, []
    while True:
        run = runs()
        run.parts()
        run.reserve()
        run.wire.dies_at = deaths
        try:
            until(run.over)
        except Dead:
            died.append(deaths)
            deaths += 1 if SCALE > 1 else 3
        else:
            break
        run.wire.dies_at = None
        until(run.over)
        assert (run.row.status, run.left()) == (Status.CANCELLED, [])
    assert died[-1] > 15


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("^DELETE leases", 503),
        ("^GET leases", 403),
        (r"^GET jobs\?", 403),
        (r"^GET jobs\?", 503),
        ("^PATCH jobs", 403),
        ("^DELETE jobs", 403),
        ("^DELETE jobs", 503),
        ("^GET pods", 403),
    ],
)
def test_a_refusal_or_an_outage_keeps_it_cancelling_with_the_clusters_words(
    runs: Runs, pattern: str, code: int
) -> None:
    run = runs()
    run.parts()
    words = 'User "coordui" cannot do this' if code == 403 else "we are closed"
    run.wire.refuse(pattern, words, code)
    row = run.step()
    assert row.status == Status.CANCELLING
    assert row.reason == (Reason.CANCEL_REFUSED if code == 403 else Reason.COORDINATION_UNAVAILABLE)
    assert words in row.detail
    assert row.next_try_at and row.outages == 1
    run.wire.refusals.clear()
    until(run.over)
    assert (run.row.status, run.left()) == (Status.CANCELLED, [])


def test_the_last_look_decides(runs: Runs) -> None:
    """What turns up between the deletes and the proof is found by the proof."""
    run = runs()
    run.parts()
    digest = run.row.run_id[4:16]
    run.wire.after(f"^DELETE jobs/{naming.finalizer(run.row.run_id)}", lambda: run.job("blast", f"late-{digest}"))
    row = run.step()
    assert row.status == Status.CANCELLING and f"late-{digest}" in row.detail
    until(run.over)
    assert (run.row.status, run.left()) == (Status.CANCELLED, [])


def test_the_finalizer_holds_the_place_until_nobody_makes_jobs_any_more(runs: Runs) -> None:
    run = runs()
    run.parts()
    digest = run.row.run_id[4:16]
    run.wire.after(f"^DELETE jobs/submit-{digest}", lambda: run.job("blast", f"more-{digest}"))
    assert run.step().status == Status.CANCELLING
    assert naming.finalizer(run.row.run_id) not in run.deleted()
    finalizer = run.cluster.get("jobs", naming.finalizer(run.row.run_id)).object
    assert finalizer["spec"]["suspend"] is True
    until(run.over)
    assert run.left() == []


def test_a_waiting_search_leaves_the_line_at_once(runs: Runs) -> None:
    run = runs(Status.WAITING)
    name = naming.ticket(run.row.key)
    run.cluster.create("leases", ticket_body(run.row.key, run.row.run_id, "dashboard", NOW + timedelta(days=1)))
    assert run.step().status == Status.CANCELLED
    assert name not in [lease["metadata"]["name"] for lease in run.cluster.list("leases").items]
    assert len(run.wire.sent) <= 8


@pytest.mark.parametrize("status", [Status.QUEUED, Status.PREPARING])
def test_one_that_has_no_place_yet_is_cancelled_at_once(runs: Runs, status: Status) -> None:
    assert runs(status, worker="w", beat_at=timezone.now()).step().status == Status.CANCELLED


def test_a_submit_under_way_is_waited_for_until_its_worker_has_let_go(runs: Runs) -> None:
    run = runs(Status.SUBMITTING, worker="w", beat_at=timezone.now(), attempt=3)
    run.parts()
    row = run.step()
    assert (row.status, row.reason) == (Status.CANCELLING, Reason.CANCEL_WAITS_FOR_SUBMIT)
    assert run.deleted() == []
    Submission.objects.let_go(row)
    until(run.over)
    assert run.row.status == Status.CANCELLED


def test_a_dead_workers_submit_is_waited_for_until_its_requests_are_dead(runs: Runs) -> None:
    for silent, reason in ((110, Reason.CANCEL_WAITS_FOR_SUBMIT), (120, Reason.CANCELLED_BY_OWNER)):
        run = runs(Status.SUBMITTING, worker="w", beat_at=timezone.now() - timedelta(seconds=silent))
        assert run.step().reason == reason


def test_while_door_a_is_held_for_it_nothing_is_taken_away(runs: Runs, cluster: ApiCluster) -> None:
    run = runs()
    run.parts()
    take_gate(run)  # type: ignore[arg-type]  # of it only the cluster is used
    notes = {naming.HOLDER: "openapi-1", naming.FOR: run.row.run_id}
    path = "/metadata/annotations"
    cluster.patch("leases", naming.gate("default"), [{"op": "add", "path": path, "value": notes}])
    assert run.step().reason == Reason.CANCEL_WAITS_FOR_SUBMIT
    cluster.delete("leases", naming.gate("default"))
    until(run.over)


def test_a_dead_attempts_reservation_is_left_to_the_repair_and_one_that_is_kept_is_not(runs: Runs) -> None:
    run = runs(Status.SUBMITTING)
    name = run.reserve()
    row = run.step()
    assert row.status == Status.CANCELLING and name in row.detail
    keep = [{"op": "add", "path": "/metadata/annotations/coordui~1keep", "value": "marker_missing"}]
    run.cluster.patch("jobs", name, keep)
    assert run.step().status == Status.CANCELLED
    assert run.left() == []


def test_a_guard_that_names_it_goes_too(runs: Runs) -> None:
    run = runs()
    work = run.job("blast", "blast-guarded")
    run.cluster.create("jobs", guard_body(run.row.run_id, work))
    until(run.over)
    assert run.left() == []


def test_a_search_that_had_ended_before_is_not_called_cancelled(runs: Runs) -> None:
    done, broken = runs(), runs()
    done.parts()
    write_outcome(store(), done.row.run_id, outcome("succeeded"))
    write_outcome(store(), broken.row.run_id, outcome("failed"))
    assert (done.step().status, done.row.hits) == (Status.COMPLETED, 9)
    assert (broken.step().status, broken.row.reason) == (Status.FAILED, Reason.SEARCH_FAILED)


def test_an_outcome_of_our_own_doing_fails_nothing_and_one_with_results_counts(runs: Runs) -> None:
    for written, expected in (("failed", Status.CANCELLED), ("succeeded", Status.COMPLETED)):
        run = runs()
        run.parts()
        made = outcome(written)
        run.wire.after("^DELETE jobs/blast-1", lambda run=run, made=made: write_outcome(store(), run.row.run_id, made))  # type: ignore[misc]
        until(run.over)
        assert run.row.status == expected
        assert run.left() == []


def test_the_batches_that_were_done_are_counted_from_their_tables(runs: Runs) -> None:
    run = runs(batches=20)
    for number in (1, 4):
        store().put(run_key(run.row.run_id, "out", f"{number:04d}.tsv"), b"")
    store().put(run_key(run.row.run_id, "out", "0005.json"), b"{}")
    until(run.over)
    assert (run.row.batches_done, run.row.batches) == (2, 20)


@pytest.mark.django_db(transaction=True)
def test_two_gatekeepers_at_once_cancel_it_once(runs: Runs, server: RunningCluster) -> None:
    run = runs()
    run.parts()
    start = threading.Barrier(2)

    def keep_at_it() -> None:
        asked, _ = wired(server)
        start.wait()
        canceller = cancel.Canceller()
        now = 0.0
        while Submission.objects.filter(pk=run.row.pk, status=Status.CANCELLING).exists():
            now += 1.0
            canceller.turn(run.row.scope, asked, now)
        connection.close()

    threads = [threading.Thread(target=keep_at_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert run.row.events.filter(status="cancelled").count() == 1
    assert run.left() == []


def test_asked_for_twice_the_first_stays_named_and_an_ended_one_stays_as_it_is() -> None:
    row = make(status=Status.RUNNING)
    assert cancel.ask(row.key, "ann", "too large") and cancel.ask(row.key, "ada")
    row.refresh_from_db()
    assert (row.cancel_by, row.cancel_why, row.phase) == ("ann", "too large", Phase.STOPPING)
    assert row.events.get().detail == "asked for by ann: too large"
    for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        ended = make(status=status)
        assert not cancel.ask(ended.key, "ada")
        assert Submission.objects.get(pk=ended.pk).status == status


def test_an_operators_cancel_says_who_and_why(runs: Runs) -> None:
    run = runs(ask=False)
    cancel.ask(run.row.key, "ann", "the node is needed")
    until(run.over)
    assert run.row.reason == Reason.CANCELLED_BY_OPERATOR
    assert run.row.detail == "asked for by ann: the node is needed"


def test_a_bad_row_keeps_nobody_else_waiting(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = runs(Status.WAITING), runs(Status.WAITING)
    monkeypatch.setattr(cancel, "by_outcome", lambda row: {}[row.pk] if row.pk == bad.row.pk else by_outcome(row))
    cancel.Canceller().turn(good.row.scope, good.asked, 100.0)
    assert Submission.objects.get(pk=good.row.pk).status == Status.CANCELLED


def test_a_silent_cluster_is_said_on_the_row(runs: Runs) -> None:
    run = runs()
    cancel.unanswered(run.row.scope, "no answer")
    row = Submission.objects.get(pk=run.row.pk)
    assert (row.reason, row.detail) == (Reason.COORDINATION_UNAVAILABLE, "no answer")
    until(run.over)


def test_a_cancel_that_meets_another_change_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    row, words = make(status=Status.RUNNING, phase=Phase.SEARCHING), cancel.who

    def meanwhile(by: str, why: str) -> str:
        monkeypatch.undo()
        Submission.objects.move(Submission.objects.get(pk=row.pk), Status.RUNNING, phase=Phase.MERGING)
        return words(by, why)

    monkeypatch.setattr(cancel, "who", meanwhile)
    assert cancel.ask(row.key, "ada")
    assert list(row.events.values_list("phase", flat=True)) == ["merging", "stopping"]


def test_what_was_refused_is_tried_again_at_the_time_that_is_announced(runs: Runs) -> None:
    run, canceller = runs(Status.WAITING), cancel.Canceller()
    run.wire.refuse("^GET pods", "no", 503)
    canceller.turn(run.row.scope, run.asked, 100.0)
    asked = len(run.wire.sent)
    canceller.turn(run.row.scope, run.asked, 200.0)
    assert len(run.wire.sent) == asked
    Submission.objects.filter(pk=run.row.pk).update(next_try_at=timezone.now())
    run.wire.refusals.clear()
    canceller.turn(run.row.scope, run.asked, 200.1)
    assert Submission.objects.get(pk=run.row.pk).status == Status.CANCELLED


def test_what_fails_because_we_took_it_away_is_cancelled_by_whoever_goes_on(runs: Runs) -> None:
    run = runs()
    run.parts()
    run.wire.after("^DELETE jobs/blast-1", lambda: setattr(run.wire, "dies_at", 0))
    with pytest.raises(Dead):
        run.step()
    write_outcome(store(), run.row.run_id, outcome("failed"))
    run.wire.dies_at = None
    until(run.over)
    assert run.row.status == Status.CANCELLED
