"""Repair on the embedded cluster: what was planned from what was seen is asked afresh before it is done."""

from __future__ import annotations

from typing import Any

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.cluster.verbs import whole
from submits.gates import naming
from submits.gates.objects import reservation_body
from submits.gates.ports import Kind, Knobs, Listing, Rules, Times
from submits.gates.repair import Bookkeeping, Orphan, TakeOver, carry_out
from tests.gates.made import RULES, sight
from tests.gates.trying import Try, body, take_gate
from tests.onebox.cluster.fixtures import RunningCluster


def orphan(cluster: ApiCluster, run: str, holder: str) -> Orphan:
    made = cluster.create("jobs", reservation_body(run, holder, 7, RULES, leashed=True)).object
    return Orphan(made["metadata"]["name"], made["metadata"]["uid"], run, holder)


def mend(cluster: ApiCluster, act: Orphan | TakeOver) -> bool:
    return carry_out(act, cluster, SystemClock(), sight(), Bookkeeping())


def test_a_dead_attempts_reservation_is_removed(cluster: ApiCluster) -> None:
    one = Try(cluster)
    assert mend(cluster, orphan(cluster, one.what.run_id, "dashboard-1"))
    assert one.jobs() == []


def test_a_holder_that_is_alive_after_all_keeps_its_reservation(cluster: ApiCluster) -> None:
    one = Try(cluster)
    act = orphan(cluster, one.what.run_id, "dashboard-1")
    take_gate(one, "dashboard-1")
    mend(cluster, act)
    assert one.jobs() == [act.name]


def test_a_run_that_is_tried_again_at_this_moment_is_left_alone(cluster: ApiCluster) -> None:
    one = Try(cluster)
    act = orphan(cluster, one.what.run_id, "dashboard-1")
    cluster.create("jobs", body("submit", one.what.run_id, "of-the-new-attempt"))
    take_gate(one, "dashboard-2")
    notes = {naming.HOLDER: "dashboard-2", naming.FOR: one.what.run_id}
    cluster.patch("leases", naming.gate("default"), [{"op": "add", "path": "/metadata/annotations", "value": notes}])
    mend(cluster, act)
    assert one.jobs() == [act.name, "of-the-new-attempt"]


def test_work_without_a_finalizer_goes_before_its_reservation(cluster: ApiCluster) -> None:
    one = Try(cluster)
    act = orphan(cluster, one.what.run_id, "dashboard-1")
    cluster.create("jobs", body("submit", one.what.run_id, "left"))
    mend(cluster, act)
    assert one.jobs() == [act.name]
    mend(cluster, act)
    assert one.jobs() == []


def test_work_with_a_finalizer_is_a_search_and_stays(cluster: ApiCluster) -> None:
    one = Try(cluster)
    act = orphan(cluster, one.what.run_id, "dashboard-1")
    cluster.create("jobs", body("submit", one.what.run_id, "its-submit"))
    one.finalizer(one.what.run_id)
    mend(cluster, act)
    assert one.jobs() == [naming.finalizer(one.what.run_id), "its-submit"]


class Meanwhile(ApiCluster):
    """Between the repair's look at the gate and its list of what was left, a new attempt of the run takes the gate,
    makes its Jobs, and goes."""

    def list(self, kind: Kind, labels: str = "", fields: str = "", kept: Any = whole) -> Listing:
        if kind == "jobs":
            run = labels.removeprefix(f"{naming.ELB_JOB_ID}=")
            self.create("jobs", body("submit", run, "of-the-new-attempt"))
            take_gate(Try(self), "")
        return super().list(kind, labels, fields, kept)


def test_what_a_new_attempt_makes_while_a_repair_looks_is_not_deleted(cluster: ApiCluster) -> None:
    one = Try(cluster)
    act = orphan(cluster, one.what.run_id, "dashboard-1")
    mend(Meanwhile(cluster.transport, "default"), act)
    assert one.jobs() == [act.name, "of-the-new-attempt"]


def test_a_live_holders_gate_is_not_taken(cluster: ApiCluster) -> None:
    one = Try(cluster)
    take_gate(one, "dashboard-1")
    assert mend(cluster, TakeOver("dashboard-1"))
    assert one.holder() == "dashboard-1"


def test_a_gate_that_cannot_be_written_keeps_a_repairer_for_a_moment_only(
    cluster: ApiCluster, server: RunningCluster
) -> None:
    """Its next plan tries again; nobody is led through meanwhile."""
    rules = Rules(Knobs(), Times().scaled(0.1))
    refused = server.faults.add("status", method="POST", path="/leases", code=503)
    act = TakeOver("dashboard-1")
    assert not carry_out(act, cluster, SystemClock(), sight(rules=rules), Bookkeeping())
    server.faults.clear()
    assert 1 <= refused.used <= 3
