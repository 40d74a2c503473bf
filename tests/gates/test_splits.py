"""A split search: one place, children through Gate A one at a time, and what happens when the place is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.line import Sight
from submits.gates.objects import Controls, Gate, notes_of
from submits.gates.ports import KILLED, Knobs, Object
from submits.gates.repair import Bookkeeping, plan
from submits.gates.splits import (
    Budget,
    Placed,
    PlaceGone,
    admit_child,
    child_may,
    due,
    leave_place,
    next_child,
    over,
    place,
    put_off,
    spend,
    tried,
    wait_for_gate,
)
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from submits.states import Reason
from tests.gates.made import NOW, RULES, lease, reservation, sight
from tests.gates.trying import FakeSubmit, Try, body, take_gate
from tests.onebox.cluster.fixtures import RunningCluster

CLOCK = SystemClock()


class Split:
    """A parent and its children, each try asked for by a test."""

    def __init__(self, cluster: ApiCluster, **knobs: Any) -> None:
        self.cluster, self.one = cluster, Try(cluster, **knobs)
        self.parent = self.one.what
        self.rules, self.submit = self.one.rules, FakeSubmit(self.one.finalizer)

    @property
    def means(self) -> Means:
        return Means(self.cluster, CLOCK, self.submit, self.rules, self.one.report)

    def place(self) -> Placed | Verdict:
        return place(self.parent, self.means)

    def placed(self) -> Placed:
        self.one.stand_in_line()
        placed = self.place()
        assert isinstance(placed, Placed)
        return placed

    def child(self, placed: Placed, run_id: str = "", submit: FakeSubmit | None = None) -> Verdict | PlaceGone:
        run = Run(self.parent.submission, run_id or naming.child(self.parent.run_id), self.parent.party)
        self.submit = submit or FakeSubmit(self.one.finalizer)
        return admit_child(run, placed, self.means)

    def reservation(self, placed: Placed) -> Object:
        return self.cluster.get("jobs", placed.name).object

    def places(self) -> int:
        jobs = self.cluster.list("jobs", naming.COUNTED)
        seen = Sight(Gate.read(None), (), jobs.items, Controls(), jobs.date, self.rules)
        return len(seen.places)


def test_a_parent_stands_in_line_once_submits_nothing_and_keeps_its_place(cluster: ApiCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    assert split.one.jobs() == [placed.name]
    assert (split.one.holder(), split.one.has_ticket()) == ("", False)
    made = split.reservation(placed)
    assert notes_of(made)[naming.FOR] == split.parent.run_id
    books = Bookkeeping()
    for now in (0, 10_000):
        assert plan(sight(jobs=[made]), books, now) == []  # goes only by its owner or its deadline


def test_a_parent_is_counted_like_any_other_search(cluster: ApiCluster) -> None:
    split = Split(cluster, ceiling=1)
    split.one.finalizer(naming.run_id("other"))
    verdict = split.place()
    assert isinstance(verdict, Verdict)
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.WAITING_FOR_CAPACITY)
    assert len(split.one.jobs()) == 1


def test_children_go_through_without_a_count_and_share_one_place(cluster: ApiCluster) -> None:
    split = Split(cluster, ceiling=1)
    placed = split.placed()
    for _ in range(3):
        verdict = split.child(placed)
        assert isinstance(verdict, Verdict)
        assert verdict.outcome is Outcome.SUBMITTED
    assert len(split.one.jobs()) == 4
    assert split.places() == 1
    leave_place(placed, split.means)
    assert placed.name not in split.one.jobs()
    assert split.places() == 1


def test_a_childs_id_is_its_parents_with_eight_random_digits_and_its_hold_names_it(cluster: ApiCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    seen: list[str] = []
    split.child(placed, submit=FakeSubmit(lambda run: seen.extend((run, Gate.read(split.one.gate()).run_id))))
    assert seen[0] == seen[1]
    parent, _, own = seen[0].partition(".")
    assert (parent, len(own)) == (split.parent.run_id, 8)
    assert int(own, 16) >= 0
    assert naming.child("job-1") != naming.child("job-1")


def test_a_child_puts_the_deadline_off_before_it_submits_and_ends_the_waiting(
    cluster: ApiCluster, server: RunningCluster
) -> None:
    split = Split(cluster)
    placed = split.placed()
    wait_for_gate(placed, "job-1.aaaaaaaa", split.means)
    assert notes_of(split.reservation(placed))[naming.CHILD_WAITS] == "job-1.aaaaaaaa"
    old = replace(placed, since=placed.since - timedelta(seconds=100))
    seen: list[Object] = []
    split.child(old, submit=FakeSubmit(lambda run: seen.append(split.reservation(placed))))
    assert seen[0]["spec"]["activeDeadlineSeconds"] >= 100 + split.rules.times.reservation
    assert not notes_of(seen[0])[naming.CHILD_WAITS]


def test_a_deadline_is_never_brought_forward(cluster: ApiCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    put = put_off(placed, placed.since + timedelta(seconds=500), split.means)
    assert isinstance(put, Placed)
    again = put_off(put, placed.since, split.means)
    assert isinstance(again, Placed)
    assert again.seconds == put.seconds == split.reservation(placed)["spec"]["activeDeadlineSeconds"] == 515


@pytest.mark.parametrize("how", ["gone", "ended"])
def test_a_child_whose_parents_place_is_gone_gives_the_gate_back_and_submits_nothing(
    cluster: ApiCluster, server: RunningCluster, how: str
) -> None:
    split = Split(cluster)
    placed = split.placed()
    if how == "gone":
        cluster.delete("jobs", placed.name)
    else:
        Ending.name = placed.name
        split.cluster = Ending(cluster.transport, "default")
    assert split.child(placed) == PlaceGone(placed.name)
    assert (split.submit.started, split.one.holder()) == ([], "")
    assert wait_for_gate(placed, "x", split.means) == PlaceGone(placed.name)
    assert put_off(placed, placed.since, split.means) == PlaceGone(placed.name)


class Ending(ApiCluster):
    """The reservation's deadline has passed, and nobody has removed it yet: a patch of it is accepted all the same."""

    name = ""

    def patch(self, kind: Any, name: str, operations: Any) -> Any:
        answer = super().patch(kind, name, operations)
        if name == self.name:
            answer.object["status"] = {"conditions": [{"type": "FailureTarget", "status": "True"}]}
        return answer


