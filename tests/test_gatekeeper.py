"""The gatekeeper's one loop, turn by turn, on the embedded cluster: whom it wakes, what it mends, what it publishes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import Task
from django.utils import timezone

from submits import cancel, live, waiting
from submits import gatekeeper as module
from submits.cluster import ApiCluster
from submits.cluster.reflector import Heard
from submits.cluster.seen import sources
from submits.flow import stand_in_line
from submits.gatekeeper import Gatekeeper
from submits.gates import naming
from submits.gates.ports import ClusterError, Unanswered
from submits.models import Submission, Watch
from submits.states import Phase, Reason, Status
from tests.gates.trying import body
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make

pytestmark = pytest.mark.django_db


class Woken:
    """In place of the broker: who was woken for what."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int]] = []

    def wake(self, task: Task[[int], None], pk: int, now: float, attempt: int) -> None:
        self.rows.append(((task.name or "").rpartition(".")[2], pk))


class Turns:
    """A gatekeeper whose watches have just been listed, whenever a test says so."""

    def __init__(self, cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("STEADY", "DOOR_STEADY"):
            monkeypatch.setattr(waiting, name, 0.0)
        monkeypatch.setattr(module, "TURN", 0.01)
        self.cluster = cluster
        self.scope = make(status=Status.FAILED).scope
        self.keeper = Gatekeeper(self.scope, cluster)
        self.woken = Woken()
        self.keeper.waker = self.woken  # type: ignore[assignment]  # the same verb

    def turn(self) -> list[tuple[str, int]]:
        for source in sources("default"):
            self.keeper.heard.put(Heard(source.name, self.cluster.list(source.kind, source.labels, source.fields)))
        self.keeper.listen()
        self.keeper.looked = -100.0
        self.woken.rows = []
        self.keeper.turn()
        return self.woken.rows

    def waiting(self, ticket: bool = True, **values: Any) -> Submission:
        now = timezone.now()
        facts = {"ticket_at": now, "moved_at": now, "until": now + timedelta(days=1), **values}
        submission = make(status=Status.WAITING, phase=Phase.IN_LINE, **facts)
        if ticket:
            stand_in_line(self.cluster, submission, facts["until"])
        return submission

    def tickets(self) -> set[str]:
        return {lease["metadata"]["name"] for lease in self.cluster.list("leases", naming.TICKETS).items}

    def view(self) -> live.View:
        return live.read(self.scope)[0]


@pytest.fixture
def turns(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(cluster, monkeypatch)


def again(submission: Submission) -> Submission:
    return Submission.objects.get(pk=submission.pk)


def full(turns: Turns) -> None:
    for number in range(3):
        run = naming.run_id(f"other{number}")
        turns.cluster.create("jobs", {**body("finalizer", run, naming.finalizer(run))})


def test_only_the_first_in_line_is_woken(turns: Turns) -> None:
    first, _second = turns.waiting(), turns.waiting()
    assert turns.turn() == [("search", first.pk)]


def test_nobody_is_woken_while_every_place_is_taken_and_the_row_says_why(turns: Turns) -> None:
    full(turns)
    row = turns.waiting()
    assert turns.turn() == []
    turns.turn()
    assert again(row).reason == Reason.WAITING_FOR_CAPACITY
    view = turns.view()
    assert (view["gate"], view["active"], view["ceiling"]) == ("B_full", 3, 3)
    assert [(p["submission"], p["position"]) for p in view["line"]] == [(row.key, 1)]
    assert {slot["what"] for slot in view["slots"]} == {"running"}


def test_a_row_that_is_to_try_later_is_left_asleep(turns: Turns) -> None:
    turns.waiting(next_try_at=timezone.now() + timedelta(minutes=1))
    assert turns.turn() == []


def test_a_waiter_whose_ticket_is_gone_makes_a_new_one_and_its_wait_goes_on(turns: Turns) -> None:
    since = timezone.now() - timedelta(minutes=3)
    row = turns.waiting(ticket=False, ticket_at=since)
    turns.turn()
    assert turns.tickets() == {naming.ticket(row.key)}
    assert again(row).ticket_at == since


def test_the_ticket_of_a_search_that_runs_or_has_ended_is_dropped_and_a_strangers_is_not(turns: Turns) -> None:
    row = turns.waiting()
    stranger = turns.waiting()
    Submission.objects.filter(pk=row.pk).update(status=Status.COMPLETED)
    Submission.objects.filter(pk=stranger.pk).delete()
    turns.turn()
    assert turns.tickets() == {naming.ticket(stranger.key)}


def test_a_wait_that_is_over_ends_the_row_and_its_ticket(turns: Turns) -> None:
    full(turns)
    turns.turn()
    long_ago = timezone.now() - timedelta(hours=2)
    stuck = turns.waiting(ticket_at=long_ago, moved_at=long_ago)
    moving = turns.waiting(ticket_at=long_ago)
    turns.turn()
    assert (again(stuck).status, again(stuck).reason) == (Status.FAILED, Reason.CAPACITY_TIMEOUT)
    assert again(moving).status == Status.WAITING
    assert turns.tickets() == {naming.ticket(moving.key)}


def test_a_finalizer_that_appears_or_ends_moves_the_line(turns: Turns) -> None:
    turns.turn()
    long_ago = timezone.now() - timedelta(hours=2)
    row = turns.waiting(moved_at=long_ago)
    turns.turn()
    assert again(row).moved_at == long_ago
    full(turns)
    turns.turn()
    assert again(row).moved_at != long_ago


def test_a_row_nobody_prepares_is_hurried(turns: Turns) -> None:
    row = make(status=Status.QUEUED)
    assert turns.turn() == [("prepare", row.pk)]


def test_a_dead_holders_gate_is_freed(turns: Turns, server: RunningCluster) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": naming.gate("default"),
            "annotations": {naming.HOLDER: "dashboard-1", naming.FAST_TTL: "60"},
        },
        "spec": {"holderIdentity": "dashboard-1", "leaseDurationSeconds": 900},
    }
    server.faults.clock.offset = -70
    turns.cluster.create("leases", lease)
    server.faults.clear()
    turns.turn()
    assert turns.cluster.get("leases", naming.gate("default")).object["spec"]["holderIdentity"] == ""


