"""The gatekeeper when its host's clock is set, and when the API server hangs: what it must not do, and what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from submits import cancel, reconcile
from submits.claim import RENEW, RUNS_OUT, Claim
from submits.cluster import ApiCluster, Connection, brisk
from submits.cluster.brisk import Brisk, NotAsked
from submits.cluster.clock import SystemClock
from submits.gatekeeper import LOOK, TURN, Gatekeeper
from submits.gates import naming
from submits.gates.objects import reservation_body
from submits.gates.ports import Unanswered
from submits.gates.splits import SPLIT
from submits.models import Submission, Watch
from submits.states import Reason, Status
from tests.cancelling import Runs
from tests.gates.made import RULES, reservation, sight
from tests.gates.trying import body
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_gatekeeper import Turns, again
from tests.test_models import make

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(cluster: ApiCluster, server: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Its own requests go the brisk way, and are given up soon."""
    monkeypatch.setattr(brisk, "PATIENCE", 0.3)
    made = Turns(cluster, monkeypatch)
    made.keeper = Gatekeeper(made.scope, cluster, Brisk(Connection(str(server.kubeconfig), "default")))
    made.keeper.waker = made.woken  # type: ignore[assignment]  # the same verb
    return made


@pytest.fixture
def runs(server: RunningCluster, cluster: ApiCluster) -> Runs:
    return Runs(server, cluster)


def look(turns: Turns) -> None:
    """One more turn without any news."""
    turns.keeper.looked = -100.0
    turns.keeper.turn()


# The clock -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [timedelta(seconds=400), timedelta(days=1), timedelta(days=-1)])
def test_a_step_of_our_own_clock_ends_nothing_and_removes_nothing(
    turns: Turns, server: RunningCluster, monkeypatch: pytest.MonkeyPatch, step: timedelta
) -> None:
    row = turns.waiting(until=timezone.now() + timedelta(seconds=300))
    merging = naming.run_id("merging")
    server.faults.clock.offset = -200
    finalizer = turns.cluster.create("jobs", body("finalizer", merging, naming.finalizer(merging))).object
    server.faults.clear()
    for _ in range(2):
        turns.turn()
    pin, now = naming.pin(finalizer["metadata"]["uid"]), timezone.now
    assert turns.cluster.get("jobs", pin)
    monkeypatch.setattr(SystemClock, "wall", lambda _: datetime.now(UTC) + step)
    placeless = turns.waiting(ticket=False, until=timezone.now() + timedelta(seconds=300))
    monkeypatch.setattr(timezone, "now", lambda: now() + step)
    look(turns)
    assert turns.cluster.get("jobs", pin)
    assert turns.tickets() == {naming.ticket(row.key), naming.ticket(placeless.key)}
    assert {again(row).status, again(placeless).status} == {Status.WAITING}
    turns.keeper.seen.answered = -1000.0
    look(turns)
    assert (again(row).status, again(row).reason) == (Status.WAITING, Reason.COORDINATION_UNAVAILABLE)


def test_until_the_clusters_clock_has_been_heard_no_wait_is_over(turns: Turns) -> None:
    row = turns.waiting(ticket=False, until=timezone.now() - timedelta(days=1))
    look(turns)
    assert (again(row).status, again(row).reason) == (Status.WAITING, Reason.COORDINATION_UNAVAILABLE)
    turns.turn()
    turns.keeper.seen.answered = -1000.0
    look(turns)
    assert again(row).status == Status.FAILED