def test_a_parent_whose_place_is_gone_stands_in_line_again_and_its_children_do_not_keep_it_out(
    cluster: ApiCluster,
) -> None:
    split = Split(cluster, ceiling=1)
    placed = split.placed()
    split.child(placed)
    cluster.delete("jobs", placed.name)
    again = split.place()
    assert isinstance(again, Placed)
    assert again.name != placed.name
    cluster.delete("jobs", again.name)
    split.one.finalizer(naming.run_id("other"))
    assert isinstance(split.place(), Verdict)


def test_what_cannot_be_asked_lets_no_child_go_on(cluster: ApiCluster, server: RunningCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    server.faults.add("status", method="PATCH", path="/jobs/", code=503)
    verdict = split.child(placed)
    server.faults.clear()
    assert isinstance(verdict, Verdict)
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.COORDINATION_UNAVAILABLE)
    assert (split.submit.started, split.one.holder()) == ([], "")


def test_a_child_that_was_submitted_before_is_not_submitted_again_and_its_left_overs_are_swept(
    cluster: ApiCluster,
) -> None:
    split = Split(cluster)
    placed = split.placed()
    done, half = naming.child(split.parent.run_id), naming.child(split.parent.run_id)
    split.one.finalizer(done)
    cluster.create("jobs", body("submit", half, "left"))
    assert isinstance(verdict := split.child(placed, done), Verdict)
    assert (verdict.outcome, split.submit.started) == (Outcome.SUBMITTED, [])
    split.child(placed, half)
    assert "left" not in split.one.jobs()


def test_a_child_waits_for_a_live_holder_and_leaves_its_parents_ticket_alone(cluster: ApiCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    cluster.delete("leases", naming.gate("default"))
    take_gate(split.one)
    assert isinstance(verdict := split.child(placed), Verdict)
    assert verdict.outcome is Outcome.SHUT
    cluster.delete("leases", naming.gate("default"))
    split.one.stand_in_line()  # its parent is to stand in line again
    split.child(placed)
    assert split.one.has_ticket()


def test_a_child_that_loses_the_gate_is_killed_and_its_place_stands(cluster: ApiCluster) -> None:
    split = Split(cluster)
    placed = split.placed()
    lose = FakeSubmit(lambda run: cluster.delete("leases", naming.gate("default")), lasts=30)
    assert isinstance(verdict := split.child(placed, submit=lose), Verdict)
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, KILLED)
    assert split.one.jobs() == [placed.name]


# Pure ----------------------------------------------------------------------------------------------------------------


def test_the_deadline_is_put_off_every_five_minutes() -> None:
    placed = Placed("n", "u", NOW, NOW, 750)
    assert not due(placed, NOW + timedelta(seconds=299), RULES)
    assert due(placed, NOW + timedelta(seconds=300), RULES)


def test_a_child_goes_as_soon_as_the_gate_is_free_or_expired_whoever_stands_in_line() -> None:
    assert child_may(sight(jobs=[reservation(f"job-{n}") for n in range(5)]))
    assert child_may(sight(gate=lease("dashboard-1", leashed=True, renewed=66)))
    assert not child_may(sight(gate=lease("openapi-1", renewed=100)))


def test_a_budget_runs_only_while_the_gate_is_to_be_had() -> None:
    budget = spend(Budget(), True, 0)
    budget = spend(budget, False, 100)
    budget = spend(budget, False, 5000)
    budget = spend(budget, True, 5001)
    assert (budget.child, budget.parent) == (100, 100)
    assert over(budget, Knobs()) is None
    budget = spend(budget, True, 5201)
    assert over(budget, Knobs()) is Reason.CHILD_GATE_TIMEOUT


def test_an_error_of_the_api_and_a_time_out_are_told_apart() -> None:
    spent = Budget(child=300)
    assert over(tried(spent, Verdict(Outcome.SHUT)), Knobs()) is Reason.CHILD_GATE_TIMEOUT
    assert over(tried(spent, Verdict(Outcome.BACK)), Knobs()) is Reason.CHILD_GATE_ERROR
    assert over(tried(spent, Verdict(Outcome.UNKNOWN)), Knobs()) is Reason.CHILD_GATE_ERROR


def test_the_next_child_has_a_budget_of_its_own_and_the_parents_goes_on() -> None:
    budget = Budget()
    for _ in range(7):
        assert over(budget, Knobs()) is None
        budget = next_child(spend(spend(budget, True, 0), False, 290))
    assert over(budget, Knobs()) is Reason.CHILD_GATE_TIMEOUT
    assert budget.child == 0
