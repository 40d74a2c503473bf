"""One admission against the embedded cluster, with the wire's faults: what happens, and what is left behind."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection, connect
from submits.gates import naming
from submits.gates.objects import Unchanged, reservation_body
from submits.gates.ports import KILLED, Answer, Kind
from submits.gates.verdicts import Outcome
from submits.states import Phase, Reason
from tests.gates.trying import FakeSubmit, Try, body, take_gate
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import SCALE


def test_a_search_goes_through_and_leaves_its_finalizer_alone(cluster: ApiCluster) -> None:
    one = Try(cluster)
    one.stand_in_line()
    verdict = one.admit()
    assert verdict.outcome is Outcome.SUBMITTED
    assert list(dict.fromkeys(one.steps)) == [
        Phase.GATE_TAKEN, Phase.PLACE_ANNOUNCED, Phase.PLACES_COUNTED, Phase.SUBMIT_RUNNING, Phase.VERIFYING,
    ]  # fmt: skip
    assert one.jobs() == [naming.finalizer(one.what.run_id)]
    assert (one.holder(), one.has_ticket()) == ("", False)
    assert verdict.token > 0
    assert verdict.holder.startswith("dashboard-")


def test_a_free_gate_is_replaced_and_every_token_is_larger(cluster: ApiCluster) -> None:
    tokens = [Try(cluster, number).admit().token for number in (1, 2, 3)]
    assert tokens == sorted(set(tokens))


def test_a_live_holder_means_busy_after_one_request(cluster: ApiCluster) -> None:
    one = Try(cluster)
    take_gate(one)
    version = one.gate()["metadata"]["resourceVersion"]
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT)
    assert one.gate()["metadata"]["resourceVersion"] == version
    assert one.submit.started == []


def test_a_lease_without_a_spec_is_free(cluster: ApiCluster) -> None:
    one = Try(cluster)
    cluster.create(
        "leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "elb-blast-submit-default", "annotations": {"someone": "else"}},
        },
    )
    assert one.admit().outcome is Outcome.SUBMITTED


def test_an_expired_leases_time_is_the_servers_not_the_writers(cluster: ApiCluster) -> None:
    """renewTime an age ago, written just now: the server's own stamp says that its holder lives."""
    one = Try(cluster)
    take_gate(one, renewTime="2020-01-01T00:00:00.000000Z")
    assert one.admit().outcome is Outcome.SHUT


def test_a_search_is_not_submitted_beside_what_its_earlier_attempt_may_still_send(cluster: ApiCluster) -> None:
    """The earlier one's holder and submit are dead, but not yet its requests: its reservation stands until they are."""
    one = Try(cluster)
    one.stand_in_line()
    earlier = reservation_body(one.what.run_id, "dashboard-dead", 7, one.rules, leashed=True)
    cluster.create("jobs", earlier)
    cluster.create("jobs", body("blast", one.what.run_id, "batch"))
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason, one.submit.started) == (Outcome.BACK, Reason.WORKER_LOST, [])
    # Nor is its work swept: its finalizer may be on the way.
    assert one.jobs() == sorted(["batch", earlier["metadata"]["name"]])
    assert (one.holder(), one.has_ticket()) == ("", False)  # others pass meanwhile
    cluster.delete("jobs", earlier["metadata"]["name"])
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_at_the_ceiling_it_steps_back_and_keeps_its_ticket(cluster: ApiCluster) -> None:
    one = Try(cluster, ceiling=2)
    one.stand_in_line()
    for number in (7, 8):
        one.finalizer(naming.run_id(f"other{number}"))
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.WAITING_FOR_CAPACITY)
    assert one.submit.started == []
    assert len(one.jobs()) == 2
    assert (one.holder(), one.has_ticket()) == ("", True)


def test_another_attempts_reservation_takes_a_place(cluster: ApiCluster) -> None:
    one, other = Try(cluster, 1, ceiling=1), Try(cluster, 2, ceiling=1)
    seen: list[Outcome] = []

    def meanwhile(run_id: str) -> None:
        # The gate is ours and our place announced: whoever gets past the gate now must see it.
        cluster.delete("leases", "elb-blast-submit-default")
        seen.append(other.admit().outcome)
        one.finalizer(run_id)

    one.admit(FakeSubmit(meanwhile))
    assert seen == [Outcome.SHUT]
    assert other.submit.started == []