def test_a_machine_that_was_suspended_believes_nothing_until_it_has_listed_afresh(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns.waiting()
    assert len(turns.turn()) == 1
    before = SystemClock.boot
    monkeypatch.setattr(SystemClock, "boot", lambda clock: before(clock) + 3600)
    turns.woken.rows = []
    look(turns)
    assert (turns.woken.rows, turns.view()["gate"]) == ([], "unknown")
    assert len(turns.turn()) == 1


# A server that hangs -------------------------------------------------------------------------------------------------


def test_after_a_request_without_an_answer_none_is_sent_in_that_turn(turns: Turns, server: RunningCluster) -> None:
    turns.turn()
    rows = [turns.waiting(ticket=False) for _ in range(4)]
    gone = turns.waiting()
    cancel.ask(gone.key, "ada")
    hanging = server.faults.add("delay", path="/(leases|jobs|pods)/?", method="POST", seconds=1.0)
    deletes = server.faults.add("delay", method="DELETE", seconds=1.0)
    look(turns)
    asked = (hanging.used, deletes.used)
    server.faults.clear()
    assert asked == (1, 0)
    assert [again(row).outages for row in rows] == [1, 0, 0, 0]
    assert (again(gone).status, again(gone).outages) == (Status.CANCELLING, 0)
    assert turns.view()["gate"] == "open"
    turns.keeper.tickets.made.clear()  # some time later
    turns.keeper.canceller.looked.clear()
    look(turns)
    assert {naming.ticket(row.key) for row in rows[1:]} <= turns.tickets()
    assert again(gone).status == Status.CANCELLED


def test_rows_that_run_are_not_asked_for_one_after_the_other(turns: Turns, server: RunningCluster) -> None:
    long_ago = timezone.now() - timedelta(minutes=5)
    rows = [make(status=Status.RUNNING, submitted_at=long_ago) for _ in range(3)]
    turns.turn()
    Submission.objects.filter(pk__in=[row.pk for row in rows]).update(status=Status.RUNNING)
    hanging = server.faults.add("delay", method="GET", path="labelSelector=elb-job-id", seconds=1.0)
    look(turns)
    server.faults.clear()
    assert hanging.used == 1
    assert {again(row).status for row in rows} == {Status.RUNNING}


def test_a_refusal_is_an_answer_and_the_next_row_has_its_turn(turns: Turns, server: RunningCluster) -> None:
    turns.turn()
    rows = [turns.waiting(ticket=False) for _ in range(3)]
    failing = server.faults.add("status", method="POST", path="/leases", code=503)
    look(turns)
    server.faults.clear()
    assert failing.used == 3
    assert [again(row).outages for row in rows] == [1, 1, 1]


def test_a_row_that_is_over_stays_so_when_its_ticket_cannot_be_dropped_at_once(
    turns: Turns, server: RunningCluster
) -> None:
    long_ago = timezone.now() - timedelta(hours=2)
    turns.turn()
    for number in range(3):
        run = naming.run_id(f"other{number}")
        turns.cluster.create("jobs", body("finalizer", run, naming.finalizer(run)))
    turns.turn()
    stuck = turns.waiting(ticket_at=long_ago, moved_at=long_ago)
    server.faults.add("status", method="DELETE", path="/leases", code=503)
    turns.turn()
    server.faults.clear()
    found = again(stuck)
    assert (found.status, found.reason) == (Status.FAILED, Reason.CAPACITY_TIMEOUT)
    assert turns.tickets() == {naming.ticket(stuck.key)}
    turns.turn()
    assert turns.tickets() == set()


def test_the_brisk_way_asks_again_in_the_next_round(server: RunningCluster, cluster: ApiCluster) -> None:
    way = Brisk(Connection(str(server.kubeconfig), "default"))
    asking = ApiCluster(way, "default")
    server.faults.add("drop_request", times=1)
    with pytest.raises(Unanswered):
        asking.list("leases")
    with pytest.raises(NotAsked):
        asking.list("leases")
    way.round()
    assert asking.list("leases").items == ()


def test_a_request_that_hangs_costs_nobody_the_claim() -> None:
    assert timedelta(seconds=RENEW + brisk.PATIENCE + LOOK + TURN) < RUNS_OUT


def test_a_claim_is_given_up_and_free_at_once(turns: Turns) -> None:
    one, other = Claim(turns.scope, "one"), Claim(turns.scope, "other")
    assert (one.held(100.0), other.held(100.0)) == (True, False)
    one.give_up()
    assert other.held(100.0)
    assert (one.held(101.0), one.held(103.0)) == (True, False)  # it hears of it when it renews
    Watch.objects.update(renewed_at=timezone.now() - RUNS_OUT)
    assert one.held(104.0)


# What is kept, and controls that nobody can read ---------------------------------------------------------------------


@pytest.mark.parametrize(("keep", "status"), [(Reason.MARKER_MISSING, Status.FAILED), (SPLIT, Status.SUBMITTING)])
def test_only_a_reservation_that_is_kept_for_a_missing_search_ends_its_row(keep: str, status: Status) -> None:
    row = make(status=Status.SUBMITTING, beat_at=timezone.now() - timedelta(minutes=5))
    place = reservation(row.run_id)
    place["metadata"]["annotations"][naming.KEEP] = str(keep)
    reconcile.desert_admissions(row.scope, sight(jobs=[place]))
    assert again(row).status == status


@pytest.mark.parametrize(("keep", "left"), [("marker_missing", 0), (SPLIT, 1)])
def test_a_cancel_removes_what_is_kept_for_a_missing_search_and_not_a_splits_place(
    runs: Runs, keep: str, left: int
) -> None:
    run = runs(Status.WAITING)
    run.cluster.create("jobs", reservation_body(run.row.run_id, "dashboard-1", 7, RULES, leashed=True, keep=keep))
    run.step()
    assert len(run.left()) == left


def test_controls_that_nobody_can_read_stop_the_line_and_every_row_says_which(turns: Turns) -> None:
    row = turns.waiting()
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": naming.CONTROLS}}
    turns.cluster.create("configmaps", {**config, "data": {"ceiling": "-1"}})
    assert turns.turn() == []
    turns.turn()
    told = "elb-coord-controls: ceiling '-1' cannot be read; give a whole number, or take the key out"
    assert (again(row).reason, again(row).detail) == (Reason.DRAINED, told)
    assert turns.view()["drained"]
    assert told in turns.view()["health"]["note"]

    def write(ceiling: str) -> None:
        patch = [{"op": "replace", "path": "/data/ceiling", "value": ceiling}]
        turns.cluster.patch("configmaps", naming.CONTROLS, patch)

    write("two")
    turns.turn()
    assert "'two'" in again(row).detail
    write("1 ")
    assert turns.turn() == [("search", row.pk)]
