"""Two at once: a holder that lost its lock and works on, a child that outlives its parent, a task delivered twice."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.hold import Busy, Hold, Lost
from submits.gates.ports import KILLED, AlreadyExists, Times
from submits.gates.verdicts import Outcome, Verdict
from submits.states import Reason
from tests.gates.corpus.seeing import stand_in_line
from tests.gates.trying import FakeSubmit, body, take_gate
from tests.gates.wire import Calm, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import SCALE, until

GATE = naming.gate("default")


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def hold_of(one: Calm) -> Hold:
    return Hold(one.cluster, SystemClock(), one.rules, "dashboard", one.what.run_id, leashed=True)


def steal(one: Calm) -> None:
    one.cluster.delete("leases", GATE)
    take_gate(one, "openapi-9")


def test_work_stops_before_anybody_may_take_over() -> None:
    """The submit is dead 45 s after the last renewal, at the latest, and what it sent has arrived after 60 s more."""
    times = Times()
    assert times.heartbeat * 3 < times.leash
    assert times.leash + times.kill < times.fast_ttl < times.fast_takeover
    assert times.fast_takeover + times.repair_after_takeover >= times.leash + times.kill + times.quiet_after_kill
    assert times.repair_unheld >= times.repair_after_takeover + times.fast_takeover


@pytest.mark.parametrize("how", ["stolen", "silent"])
def test_a_holder_that_lost_its_lock_stops_its_work(one: Calm, server: RunningCluster, how: str) -> None:
    """By another's name in the gate; or because it could not show in time that it still is its own."""

    def lose(run_id: str) -> None:
        if how == "stolen":
            steal(one)
        else:
            server.faults.add("drop_request", method="PATCH", path="/leases/")

    one.rules = replace(one.rules, times=replace(one.rules.times, heartbeat=0.2, leash=1))
    begun = time.monotonic()
    verdict = one.admit(FakeSubmit(lose, lasts=8))
    server.faults.clear()
    assert one.submit.killed
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, KILLED)
    assert time.monotonic() - begun >= (one.rules.times.leash if how == "silent" else 0)
    assert one.jobs() == []


def test_an_answer_that_is_no_yes_feeds_nobody(one: Calm, server: RunningCluster) -> None:
    """A renewal that failed must not count as one: neither for the holder, nor for the leash."""

    one = Calm(one.cluster, beat=0.2)

    def begin(run_id: str) -> None:
        server.faults.add("status", method="PATCH", path="/leases/", code=500)
        one.finalizer(run_id)

    verdict = one.admit(FakeSubmit(begin, lasts=0.6))
    server.faults.clear()
    assert verdict.outcome is Outcome.SUBMITTED
    assert len(one.submit.fed) == 1  # at its start, by the last accepted one


@pytest.mark.parametrize("step", ["POST jobs", r"GET jobs\?.*finalizer", "PATCH leases"])
def test_a_pause_between_taking_the_lock_and_acting_is_noticed_before_acting(
    one: Calm, server: RunningCluster, step: str
) -> None:
    """However long it lasted, and wherever: the proof just before the submit is a write that only the holder can."""
    paused, wire = wired(server)
    wire.before(step, lambda: steal(one))
    mine = Calm(paused)
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.GATE_LOST)
    assert mine.submit.started == []
    assert (one.jobs(), one.holder()) == ([], "openapi-9")


def test_the_lock_is_given_back_only_when_the_work_is_over_and_looked_at(one: Calm, server: RunningCluster) -> None:
    watched, wire = wired(server)
    mine = Calm(watched)
    stand_in_line(mine)

    def work(run_id: str) -> None:
        one.finalizer(run_id)
        wire.sent.clear()

    assert mine.admit(FakeSubmit(work)).outcome is Outcome.SUBMITTED
    order = ["GET jobs", "DELETE jobs/elb-resv", "DELETE leases/elb-ticket", f"PATCH leases/{GATE}"]
    assert [next(o for o in order if words.startswith(o)) for words in wire.log()] == order
    assert wire.sent[-1].body[-1] == {"op": "replace", "path": "/spec/holderIdentity", "value": ""}


def test_a_lock_that_an_operator_deleted_is_not_brought_back_by_a_holder_that_slept(
    one: Calm, server: RunningCluster
) -> None:
    """An API server answers 201 to a PUT of what is gone, whatever its resourceVersion; not to one with a uid."""
    one.admit()
    asleep, wire = wired(server)
    wire.before("PUT leases", lambda: one.cluster.delete("leases", GATE))
    verdict = Calm(asleep, 2).admit()
    assert verdict.outcome is Outcome.SHUT
    assert one.cluster.list("leases").items == ()