def test_a_search_that_was_submitted_before_is_not_submitted_again(cluster: ApiCluster) -> None:
    one = Try(cluster)
    one.finalizer(one.what.run_id)
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.submit.started == []
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_a_finalizer_of_the_same_name_but_another_run_is_not_taken_for_it(cluster: ApiCluster) -> None:
    one = Try(cluster)
    other = body("finalizer", naming.run_id("other"), naming.finalizer(one.what.run_id))
    cluster.create("jobs", other)
    one.admit(FakeSubmit(code=1))
    assert one.submit.started == [one.what.run_id]


def test_what_an_earlier_attempt_left_without_a_finalizer_is_swept_before_the_count(cluster: ApiCluster) -> None:
    one = Try(cluster)
    cluster.create("jobs", body("submit", one.what.run_id, "left-submit"))
    cluster.create("jobs", body("blast", one.what.run_id, "left-blast"))
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_a_submit_that_does_nothing_spends_a_try_and_leaves_nothing(cluster: ApiCluster) -> None:
    one = Try(cluster)
    one.stand_in_line()
    verdict = one.admit(FakeSubmit(lambda run: cluster.create("jobs", body("submit", run, "half")), code=7))
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, 7)
    assert (one.jobs(), one.holder(), one.has_ticket()) == ([], "", False)


def test_a_submit_that_fails_but_left_its_finalizer_is_submitted(cluster: ApiCluster) -> None:
    one = Try(cluster)
    assert one.admit(FakeSubmit(one.finalizer, code=255)).outcome is Outcome.SUBMITTED


def test_a_finalizer_that_appears_late_is_waited_for(cluster: ApiCluster) -> None:
    one = Try(cluster)
    late = threading.Timer(0.05, one.finalizer, [one.what.run_id])
    verdict = one.admit(FakeSubmit(lambda run: late.start(), code=1))
    late.join()
    assert verdict.outcome is Outcome.SUBMITTED


def test_success_without_a_finalizer_is_alarmed_and_its_place_is_kept(cluster: ApiCluster) -> None:
    one = Try(cluster)
    verdict = one.admit(FakeSubmit(code=0))
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.MARKER_MISSING)
    (kept,) = cluster.list("jobs").items
    assert kept["metadata"]["annotations"][naming.KEEP] == "marker_missing"
    assert one.holder() == ""


def test_a_long_submit_is_fed_and_its_gate_renewed(cluster: ApiCluster) -> None:
    one = Try(cluster)
    before: list[str] = []

    def begin(run_id: str) -> None:
        before.append(one.gate()["spec"]["renewTime"])
        one.finalizer(run_id)

    verdict = one.admit(FakeSubmit(begin, lasts=0.7))
    assert verdict.outcome is Outcome.SUBMITTED
    assert len(one.submit.fed) >= 3
    assert one.submit.fed == sorted(one.submit.fed)
    assert one.gate()["spec"]["renewTime"] > before[0]


@pytest.mark.parametrize("how", ["stolen", "deleted"])
def test_losing_the_gate_kills_the_submit_before_anything_else(cluster: ApiCluster, how: str) -> None:
    one = Try(cluster)

    def lose(run_id: str) -> None:
        cluster.delete("leases", "elb-blast-submit-default")
        if how == "stolen":
            take_gate(one, "openapi-9")

    verdict = one.admit(FakeSubmit(lose, lasts=30))
    assert one.submit.killed
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, KILLED)
    assert one.jobs() == []
    if how == "stolen":
        assert one.holder() == "openapi-9"


def test_a_submit_past_its_cap_is_killed(cluster: ApiCluster) -> None:
    one = Try(cluster, exec_timeout=0)
    assert one.admit(FakeSubmit(lasts=30)).outcome is Outcome.NOTHING
    assert one.submit.killed


def test_a_report_that_fails_neither_stops_nor_repeats_the_submit(cluster: ApiCluster) -> None:
    def report(phase: Phase, **facts: Any) -> None:
        raise RuntimeError("the database is away")

    one = Try(cluster)
    assert one.admit(report=report).outcome is Outcome.SUBMITTED
    assert len(one.submit.started) == 1