def test_a_cluster_that_does_not_answer_is_said_on_every_row_and_is_neither_busy_nor_full(turns: Turns) -> None:
    row = turns.waiting()
    turns.turn()
    turns.keeper.heard.put(Heard("gate", Unanswered("GET leases in default: no answer")))
    turns.keeper.listen()
    turns.keeper.seen.answered = -1000.0
    turns.keeper.looked = -100.0
    turns.keeper.turn()
    assert again(row).reason == Reason.COORDINATION_UNAVAILABLE
    assert "no answer" in again(row).detail
    assert turns.view()["gate"] == "unknown"
    turns.turn()
    turns.turn()
    assert again(row).reason == Reason.WAITING_IN_LINE


def test_one_is_active_and_a_spare_takes_over_when_its_claim_is_not_renewed(turns: Turns, cluster: ApiCluster) -> None:
    spare = Gatekeeper(turns.scope, cluster)
    spare.claim.name = "another"
    assert turns.keeper.is_active()
    assert not spare.is_active()
    Watch.objects.update(renewed_at=timezone.now() - timedelta(seconds=11))
    assert spare.is_active()


def test_one_that_has_become_a_spare_does_not_ask_for_the_claim_without_end(turns: Turns, cluster: ApiCluster) -> None:
    spare = Gatekeeper(turns.scope, cluster)
    spare.wait = 0.001  # as its last turn left it: a timer was nearly due
    spare.rest()
    assert spare.wait > 0.001


