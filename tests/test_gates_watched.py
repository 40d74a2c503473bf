"""The gates as the gatekeeper sees them: what it hears, what it alarms, whom it lets give way, and what it hands on."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from submits import board, flow, live
from submits.cluster import ApiCluster
from submits.cluster.reflector import Heard
from submits.cluster.seen import PULSE, Seen
from submits.gates import naming
from submits.gates.objects import Unchanged
from submits.gates.ports import Change, Listing, Object
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from submits.models import Submission
from submits.scopes import rules
from submits.states import Phase, Reason, Status
from tests.gates.made import NOW, RULES, job, lease, reservation, sight
from tests.gates.trying import FakeSubmit, Try, body
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_gatekeeper import Turns, again
from tests.test_models import make
from tests.views import factory

pytestmark = pytest.mark.django_db


@pytest.fixture
def turns(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(cluster, monkeypatch)


def asked(turns: Turns) -> None:
    """The gate asked for by itself, as the pulse does it."""
    found = turns.cluster.list("leases", "", f"metadata.name={naming.gate('default')}")
    turns.keeper.heard.put(Heard(PULSE, Listing(found.items, "", found.date)))


# Breaches ------------------------------------------------------------------------------------------------------------


def test_a_finalizer_that_nobody_led_through_the_gate_is_alarmed_and_shown(
    turns: Turns, caplog: pytest.LogCaptureFixture
) -> None:
    turns.turn()
    stranger = naming.run_id("stranger")
    turns.cluster.create("jobs", body("finalizer", stranger, naming.finalizer(stranger)))
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            asked(turns)
            turns.turn()
    (breach,) = turns.view()["breaches"]
    assert breach["kind"] == "ungated"
    assert naming.finalizer(stranger) in breach["evidence"]
    assert turns.view()["breach_counts"] == {"ungated": 1}
    assert sum("breach=ungated" in record.getMessage() for record in caplog.records) == 1


def test_an_admission_of_ours_breaches_nothing(turns: Turns) -> None:
    turns.turn()
    row = turns.waiting()
    claimed = Submission.objects.claim(
        row.pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker="w"
    )
    assert claimed is not None
    one = Try(turns.cluster)
    one.what = Run(row.key, row.run_id, "dashboard")
    one.admit()
    for _ in range(3):
        asked(turns)
        turns.turn()
    assert turns.view()["breaches"] == []


# What is heard -------------------------------------------------------------------------------------------------------


def heard(seen: Seen, source: str, what: Listing | Change) -> None:
    seen.hear(Heard(source, what), 1.0)


def at(version: int, obj: Object) -> Object:
    obj["metadata"]["resourceVersion"] = str(version)
    return obj


def test_every_hold_since_the_last_look_is_told_also_one_that_has_ended() -> None:
    seen = Seen("default", RULES)
    heard(seen, "gate", Listing((at(7, lease()),), "7", NOW))
    heard(seen, "gate", Change("MODIFIED", at(8, lease("openapi-1"))))
    heard(seen, "gate", Change("MODIFIED", at(9, lease())))
    seen_now = seen.sight(1.0)
    assert [hold.holder for hold in seen_now.holds] == ["openapi-1"]
    assert seen_now.gate_open


@pytest.mark.parametrize("by_list", [False, True])
@pytest.mark.parametrize(("change", "stirs"), [(reservation("job-1"), False), (job("finalizer", "job-1"), True)])
def test_a_reservation_stirs_nobody_and_any_other_job_does(change: Object, stirs: bool, by_list: bool) -> None:
    seen = Seen("default", RULES)
    heard(seen, "jobs", Listing((), "1", NOW))
    seen.stirred = False
    heard(seen, "jobs", Listing((at(8, change),), "8", NOW) if by_list else Change("ADDED", at(8, change)))
    assert seen.stirred is stirs


def test_whoever_found_every_place_taken_is_woken_by_the_next_job_event_and_not_by_a_reservation(turns: Turns) -> None:
    later = timezone.now() + timedelta(seconds=5)
    row = turns.waiting(reason=Reason.WAITING_FOR_CAPACITY, next_try_at=later)
    turns.turn()
    Submission.objects.filter(pk=row.pk).update(next_try_at=later)
    place = body("finalizer", None, "elb-resv-x")
    place["metadata"]["labels"][naming.ROLE] = "reservation"
    turns.cluster.create("jobs", place)
    assert turns.turn() == []
    turns.cluster.create("jobs", body("blast", naming.run_id("other"), "b"))
    assert turns.turn() == [("search", row.pk)]


# Giving way ----------------------------------------------------------------------------------------------------------


def v1_job(name: str, status: str = "submitting") -> Object:
    meta = {"name": name, "labels": {"elb-job": "true", "status": status}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}}


def test_the_line_gives_way_to_an_older_search_of_another_door_and_the_row_says_so(
    turns: Turns, server: RunningCluster
) -> None:
    server.faults.clock.offset = -60
    turns.cluster.create("configmaps", v1_job("older"))
    turns.cluster.create("configmaps", v1_job("done", "completed"))
    server.faults.clear()
    row = turns.waiting()
    assert turns.turn() == []
    assert "gives way" in again(row).detail
    assert live.standing(again(row), turns.view(), timezone.now(), timezone.now())["position"] == 1
    turns.cluster.delete("configmaps", "older")
    assert turns.turn() == [("search", row.pk)]
    assert turns.keeper.wait < 9


def test_a_hold_of_another_door_ends_the_yields_of_its_time_and_no_later_one(
    turns: Turns, server: RunningCluster
) -> None:
    gate = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": naming.gate("default")}}
    turns.cluster.create("leases", {**gate, "spec": {"holderIdentity": "openapi-1", "leaseDurationSeconds": 900}})
    turns.turn()
    turns.cluster.delete("leases", naming.gate("default"))
    server.faults.clock.offset = -60
    turns.cluster.create("configmaps", v1_job("older"))
    server.faults.clear()
    turns.waiting()
    assert [turns.turn() for _ in range(3)] == [[], [], []]


# Ends and beginnings -------------------------------------------------------------------------------------------------


def test_a_wait_past_its_end_is_over_also_when_its_ticket_is_nobodys_any_more(turns: Turns) -> None:
    past = timezone.now() - timedelta(seconds=90)
    row = turns.waiting(until=past)
    turns.turn()
    assert (again(row).status, again(row).reason) == (Status.FAILED, Reason.SUBMIT_SLOT_TIMEOUT)
    assert turns.tickets() == set()


def test_a_waiter_past_its_end_makes_no_new_ticket_while_it_is_stopped(turns: Turns, cluster: ApiCluster) -> None:
    controls = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": naming.CONTROLS}}
    cluster.create("configmaps", {**controls, "data": {"drained": "true"}})
    row = turns.waiting(until=timezone.now() - timedelta(seconds=90))
    turns.turn()
    turns.keeper.tickets.made.clear()  # some time later
    turns.turn()
    assert (again(row).status, turns.tickets()) == (Status.WAITING, set())


def test_at_its_start_it_looks_up_unfinished_attempts_before_it_lets_anybody_in(
    turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = make(status=Status.SUBMITTING, beat_at=timezone.now() - timedelta(minutes=5))
    seen: list[str] = []
    monkeypatch.setattr(turns.woken, "wake", lambda *args: seen.append(again(dead).status))
    turns.waiting()
    turns.turn()
    assert seen[0] == Status.WAITING


# What is handed on ---------------------------------------------------------------------------------------------------


def test_how_long_the_gate_was_seen_unchanged_is_handed_on_only_where_nothing_else_tells_its_age() -> None:
    bare = lease("openapi-1")
    seen = sight(gate=bare)
    assert board.unchanged_of(seen) == ("", 0.0)
    del bare["metadata"]["managedFields"]
    stripped = sight(gate=bare)
    object.__setattr__(stripped, "gate_seen_for", 939.0)
    assert board.unchanged_of(stripped) == ("7", 930.0)


def test_a_try_is_given_what_the_gatekeeper_has_seen(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Unchanged] = []

    def admit(run: Run, means: Means) -> Any:
        given.append(means.unchanged)
        raise KeyboardInterrupt

    row = make(status=Status.WAITING)
    factory.publish(row.scope, unchanged=("7", 930.0))
    monkeypatch.setattr(flow, "admitter", lambda _: admit)
    monkeypatch.setattr(flow, "connect", lambda scope: cluster)
    monkeypatch.setattr(flow, "leashed_submit", lambda scope: FakeSubmit())
    with pytest.raises(KeyboardInterrupt):
        flow.lead_through(row.pk)
    assert given == [Unchanged("7", 930.0)]


@pytest.mark.parametrize(
    "change",
    [
        {"attempt": 7},
        {"status": Status.WAITING, "version": 99},
        {"status": Status.RUNNING, "version": 99},
    ],
)
def test_a_report_says_that_the_claim_is_anothers(change: dict[str, Any]) -> None:
    row = make(status=Status.SUBMITTING, phase=Phase.IN_LINE)
    report = flow.Recorder(row)
    assert report(Phase.GATE_TAKEN, token=5, holder="h") is not False
    Submission.objects.filter(pk=row.pk).update(**change)
    assert report(Phase.PLACE_ANNOUNCED) is False


def test_a_step_that_could_not_be_recorded_is_no_reason_to_stop() -> None:
    row = make(status=Status.SUBMITTING, phase=Phase.IN_LINE)
    Submission.objects.filter(pk=row.pk).update(version=99)
    assert flow.Recorder(row)(Phase.PLACE_ANNOUNCED) is not False


def test_a_superseded_try_changes_nothing() -> None:
    row = make(status=Status.SUBMITTING, phase=Phase.PLACE_ANNOUNCED)
    flow.record(row, Verdict(Outcome.SUPERSEDED))
    assert (again(row).status, again(row).phase) == (Status.SUBMITTING, Phase.PLACE_ANNOUNCED)


def test_the_yield_is_scaled_with_the_times_it_is_measured_against(settings: Any) -> None:
    settings.COORDUI_PROTOCOL_SCALE = 0.1
    assert rules().knobs.v1_yield == pytest.approx(0.8)
    assert rules().knobs.v1_yield < rules().times.skip_after