STEPS = [Phase.GATE_TAKEN, Phase.PLACE_ANNOUNCED, Phase.PLACES_COUNTED]


@pytest.mark.parametrize("at", STEPS)
def test_a_claim_that_is_anothers_by_now_stops_before_the_submit_and_keeps_the_ticket(
    cluster: ApiCluster, at: Phase
) -> None:
    one = Try(cluster)
    one.stand_in_line()
    verdict = one.admit(report=lambda phase, **facts: phase is not at)
    assert verdict.outcome is Outcome.SUPERSEDED
    assert (one.submit.started, one.jobs(), one.holder(), one.has_ticket()) == ([], [], "", True)


def test_a_claim_that_another_takes_while_the_submit_runs_is_finished(cluster: ApiCluster) -> None:
    one = Try(cluster)
    verdict = one.admit(report=lambda phase, **facts: phase in STEPS)
    assert verdict.outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


class Stripped(ApiCluster):
    """Behind a proxy that takes managedFields away: nothing tells how old a hold is."""

    def get(self, kind: Kind, name: str) -> Answer:
        answer = super().get(kind, name)
        answer.object["metadata"].pop("managedFields", None)
        return answer


@pytest.mark.parametrize(("seen_for", "outcome"), [(0.0, "shut"), (930.0, "shut"), (931.0, "submitted")])
def test_a_hold_of_no_known_age_is_taken_over_by_how_long_the_line_has_seen_it(
    cluster: ApiCluster, seen_for: float, outcome: str
) -> None:
    one = Try(Stripped(cluster.transport, "default"))
    take_gate(one)
    assert one.admit(unchanged=Unchanged(one.gate()["metadata"]["resourceVersion"], seen_for)).outcome == outcome


def test_a_hold_renewed_since_the_line_looked_is_not_taken_over(cluster: ApiCluster) -> None:
    one = Try(Stripped(cluster.transport, "default"))
    take_gate(one)
    version = one.gate()["metadata"]["resourceVersion"]
    renewal = {"op": "add", "path": "/spec/renewTime", "value": "2026-11-29T12:00:00.000000Z"}
    cluster.patch("leases", naming.gate("default"), [renewal])
    assert one.admit(unchanged=Unchanged(version, 5000)).outcome is Outcome.SHUT


def test_drained_and_paused_are_read_at_the_last_moment(cluster: ApiCluster) -> None:
    controls = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": naming.CONTROLS}}
    cluster.create("configmaps", {**controls, "data": {"drained": "true"}})
    one = Try(cluster)
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.DRAINED)
    assert (one.submit.started, one.jobs()) == ([], [])


def test_a_namespace_that_is_missing_is_named(server: RunningCluster) -> None:
    one = Try(connect(Connection(str(server.kubeconfig), "no-such-place")))
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.NAMESPACE_MISSING)
    assert "no-such-place" in verdict.detail


def test_of_twenty_at_once_none_overlaps_and_the_ceiling_holds(server: RunningCluster, cluster: ApiCluster) -> None:
    inside, most, admitted = 0, 0, []
    lock = threading.Lock()

    def submitter(number: int) -> None:
        nonlocal inside, most
        own = connect(Connection(str(server.kubeconfig), "default"))
        one = Try(own, number)

        def work(run_id: str) -> None:
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            one.finalizer(run_id)
            with lock:
                inside -= 1

        for _ in range(50 * SCALE):
            verdict = one.admit(FakeSubmit(work))
            if verdict.outcome is Outcome.SUBMITTED:
                admitted.append(number)
                return
            if verdict.reason is Reason.WAITING_FOR_CAPACITY:
                return

    threads = [threading.Thread(target=submitter, args=[number]) for number in range(20 * SCALE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert len(admitted) == 3
    assert len(cluster.list("jobs").items) == 3


def test_a_submit_that_cannot_be_started_says_why_and_spends_a_try(cluster: ApiCluster) -> None:
    def no_room(run_id: str) -> None:
        raise OSError(28, "No space left on device")

    one = Try(cluster)
    verdict = one.admit(FakeSubmit(no_room))
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, 126)
    assert "No space left" in verdict.detail
    assert (one.jobs(), one.holder()) == ([], "")
