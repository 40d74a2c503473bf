"""What follows from a verdict, and what a reconcile finds: rows against the cluster, case by case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from submits import flow, reconcile
from submits.engine.outcome import Outcome as RunOutcome
from submits.engine.outcome import write_outcome
from submits.gates.ports import Listing, Object
from submits.gates.verdicts import Outcome, Verdict
from submits.models import Submission
from submits.scopes import store
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.gates.made import NOW, ago, condition, job, lease, reservation, sight
from tests.test_models import make

pytestmark = pytest.mark.django_db


def submitting(**values: Any) -> Submission:
    return make(status=Status.SUBMITTING, phase=Phase.GATE_TAKEN, beat_at=timezone.now(), **values)


def again(submission: Submission) -> Submission:
    return Submission.objects.get(pk=submission.pk)


@pytest.mark.parametrize(
    ("verdict", "status", "reason"),
    [
        (Verdict(Outcome.SUBMITTED), Status.RUNNING, ""),
        (Verdict(Outcome.SHUT, Reason.WAITING_FOR_CAPACITY), Status.WAITING, "waiting_for_capacity"),
        (Verdict(Outcome.BACK, Reason.QUOTA_FULL), Status.WAITING, "quota_full"),
        (Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE), Status.WAITING, "coordination_unavailable"),
        (Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=7), Status.WAITING, "submit_retry"),
        (Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=1), Status.FAILED, "submit_failed"),
        (Verdict(Outcome.REFUSED, Reason.POLICY_DENIED, "no Jobs on Sundays"), Status.FAILED, "policy_denied"),
    ],
)
def test_a_verdict_becomes_a_state(verdict: Verdict, status: Status, reason: str) -> None:
    submission = submitting()
    flow.record(submission, verdict)
    row = again(submission)
    assert (row.status, row.reason) == (status, reason)
    assert row.events.last().reason == reason  # type: ignore[union-attr]


def test_a_submit_that_does_nothing_may_be_tried_three_times() -> None:
    submission = submitting(tries=1)
    flow.record(submission, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=7))
    assert (again(submission).status, again(submission).tries) == (Status.WAITING, 2)
    Submission.objects.filter(pk=submission.pk).update(status=Status.SUBMITTING)
    flow.record(again(submission), Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=7))
    assert (again(submission).status, again(submission).reason) == (Status.FAILED, Reason.SUBMIT_FAILED)


def test_being_shut_out_costs_no_try_and_no_wait() -> None:
    submission = submitting(tries=2, outages=5, next_try_at=timezone.now())
    flow.record(submission, Verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT))
    row = again(submission)
    assert (row.tries, row.outages, row.next_try_at) == (2, 0, None)


def test_an_outage_is_waited_out_longer_each_time_up_to_five_minutes() -> None:
    waits = []
    for outages in (0, 1, 2, 9):
        submission = submitting(outages=outages)
        flow.record(submission, Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE))
        row = again(submission)
        assert row.next_try_at
        waits.append(round((row.next_try_at - timezone.now()).total_seconds()))
    assert waits == [15, 30, 60, 300]


def test_a_cluster_without_room_is_waited_for_without_end_and_without_a_try() -> None:
    """Its wait ends where every wait does. It counts as no outage beyond those that make the pause longer."""
    waits = []
    submission = submitting(tries=2)
    for _ in range(20):
        flow.record(submission, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=10))
        row = again(submission)
        assert (row.status, row.reason, row.tries) == (Status.WAITING, Reason.NO_ROOM, 2)
        assert row.next_try_at
        waits.append(round((row.next_try_at - timezone.now()).total_seconds()))
        Submission.objects.filter(pk=row.pk).update(status=Status.SUBMITTING)
        submission = again(row)
    assert waits == [15, 30, 60, 120, 240, *[300] * 15]
    flow.record(submission, Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE))
    assert again(submission).status == Status.WAITING


def test_a_cluster_of_the_cloud_that_starts_or_ends_is_given_minutes() -> None:
    waits = []
    for tries in (0, 1):
        submission = submitting(tries=tries)
        flow.record(submission, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=8))
        row = again(submission)
        assert row.next_try_at and row.tries == tries + 1
        waits.append(round((row.next_try_at - timezone.now()).total_seconds()))
    assert waits == [120, 240]


def test_a_tokenless_verdict_does_not_move_the_token_back() -> None:
    submission = submitting(token=70)
    flow.record(submission, Verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT, token=0))
    assert again(submission).token == 70


def test_a_row_that_another_has_moved_stands() -> None:
    submission = submitting()
    other = again(submission)
    Submission.objects.move(other, Status.RUNNING, phase=Phase.STARTING)
    flow.record(submission, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=1))
    assert again(submission).status == Status.RUNNING


# Reconcile -----------------------------------------------------------------------------------------------------------


def deserted(*jobs: Object, gate: Object | None = None, **values: Any) -> Submission:
    submission = submitting(**values)
    Submission.objects.filter(pk=submission.pk).update(beat_at=timezone.now() - timedelta(minutes=5))
    for one in jobs:
        place = one["metadata"].get("annotations") if "coordui/role" in one["metadata"]["labels"] else None
        if place is not None:
            place["coordui/for"] = submission.run_id
        else:
            one["metadata"]["labels"]["elb-job-id"] = submission.run_id
    if gate is not None:
        gate["metadata"]["annotations"]["coordui/for"] = submission.run_id
    reconcile.desert_admissions(submission.scope, sight(gate=gate, jobs=list(jobs)))
    return again(submission)


def test_a_deserted_admission_with_its_finalizer_was_submitted() -> None:
    assert deserted(job("finalizer", "x", active=1)).status == Status.RUNNING


def test_a_deserted_admission_waits_for_the_repair_of_what_it_left() -> None:
    assert deserted(reservation("x")).status == Status.SUBMITTING
    assert deserted(job("submit", "x")).status == Status.SUBMITTING
    assert deserted(gate=lease("dashboard-1", leashed=True, run="x")).status == Status.SUBMITTING


def test_a_deserted_admission_whose_place_is_kept_is_alarmed_and_never_submitted_again() -> None:
    kept = reservation("x")
    kept["metadata"]["annotations"]["coordui/keep"] = "marker_missing"
    row = deserted(kept)
    assert (row.status, row.reason) == (Status.FAILED, Reason.MARKER_MISSING)


def test_a_deserted_admission_whose_search_has_ended_meanwhile_is_found_by_its_outcome() -> None:
    submission = submitting()
    Submission.objects.filter(pk=submission.pk).update(beat_at=timezone.now() - timedelta(minutes=5))
    write_outcome(store(), submission.run_id, GOOD)
    reconcile.desert_admissions(submission.scope, sight())
    assert again(submission).status == Status.RUNNING


def test_a_search_that_has_ended_is_not_led_to_the_gates_again() -> None:
    waiting = make(status=Status.WAITING)
    write_outcome(store(), waiting.run_id, GOOD)
    flow.lead_through(waiting.pk)
    assert again(waiting).status == Status.RUNNING


def test_a_row_cannot_be_claimed_before_its_time() -> None:
    waiting = make(status=Status.WAITING, next_try_at=timezone.now() + timedelta(minutes=1))
    flow.lead_through(waiting.pk)
    assert (again(waiting).status, again(waiting).attempt) == (Status.WAITING, 0)


def test_a_deserted_admission_that_left_nothing_stands_in_line_again() -> None:
    row = deserted(worker="host:17")
    assert (row.status, row.reason) == (Status.WAITING, Reason.WORKER_LOST)
    assert "host:17" in row.detail


def test_an_admission_whose_worker_gives_signs_of_life_is_left_alone() -> None:
    submission = submitting()
    reconcile.desert_admissions(submission.scope, sight())
    assert again(submission).status == Status.SUBMITTING


def test_a_deserted_preparation_is_done_again_and_a_live_one_is_not() -> None:
    live = make(status=Status.PREPARING, beat_at=timezone.now())
    dead = make(status=Status.PREPARING, beat_at=timezone.now() - timedelta(minutes=5))
    reconcile.desert_preparations(live.scope)
    assert (again(live).status, again(dead).status) == (Status.PREPARING, Status.QUEUED)


def test_a_waiting_row_whose_finalizer_is_there_was_submitted() -> None:
    waiting = make(status=Status.WAITING)
    reconcile.find_submitted([waiting], sight(jobs=[job("finalizer", waiting.run_id, succeeded=1)]))
    assert again(waiting).status == Status.RUNNING


# Following -----------------------------------------------------------------------------------------------------------


class Asked:
    """The cluster, when it is asked afresh; the rest of the port is not used here."""

    def __init__(self, jobs: list[Object]) -> None:
        self.jobs = jobs

    def list(self, kind: str, labels: str = "", fields: str = "") -> Listing:
        return Listing(tuple(self.jobs), "1", NOW)


def followed(
    *jobs: Object, outcome: RunOutcome | None = None, submitted: float = 60, asked: list[Object] | None = None
) -> Submission:
    submission = make(status=Status.RUNNING, submitted_at=timezone.now() - timedelta(seconds=submitted))
    for one in jobs:
        one["metadata"]["labels"]["elb-job-id"] = submission.run_id
    if outcome is not None:
        write_outcome(store(), submission.run_id, outcome)
    reconcile.follow(submission.scope, sight(jobs=list(jobs)), Asked(asked or []))  # type: ignore[arg-type]
    return again(submission)


def finalizer(**status: Any) -> Object:
    made = job("finalizer", "x", **status)
    made["metadata"]["annotations"] = {"coordui/batches": "3"}
    return made


def blast(done: bool) -> Object:
    return job("blast", "x", **({"succeeded": 1, "conditions": [condition("Complete")]} if done else {"active": 1}))


GOOD = RunOutcome(
    "succeeded", queries=4, queries_with_hits=2, hits=9, batches=3, blast="2.12.0+", message="", detail=""
)
BAD = RunOutcome("failed", 4, 0, 0, 3, "2.12.0+", "BLAST stopped in batch 2.", "BLAST engine error: no")


def test_a_running_search_says_how_far_it_is() -> None:
    starting = followed(finalizer(active=1))
    assert (starting.phase, starting.batches_done, starting.batches) == (Phase.STARTING, 0, 3)
    searching = followed(finalizer(active=1), blast(True), blast(False))
    assert (searching.phase, searching.batches_done) == (Phase.SEARCHING, 1)
    assert followed(finalizer(active=1), blast(True), blast(True), blast(True)).phase == Phase.MERGING


def test_it_is_completed_when_its_finalizer_has_ended_and_its_results_can_be_read() -> None:
    row = followed(finalizer(succeeded=1), outcome=GOOD)
    assert (row.status, row.hits, row.queries_with_hits) == (Status.COMPLETED, 9, 2)
    assert row.events.filter(status="completed").count() == 1


def test_a_live_finalizer_is_not_believed_to_have_ended() -> None:
    assert followed(finalizer(active=1), outcome=GOOD).status == Status.RUNNING


def test_a_failed_search_shows_blasts_own_words() -> None:
    row = followed(finalizer(conditions=[condition("Failed")]), outcome=BAD)
    assert (row.status, row.reason) == (Status.FAILED, Reason.SEARCH_FAILED)
    assert "BLAST engine error: no" in row.detail


def test_a_finalizer_that_failed_without_an_outcome_says_what_the_cluster_says() -> None:
    failed = {**condition("Failed"), "message": "Job was active longer than specified deadline"}
    row = followed(finalizer(conditions=[failed]))
    assert (row.status, row.detail) == (Status.FAILED, failed["message"])


def test_a_vanished_run_ends_by_its_outcome_or_as_lost_but_not_at_once() -> None:
    assert followed(outcome=GOOD).status == Status.COMPLETED
    assert followed(submitted=3).status == Status.RUNNING
    lost = followed()
    assert (lost.status, lost.reason) == (Status.FAILED, Reason.RUN_LOST)


def test_a_run_that_only_the_watch_has_lost_is_not_lost() -> None:
    assert followed(asked=[finalizer(active=1)]).status == Status.RUNNING


def test_an_outcome_may_come_a_moment_after_the_end_of_its_finalizer() -> None:
    def ended(seconds: float) -> Object:
        return finalizer(succeeded=1, conditions=[condition("Complete")], completionTime=ago(seconds))

    assert followed(ended(5)).status == Status.RUNNING
    assert followed(ended(60)).status == Status.FAILED


def test_a_damaged_outcome_ends_its_own_row_and_keeps_nobody_else_waiting() -> None:
    def damaged(**values: Any) -> Submission:
        submission = make(**values)
        store().put(run_key(submission.run_id, "outcome.json"), b'{"status": ')
        return submission

    long_ago = timezone.now() - timedelta(minutes=5)
    deserted_one = damaged(status=Status.SUBMITTING, beat_at=long_ago)
    waiting, running = damaged(status=Status.WAITING), damaged(status=Status.RUNNING, submitted_at=long_ago)
    reconcile.desert_admissions(running.scope, sight())
    flow.lead_through(waiting.pk)
    reconcile.follow(running.scope, sight(), Asked([]))  # type: ignore[arg-type]
    rows = [again(row) for row in (deserted_one, waiting, running)]
    assert [(row.status, row.reason) for row in rows] == [(Status.FAILED, Reason.RESULTS_DAMAGED)] * 3
    assert "is damaged" in rows[0].detail
