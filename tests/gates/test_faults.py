"""One admission on a wire with faults: a lost answer, a broken count, a cluster that is away, a refusal."""

from __future__ import annotations

import time
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.hold import Busy, Hold
from submits.gates.objects import Gate
from submits.gates.ports import IN_DOUBT, KILLED
from submits.gates.verdicts import Outcome
from submits.states import Reason
from tests.gates.trying import FakeSubmit, Try, body
from tests.onebox.cluster.fixtures import RunningCluster

WRITES = [
    ("POST", r"/leases\?"),
    ("PUT", r"/leases/elb-blast"),
    ("POST", r"/jobs\?"),
    ("PATCH", r"/leases/elb-blast"),
    ("DELETE", r"/jobs/elb-resv"),
    ("DELETE", r"/leases/elb-ticket"),
]


@pytest.mark.parametrize("action", ["drop_response", "drop_request"])
@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_write_whose_answer_is_lost_is_repeated_until_it_is_definite(
    cluster: ApiCluster, server: RunningCluster, method: str, path: str, action: Any
) -> None:
    if method == "PUT":
        Try(cluster, 9).admit()
        cluster.delete("jobs", naming.finalizer(naming.run_id("s9")))
    one = Try(cluster)
    one.stand_in_line()
    rule = server.faults.add(action, method=method, path=path, times=1)
    # The finalizer is made without a fault in its way.
    other = connect(Connection(str(server.kubeconfig), "default"))
    verdict = one.admit(FakeSubmit(lambda run: make_past(server, other, run)))
    assert rule.used == 1
    assert verdict.outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]
    assert (one.holder(), one.has_ticket(), len(one.submit.started)) == ("", False, 1)


def make_past(server: RunningCluster, cluster: ApiCluster, run_id: str) -> None:
    rules, server.faults.rules = server.faults.rules, []
    cluster.create("jobs", body("finalizer", run_id, naming.finalizer(run_id)))
    server.faults.rules = rules


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_count_that_fails_once_is_taken_again_and_one_that_goes_on_failing_denies(
    cluster: ApiCluster, server: RunningCluster, code: int
) -> None:
    one = Try(cluster)
    one.stand_in_line()
    once = server.faults.add("status", method="GET", path=r"/jobs\?.*finalizer", times=1, code=code, retry_after=0)
    assert one.admit().outcome is Outcome.SUBMITTED
    assert once.used == 1
    two = Try(cluster, 2)
    two.stand_in_line()
    server.faults.add("status", method="GET", path=r"/jobs\?.*finalizer", code=code, retry_after=0)
    verdict = two.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.CAPACITY_COUNT_ERROR)
    assert two.submit.started == []
    server.faults.clear()
    assert (two.holder(), two.has_ticket()) == ("", False)
    assert two.jobs() == [naming.finalizer(one.what.run_id)]


def test_a_cluster_that_is_away_is_unknown_and_never_busy(cluster: ApiCluster, server: RunningCluster) -> None:
    server.faults.add("drop_request")
    one = Try(cluster)
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE)
    assert one.submit.started == []


def test_a_hold_whose_answer_was_lost_is_as_old_as_its_first_write(cluster: ApiCluster, server: RunningCluster) -> None:
    one = Try(cluster)
    server.faults.add("drop_response", method="POST", path=r"/leases\?", times=1)
    hold = Hold(cluster, SystemClock(), one.rules, "dashboard", one.what.run_id, leashed=True)
    before = SystemClock().boot()
    hold.take()
    # The write that won was the first one; the pause before the second is not to be counted as held.
    assert before <= hold.sent < before + 0.05 < SystemClock().boot()


def test_what_cannot_be_looked_up_after_the_submit_keeps_gate_and_place(
    cluster: ApiCluster, server: RunningCluster
) -> None:
    """Its requests may be in flight: the gate stays shut until the takeover, the reservation until the repair."""
    one = Try(cluster)
    one.stand_in_line()
    verdict = one.admit(FakeSubmit(lambda run: server.faults.add("drop_request", path="/jobs")))
    server.faults.clear()
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE)
    assert one.holder() == verdict.holder
    assert len(one.jobs()) == 1
    assert one.has_ticket()


def test_after_a_kill_even_a_finalizer_is_believed_only_after_the_quiet(cluster: ApiCluster) -> None:
    """The killed submit may have been about to take it back."""
    one = Try(cluster, exec_timeout=0)
    begun = time.monotonic()
    verdict = one.admit(FakeSubmit(one.finalizer, lasts=30))
    assert (verdict.outcome, verdict.exit_code) == (Outcome.SUBMITTED, KILLED)
    assert time.monotonic() - begun >= one.rules.times.quiet_after_kill


@pytest.mark.parametrize(("code", "long"), [(IN_DOUBT, True), (1, False)])
def test_a_submit_that_left_a_request_unanswered_is_looked_up_as_late_as_a_killed_one(
    cluster: ApiCluster, code: int, long: bool
) -> None:
    one = Try(cluster)
    begun = time.monotonic()
    assert one.admit(FakeSubmit(code=code)).outcome is Outcome.NOTHING
    assert (time.monotonic() - begun >= one.rules.times.quiet_after_kill) is long


@pytest.mark.parametrize("path", [r"/jobs\?", r"/configmaps/"])
def test_a_refusal_is_final_wherever_it_comes_before_the_submit(
    cluster: ApiCluster, server: RunningCluster, path: str
) -> None:
    one = Try(cluster)
    one.stand_in_line()
    server.faults.add("status", path=path, code=403)
    verdict = one.admit()
    server.faults.clear()
    assert verdict.outcome is Outcome.REFUSED
    assert (one.submit.started, one.holder(), one.has_ticket(), one.jobs()) == ([], "", False, [])


def test_a_reservation_of_which_nobody_knows_whether_it_arrived_is_taken_back(
    cluster: ApiCluster, server: RunningCluster
) -> None:
    one = Try(cluster)
    server.faults.add("drop_response", method="POST", path=r"/jobs\?")
    verdict = one.admit()
    server.faults.clear()
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.COORDINATION_UNAVAILABLE)
    assert (one.submit.started, one.jobs(), one.holder()) == ([], [], "")


def test_a_server_that_asks_for_time_is_given_it(cluster: ApiCluster, server: RunningCluster) -> None:
    """More than may be waited for: it is not asked again too early, and the gate is left to the takeover."""
    one = Try(cluster)
    rule = server.faults.add("status", method="PATCH", path="/leases/", code=429, retry_after=60)
    verdict = one.admit()
    server.faults.clear()
    assert verdict.outcome is Outcome.BACK
    assert rule.used == 2  # S7, S11


def test_a_conflict_over_a_quota_is_tried_again(cluster: ApiCluster, server: RunningCluster) -> None:
    one = Try(cluster)
    server.faults.add("status", method="POST", path=r"/jobs\?", code=409)
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.COORDINATION_UNAVAILABLE)


class Interrupted(Hold):
    """Between its look and its write somebody deletes the gate: `kubectl delete lease`."""

    def look(self) -> Gate:
        gate = super().look()
        self.cluster.delete("leases", self.name)
        return gate


def test_a_gate_that_was_deleted_meanwhile_is_not_brought_back(cluster: ApiCluster) -> None:
    """A PUT without the uid would create it anew, and a paused holder could take what was taken from it."""
    one = Try(cluster)
    one.admit()
    with pytest.raises(Busy):
        Interrupted(cluster, SystemClock(), one.rules, "dashboard", one.what.run_id, leashed=True).take()
    assert cluster.list("leases").items == ()