def test_a_bad_row_does_not_stop_the_others(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = turns.waiting(ticket=False), turns.waiting(ticket=False)

    def make_ticket(cluster: ApiCluster, row: Submission, until: Any) -> Any:
        if row.pk == bad.pk:
            raise ClusterError("refused")
        return stand_in_line(cluster, row, until)

    monkeypatch.setattr("submits.tickets.stand_in_line", make_ticket)
    turns.turn()
    assert turns.tickets() == {naming.ticket(good.key)}


def test_time_in_which_nobody_watched_is_not_held_against_who_waits(turns: Turns) -> None:
    """After a night of standing still the first look must not fail the whole line."""
    full(turns)
    long_ago = timezone.now() - timedelta(hours=9)
    row = turns.waiting(ticket_at=long_ago, moved_at=long_ago)
    turns.turn()
    assert again(row).status == Status.WAITING
    assert timezone.now() - again(row).moved_at < timedelta(minutes=1)  # type: ignore[operator]


def test_a_resume_starts_the_stillness_anew(turns: Turns, cluster: ApiCluster) -> None:
    full(turns)
    turns.turn()
    long_ago = timezone.now() - timedelta(hours=2)
    row = turns.waiting(ticket_at=long_ago, moved_at=long_ago)
    controls = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": naming.CONTROLS}}
    cluster.create("configmaps", {**controls, "data": {"drained": "true"}})
    turns.turn()
    Submission.objects.filter(pk=row.pk).update(moved_at=long_ago)
    turns.turn()
    assert again(row).status == Status.WAITING
    cluster.delete("configmaps", naming.CONTROLS)
    turns.turn()
    assert again(row).status == Status.WAITING


def test_a_refused_ticket_ends_the_row_with_the_clusters_words(turns: Turns, server: RunningCluster) -> None:
    row = turns.waiting(ticket=False)
    server.faults.add("status", method="POST", path="/leases", code=403)
    turns.turn()
    server.faults.clear()
    assert again(row).status == Status.FAILED
    assert "POST leases/" in again(row).detail


def test_one_watch_that_has_gone_quiet_while_the_others_talk_is_not_believed(turns: Turns) -> None:
    turns.waiting()
    assert len(turns.turn()) == 1
    turns.keeper.seen.listed["jobs"] -= 100
    turns.keeper.looked = -100.0
    turns.woken.rows = []
    turns.keeper.turn()
    assert turns.woken.rows == []
    assert turns.view()["gate"] == "unknown"


def test_a_cancelled_search_leaves_the_line_in_one_turn_and_the_next_one_goes_in(turns: Turns) -> None:
    first, second = turns.waiting(), turns.waiting()
    cancel.ask(first.key, "ada")
    turns.turn()
    assert again(first).status == Status.CANCELLED
    assert turns.tickets() == {naming.ticket(second.key)}
    assert turns.turn() == [("search", second.pk)]


def test_a_ticket_that_came_too_late_for_a_cancel_is_dropped(turns: Turns) -> None:
    row = turns.waiting()
    Submission.objects.filter(pk=row.pk).update(status=Status.CANCELLED)
    turns.turn()
    assert turns.tickets() == set()


def test_a_cluster_that_does_not_answer_is_said_on_what_is_being_cancelled(turns: Turns) -> None:
    row = turns.waiting()
    turns.turn()
    cancel.ask(row.key, "ada")
    turns.keeper.seen.answered = -1000.0
    turns.keeper.looked = -100.0
    turns.keeper.turn()
    assert (again(row).status, again(row).reason) == (Status.CANCELLING, Reason.COORDINATION_UNAVAILABLE)
    turns.turn()
    assert again(row).status == Status.CANCELLED


def test_a_ticket_that_the_cluster_does_not_take_is_tried_again_later_each_time(
    turns: Turns, server: RunningCluster
) -> None:
    row = turns.waiting(ticket=False)
    server.faults.add("status", method="POST", path="/leases", code=503)
    for outages in (1, 2):
        turns.turn()
        found = again(row)
        assert (found.reason, found.outages) == (Reason.COORDINATION_UNAVAILABLE, outages)
        assert found.next_try_at is not None
        assert round((found.next_try_at - timezone.now()).total_seconds() / 15) == outages
        turns.turn()
        assert again(row).outages == outages
        Submission.objects.filter(pk=row.pk).update(next_try_at=None)
        turns.keeper.tickets.made.clear()
    server.faults.clear()
    turns.turn()
    assert turns.tickets() == {naming.ticket(row.key)}


def test_what_it_may_not_do_and_why_it_hears_nothing_are_published(turns: Turns) -> None:
    turns.keeper.pulse.power = ["may not list pods"]
    turns.turn()
    assert (turns.view()["health"]["power"], turns.view()["health"]["silence"]) == (["may not list pods"], None)
    turns.keeper.seen.errors["jobs"] = Unanswered("GET jobs: no answer")
    turns.keeper.seen.answered = None
    turns.keeper.looked = -100.0
    turns.keeper.turn()
    assert turns.view()["gate"] == "unknown"
    assert turns.view()["health"]["silence"] == "GET jobs: no answer"
