"""The two gates in the key-value store: their scripts on a real one, and whole tries with the embedded cluster."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import Any

import pytest

from submits.cluster import ApiCluster
from submits.gates.backends import Backend
from submits.gates.ports import KILLED
from submits.gates.verdicts import Outcome, Verdict
from submits.redisgate import StoreGate, StoreUnanswered, admit, store_gate
from submits.states import Phase, Reason
from tests.gates.trying import FakeSubmit, Try
from tests.keyvalue import RunningStore, keys, running_store, store
from tests.world import SCALE, until

LOCK_KEY = "elb:blast:elastic-blast-submit:east:default"
SLOTS_KEY = "elb:blast:slots:east"
BOTH = pytest.mark.parametrize("backend", [Backend.LOCK, Backend.SLOTS])


__all__ = ["keys", "store"]


def gate(
    store: RunningStore, backend: Backend, *, namespace: str = "default", seconds: int = 900, slots: int = 1
) -> StoreGate:
    return store_gate(store.url, backend, "east", namespace, seconds, slots)


# The scripts ----------------------------------------------------------------------------------------------------------


def test_the_lock_is_the_older_systems_key_with_its_end(store: RunningStore) -> None:
    assert gate(store, Backend.LOCK).take("me-1")
    assert store.client.get(LOCK_KEY) == "me-1"
    assert 890 < store.client.ttl(LOCK_KEY) <= 900


def test_the_slots_are_one_hash_for_all_namespaces_of_a_cluster(store: RunningStore) -> None:
    assert gate(store, Backend.SLOTS).take("me-1")
    assert not gate(store, Backend.SLOTS, namespace="other").take("me-2")
    assert list(store.client.hgetall(SLOTS_KEY)) == ["me-1"]
    assert 890 < store.client.ttl(SLOTS_KEY) <= 900


@BOTH
def test_who_asks_twice_has_it_once_and_another_does_not(store: RunningStore, backend: Backend) -> None:
    one = gate(store, backend)
    assert one.take("me-1") and one.take("me-1")
    assert not one.take("you-1")
    assert [held.holder for held in one.held()] == ["me-1"]


@BOTH
def test_nobody_renews_or_gives_back_what_is_anothers(store: RunningStore, backend: Backend) -> None:
    one = gate(store, backend)
    one.take("me-1")
    assert not one.renew("you-1") and not one.release("you-1")
    assert [held.holder for held in one.held()] == ["me-1"]
    assert one.renew("me-1") and one.release("me-1")
    assert one.held() == [] and store.client.keys() == []
    assert not one.renew("me-1")


@BOTH
def test_a_place_that_nobody_renews_ends_and_one_that_is_renewed_does_not(
    store: RunningStore, backend: Backend
) -> None:
    one = gate(store, backend, seconds=1)
    assert one.take("me-1")
    until(lambda: one.take("you-1"), 5)
    assert not one.renew("me-1")
    longer = gate(store, backend, seconds=900)
    assert longer.renew("you-1")
    assert longer.held()[0].seconds > 890


def test_there_are_as_many_slots_as_there_may_be_however_many_ask_at_once(store: RunningStore) -> None:
    got: list[bool] = []
    begin = threading.Barrier(20)

    def ask(number: int) -> None:
        one = gate(store, Backend.SLOTS, slots=3)
        begin.wait()
        got.append(one.take(f"me-{number}"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(got) == 3
    assert len(gate(store, Backend.SLOTS).held()) == 3


def test_a_slot_that_an_older_system_wrote_is_taken_until_the_hash_ends(store: RunningStore) -> None:
    store.client.hset(SLOTS_KEY, "job-7", '{"cpu": 1000, "reserved_at": "2026"}')
    store.client.expire(SLOTS_KEY, 100)
    one = gate(store, Backend.SLOTS, slots=2)
    assert one.take("me-1") and not one.take("me-2")
    assert {held.holder for held in one.held()} == {"job-7", "me-1"}


@BOTH
def test_a_store_that_does_not_answer_is_not_busy(backend: Backend) -> None:
    away = store_gate("unix:///nowhere/s", backend, "east", "default", 900, 1)
    for ask in (lambda: away.take("me"), lambda: away.renew("me"), lambda: away.release("me"), away.held):
        with pytest.raises(StoreUnanswered, match="does not answer for elb:blast"):
            ask()


# Whole tries ----------------------------------------------------------------------------------------------------------


def tried(one: Try, gate: StoreGate, submit: FakeSubmit | None = None, report: Any = None) -> Verdict:
    one.submit = submit or FakeSubmit(one.finalizer)
    return admit(gate, one.what, one.means(report))


@BOTH
def test_a_search_goes_through_and_gives_its_place_back(
    cluster: ApiCluster, store: RunningStore, backend: Backend
) -> None:
    one, held = Try(cluster), []

    def does(run: str) -> None:
        held.extend(gate(store, backend).held())
        one.finalizer(run)

    verdict = tried(one, gate(store, backend), FakeSubmit(does))
    assert (verdict.outcome, verdict.reason) == (Outcome.SUBMITTED, Reason.NONE)
    assert [place.holder for place in held] == [verdict.holder]
    assert verdict.holder.startswith("dashboard-") and verdict.token == 0
    assert one.steps == [Phase.GATE_TAKEN, Phase.SUBMIT_RUNNING, Phase.VERIFYING]
    assert gate(store, backend).held() == []
    assert cluster.list("leases").items == ()


@pytest.mark.parametrize(
    ("backend", "reason"),
    [(Backend.LOCK, Reason.WAITING_FOR_SUBMIT_SLOT), (Backend.SLOTS, Reason.WAITING_FOR_CAPACITY)],
)
def test_a_place_that_is_taken_is_a_wait(
    cluster: ApiCluster, store: RunningStore, backend: Backend, reason: Reason
) -> None:
    gate(store, backend).take("other-1")
    one = Try(cluster)
    verdict = tried(one, gate(store, backend))
    assert (verdict.outcome, verdict.reason, verdict.detail) == (Outcome.SHUT, reason, "other-1")
    assert one.submit.started == []
    assert [held.holder for held in gate(store, backend).held()] == ["other-1"]


def test_a_store_that_is_away_is_unknown_and_starts_nothing(cluster: ApiCluster) -> None:
    one = Try(cluster)
    verdict = tried(one, store_gate("unix:///nowhere/s", Backend.LOCK, "east", "default", 900, 1))
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE)
    assert "does not answer" in verdict.detail and one.submit.started == []


def test_a_run_that_was_submitted_is_not_submitted_again(cluster: ApiCluster, store: RunningStore) -> None:
    one = Try(cluster)
    one.finalizer(one.what.run_id)
    assert tried(one, gate(store, Backend.LOCK)).outcome is Outcome.SUBMITTED
    assert one.submit.started == []


def test_what_an_operator_has_stopped_is_stopped_here_too(cluster: ApiCluster, store: RunningStore) -> None:
    cluster.create("configmaps", {"metadata": {"name": "elb-coord-controls"}, "data": {"drained": "true"}})
    one = Try(cluster)
    assert tried(one, gate(store, Backend.LOCK)).reason is Reason.DRAINED
    assert one.submit.started == [] and gate(store, Backend.LOCK).held() == []


def test_a_place_that_goes_to_another_before_the_submit_starts_nothing(
    cluster: ApiCluster, store: RunningStore
) -> None:
    one = Try(cluster)

    def stolen(phase: Phase, **facts: Any) -> None:
        if phase is Phase.GATE_TAKEN:
            store.client.set(LOCK_KEY, "thief-1")

    verdict = tried(one, gate(store, Backend.LOCK), report=stolen)
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.GATE_LOST)
    assert one.submit.started == []
    assert store.client.get(LOCK_KEY) == "thief-1"


@BOTH
def test_a_place_is_renewed_while_the_submit_runs_and_its_leash_is_fed(
    cluster: ApiCluster, store: RunningStore, backend: Backend
) -> None:
    one = Try(cluster)
    submit = FakeSubmit(one.finalizer, lasts=1.6)
    assert tried(one, gate(store, backend, seconds=1), submit).outcome is Outcome.SUBMITTED
    assert not submit.killed and len(submit.fed) > 5


def test_a_submit_whose_place_is_lost_is_killed_at_once(cluster: ApiCluster, store: RunningStore) -> None:
    one = Try(cluster)
    submit = FakeSubmit(lambda _: store.client.set(LOCK_KEY, "thief-1"), lasts=60)
    verdict = tried(one, gate(store, Backend.LOCK), submit)
    assert submit.killed and submit.grace == 0.0
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, KILLED)
    assert store.client.get(LOCK_KEY) == "thief-1"


def test_a_store_that_stops_answering_has_the_submit_killed_before_the_place_ends(cluster: ApiCluster) -> None:
    with running_store() as store:
        one = Try(cluster)
        submit = FakeSubmit(lambda _: store.stop(), lasts=60)
        verdict = tried(one, gate(store, Backend.LOCK), submit)
    assert submit.killed and verdict.exit_code == KILLED


def test_a_submit_past_its_time_is_asked_to_end_before_it_is_killed(cluster: ApiCluster, store: RunningStore) -> None:
    one = Try(cluster, exec_timeout=0)
    submit = FakeSubmit(lasts=60)
    assert tried(one, gate(store, Backend.LOCK), submit).exit_code == KILLED
    assert submit.grace == one.rules.times.grace > 0


def test_never_two_at_once_with_the_lock(cluster: ApiCluster, store: RunningStore) -> None:
    """Six doors, each until it is through: their submits tell when they began and ended."""
    spans: list[tuple[float, float]] = []

    class Witness(FakeSubmit):
        def start(self, run_id: str, sent: float) -> None:
            self.began = time.monotonic()
            super().start(run_id, sent)

        def poll(self, seconds: float) -> int | None:
            code = super().poll(seconds)
            if code is not None:
                spans.append((self.began, time.monotonic()))
            return code

    def lead(number: int) -> None:
        one = Try(cluster, number)
        while tried(one, gate(store, Backend.LOCK), Witness(one.finalizer, lasts=0.05)).outcome is Outcome.SHUT:
            time.sleep(0.01)

    threads = [threading.Thread(target=lead, args=(number,)) for number in range(6 * SCALE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans.sort()
    assert len(spans) == 6 * SCALE
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
