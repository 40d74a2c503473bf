"""Locks that stay shut: a holder that died, a Lease that never expires, a marker that says "in progress" for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from submits.board import view_of
from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.hold import Hold
from submits.gates.line import Memory, standings
from submits.gates.objects import reservation_body
from submits.gates.ports import Knobs, Rules, Times
from submits.gates.repair import Bookkeeping, Orphan, TakeOver, carry_out, plan
from submits.gates.verdicts import Outcome
from submits.states import Reason
from tests.gates.corpus.seeing import look, mend_everything, stand_in_line
from tests.gates.made import NOW, RULES, lease, sight, ticket
from tests.gates.trying import FakeSubmit, take_gate
from tests.gates.wire import Calm, Dead, Sent, later, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import until

REAL = Rules(Knobs(), Times())  # the takeover is judged by the server's clock, so no test needs to wait for it


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def abandoned(cluster: ApiCluster, party: str = "dashboard") -> Hold:
    """A leashed holder that takes the gate and is never heard of again."""
    hold = Hold(cluster, SystemClock(), REAL, party, naming.run_id("gone"), leashed=True)
    hold.take()
    return hold


@pytest.mark.parametrize(("leashed", "patience"), [(True, 65), (False, 930)])
def test_a_holder_that_was_killed_is_followed_after_its_own_patience(
    one: Calm, server: RunningCluster, leashed: bool, patience: float
) -> None:
    if leashed:
        abandoned(one.cluster)
    else:
        take_gate(one)
    later(server, patience - 3)
    shown = view_of(look(one.cluster, one.rules), [], set(), "dashboard", NOW)["lease"]
    assert shown["free_by"] is not None  # what the page counts down to
    assert one.admit().outcome is Outcome.SHUT
    later(server, 5)
    assert one.admit().outcome is Outcome.SUBMITTED


def test_a_holder_whose_node_was_drained_is_freed_without_anybody_waiting(one: Calm, server: RunningCluster) -> None:
    held = abandoned(one.cluster)
    later(server, 66)
    seen = look(one.cluster, REAL)
    assert plan(seen, Bookkeeping(), 0) == [TakeOver(held.holder)]
    assert carry_out(TakeOver(held.holder), one.cluster, SystemClock(), seen, Bookkeeping())
    assert one.holder() == ""
    # Whoever comes back from its long sleep has lost, and says so instead of writing.
    assert held.release()
    assert one.holder() == ""


@pytest.mark.parametrize("duration", [None, 0])
def test_a_lease_without_a_duration_is_neither_eternal_nor_free(duration: int | None) -> None:
    for age, turn in ((1, False), (929, False), (931, True)):
        seen = sight(ticket(1), gate=lease("x-1", renewed=age, leaseDurationSeconds=duration))
        assert [place.turn for place in standings(seen, Memory())] == [turn]


def test_a_holder_named_after_what_is_gone_is_judged_by_its_age_alone(one: Calm, server: RunningCluster) -> None:
    take_gate(one, "node-that-was-removed-5d8f")
    assert one.admit().outcome is Outcome.SHUT
    later(server, 931)
    assert one.admit().outcome is Outcome.SUBMITTED


def test_an_edit_between_the_last_look_and_the_release_does_not_keep_the_gate(
    one: Calm, server: RunningCluster
) -> None:
    def edit() -> None:
        note = [{"op": "add", "path": "/metadata/annotations/someone", "value": "else"}]
        one.cluster.patch("leases", naming.gate("default"), note)

    wired_cluster, wire = wired(server)
    wire.before("DELETE leases/elb-ticket", edit)
    mine = Calm(wired_cluster)
    assert mine.admit().outcome is Outcome.SUBMITTED
    assert one.holder() == ""
    assert one.gate()["metadata"]["annotations"]["someone"] == "else"


class Interrupted(BaseException):
    """A soft time limit, a SIGTERM: raised in the middle of anything."""


@pytest.mark.parametrize(
    "step", ["POST jobs", "GET jobs.*(elb-finalizer|elb-job-id)", r"GET jobs\?.*app in", "PATCH leases"]
)
def test_a_holder_that_fails_fast_gives_the_gate_back(one: Calm, server: RunningCluster, step: str) -> None:
    def interrupt() -> None:
        raise Interrupted

    interrupted, wire = wired(server)
    wire.before(step, interrupt)
    with pytest.raises(Interrupted):
        Calm(interrupted).admit()
    assert (one.holder(), one.jobs()) == ("", [])


@pytest.fixture
def requests(one: Calm, server: RunningCluster) -> list[Sent]:
    """What an undisturbed admission sends."""
    counted, wire = wired(server)
    other = Calm(counted, 99)
    stand_in_line(other)
    wire.sent.clear()
    other.admit(FakeSubmit(one.finalizer))  # the submit is another process, with a wire of its own
    one.cluster.delete("jobs", naming.finalizer(other.what.run_id))
    return list(wire.sent)


def test_a_holder_that_dies_at_any_request_costs_its_patience_and_nothing_else(
    one: Calm, server: RunningCluster, requests: list[Sent]
) -> None:
    """Its request arrives, the answer does not: the same search then goes through, once, and nothing else is left."""
    for number in range(len(requests)):
        dying, wire = wired(server)
        first = Calm(dying, number + 100)
        stand_in_line(first)
        wire.sent.clear()
        wire.dies_at = number
        with pytest.raises(Dead):
            first.admit(FakeSubmit(one.finalizer))
        later(server, 70)
        again = Calm(one.cluster, number + 100)
        verdict = again.admit(FakeSubmit(one.finalizer))
        if verdict.outcome is Outcome.BACK:  # what the dead one announced stands: its requests may be on their way
            assert again.submit.started == []
            mend_everything(one)
            verdict = again.admit(FakeSubmit(one.finalizer))
        assert verdict.outcome is Outcome.SUBMITTED, (wire.log()[-1], verdict)
        assert one.holder() == ""
        assert naming.finalizer(again.what.run_id) in one.jobs()
        assert len(first.submit.started) + len(again.submit.started) == 1
        one.cluster.delete("jobs", naming.finalizer(again.what.run_id))
        mend_everything(one)
        assert one.jobs() == [], wire.log()[-1]


def test_a_marker_of_an_operation_that_was_killed_is_removed_and_its_search_goes_through_once(
    one: Calm, server: RunningCluster
) -> None:
    """It has its ticket still; once its reservation is removed it is admitted like any other, and counted once."""
    stand_in_line(one)
    held = abandoned(one.cluster)
    left = one.cluster.create("jobs", reservation_body(one.what.run_id, held.holder, held.token, REAL, leashed=True))
    books = Bookkeeping()
    later(server, 66)
    seen = look(one.cluster, REAL)
    for act in plan(seen, books, 0):
        carry_out(act, one.cluster, SystemClock(), seen, books)
    at = books.taken_at[held.holder]
    free = look(one.cluster, REAL)
    assert plan(free, books, at + 39) == []
    (orphan,) = plan(free, books, at + 41)
    assert isinstance(orphan, Orphan)
    assert (orphan.name, orphan.run_id) == (left.object["metadata"]["name"], one.what.run_id)
    carry_out(orphan, one.cluster, SystemClock(), free, books)
    assert (one.jobs(), one.has_ticket()) == ([], True)
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_whoever_starts_again_sees_the_same_line_and_places_by_listing(one: Calm) -> None:
    for number in (1, 2):
        stand_in_line(Calm(one.cluster, number))
    one.finalizer(naming.run_id("running"))
    take_gate(one)
    before, after = look(one.cluster, RULES), look(one.cluster, RULES)
    assert before.places.keys() == after.places.keys() == {naming.run_id("running")}
    assert before.queue == after.queue
    assert [t.submission for t in after.queue] == ["s1", "s2"]
    assert (after.word, after.gate.holder) == ("A_busy", "openapi-1")


def test_a_place_of_a_worker_that_died_comes_free_by_itself(cluster: ApiCluster) -> None:
    """Nobody repairs: the reservation's own deadline ends it, and it is tidied away."""
    short = Rules(Knobs(), replace(Times(), reservation=1))
    cluster.create("jobs", reservation_body(naming.run_id("dead"), "dashboard-1", 7, short, leashed=False))
    one = Calm(cluster, ceiling=1)
    assert one.admit().reason is Reason.WAITING_FOR_CAPACITY
    until(lambda: not one.jobs())
    assert one.admit().outcome is Outcome.SUBMITTED


def test_a_gate_given_back_is_taken_at_the_first_try(one: Calm) -> None:
    assert [Calm(one.cluster, number).admit().outcome for number in (1, 2, 3)] == [Outcome.SUBMITTED] * 3