def test_a_lock_that_an_operator_deleted_and_another_made_again_is_another_lock(
    one: Calm, server: RunningCluster
) -> None:
    def again() -> None:
        one.cluster.delete("leases", GATE)
        take_gate(one, "")

    one.admit()
    asleep, wire = wired(server)
    wire.before("PUT leases", again)
    assert Calm(asleep, 2).admit().outcome is Outcome.SHUT
    assert one.holder() == ""
    held = hold_of(one)
    held.take()
    again()
    with pytest.raises(Lost):
        held.prove()
    assert held.release()
    assert one.holder() == ""


def test_one_search_delivered_twice_is_submitted_once(server: RunningCluster, one: Calm) -> None:
    stand_in_line(one)
    with pytest.raises(AlreadyExists):
        stand_in_line(one)
    made: list[str] = []

    def work(run_id: str) -> None:
        made.append(run_id)
        time.sleep(0.02)
        if len(made) == 1:
            one.finalizer(run_id)

    def deliver(number: int) -> Outcome:
        mine, verdicts = Calm(wired(server)[0]), list[Verdict]()

        def admitted() -> bool:
            verdicts.append(mine.admit(FakeSubmit(work)))
            return verdicts[-1].outcome is not Outcome.SHUT

        until(admitted, 20)
        return verdicts[-1].outcome

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(deliver, range(4))) == {Outcome.SUBMITTED}
    assert made == [one.what.run_id]
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_no_two_holders_have_one_name() -> None:
    """And none is cut: what a shorter name has in common with another's, a release would clear."""
    names = [naming.holder("dashboard") for _ in range(20_000 * SCALE)]
    assert len(set(names)) == len(names)
    assert {len(name) for name in names} == {len("dashboard-") + 32}


def test_what_a_dead_attempt_left_is_looked_at_before_anything_new(one: Calm, server: RunningCluster) -> None:
    """After a restart the first act is to look: the search of a worker that died may be there, ended or not."""
    watched, wire = wired(server)
    ended = body("finalizer", one.what.run_id, naming.finalizer(one.what.run_id))
    one.cluster.create("jobs", ended)
    mine = Calm(watched)
    assert mine.admit().outcome is Outcome.SUBMITTED
    assert mine.submit.started == []
    assert not any("app in" in words for words in wire.log())  # found by its id, before anything was counted


def test_a_renewal_that_is_not_found_after_the_work_was_done_does_not_undo_it(one: Calm) -> None:
    """What the cluster shows decides: its finalizer is there, so it was submitted, though its gate is gone."""
    one = Calm(one.cluster, beat=0.2)

    def work(run_id: str) -> None:
        one.finalizer(run_id)
        one.cluster.delete("leases", GATE)

    verdict = one.admit(FakeSubmit(work, lasts=8))
    assert one.submit.killed
    assert (verdict.outcome, verdict.exit_code) == (Outcome.SUBMITTED, KILLED)
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


@pytest.mark.parametrize("delivery", range(3))
def test_a_lock_released_within_the_clocks_differences_is_not_a_second_permission(
    one: Calm, server: RunningCluster, delivery: int
) -> None:
    """Who comes again a moment later, by whatever clock, finds that its search is there: no time is in that rule."""
    server.faults.clock.offset = (-3600, 0, 3600)[delivery]
    assert one.admit().outcome is Outcome.SUBMITTED
    server.faults.clock.offset = (3600, 0.5, -3600)[delivery]
    again = Calm(one.cluster)
    assert again.admit().outcome is Outcome.SUBMITTED
    assert again.submit.started == []


@pytest.mark.parametrize("write", ["POST leases", "PUT leases"])
def test_a_lost_race_is_busy_and_takes_nothing(one: Calm, server: RunningCluster, write: str) -> None:
    """Between the look and the write another takes it: by its revision, the second write is no more than an attempt."""
    if write == "PUT leases":
        hold = hold_of(one)
        hold.take()
        hold.release()
    other = hold_of(Calm(one.cluster, 2))
    late, wire = wired(server)
    wire.before(write, other.take)
    with pytest.raises(Busy):
        hold_of(Calm(late)).take()
    assert one.holder() == other.holder


def test_a_count_that_has_grown_old_is_not_relied_on(one: Calm, server: RunningCluster) -> None:
    slow, wire = wired(server)
    mine = Calm(slow)
    mine.rules = replace(mine.rules, times=replace(mine.rules.times, announce_to_fence=0.05))
    stand_in_line(mine)
    wire.before("PATCH leases", lambda: time.sleep(0.1))
    verdict = mine.admit()
    assert (verdict.outcome, mine.submit.started) == (Outcome.BACK, [])
    assert (one.jobs(), one.holder(), one.has_ticket()) == ([], "", False)
