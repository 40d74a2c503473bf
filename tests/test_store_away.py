"""A work store that does not answer: the line moves, nothing is lost, no try is spent, and it ends some time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]
from django.utils import timezone
from s3fs.errors import translate_boto_error  # type: ignore[import-untyped]

from submits import flow
from submits.engine.errors import Exit, status_of
from submits.engine.outcome import write_outcome
from submits.flow import OUTAGES, TRIES
from submits.gates import naming
from submits.gates.verdicts import Outcome, Verdict
from submits.models import Submission
from submits.scopes import store
from submits.states import Phase, Reason, Status
from submits.work import Unstored, run_key
from submits.work.objects import is_refusal
from tests.cancelling import outcome
from tests.gates.trying import body
from tests.objectstore import refusing, silent
from tests.test_gatekeeper import Turns, again, turns
from tests.test_models import make
from tests.world import SCALE

__all__ = ["turns"]
pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


def test_a_turn_asks_it_once_and_does_everything_else(turns: Turns) -> None:
    past = timezone.now() - LONG_AGO
    deserted = [make(status=Status.SUBMITTING, phase=Phase.GATE_TAKEN, beat_at=past) for _ in range(2)]
    running = [make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=past) for _ in range(2)]
    cancelling = [make(status=Status.CANCELLING, phase=Phase.STOPPING) for _ in range(2)]
    queued = make(status=Status.QUEUED)
    first = turns.waiting()
    with silent() as asked:
        assert turns.turn() == [("search", first.pk), ("prepare", queued.pk)]
        assert len(asked) == 1 and not turns.keeper.booting
    assert [place["submission"] for place in turns.view()["line"]] == [first.key]
    assert turns.keeper.copier.runs == {row.run_id for row in (*deserted, *running, *cancelling)}
    assert {again(row).status for row in deserted} == {Status.SUBMITTING}
    assert {again(row).status for row in running} == {Status.RUNNING}
    told = [again(row) for row in cancelling]
    assert {(row.status, row.reason) for row in told} == {(Status.CANCELLING, Reason.WORK_STORE_UNAVAILABLE)}
    assert all(row.next_try_at and "work store" in row.detail for row in told)
    Submission.objects.filter(status=Status.CANCELLING).update(next_try_at=None)
    turns.keeper.canceller.looked.clear()
    turns.turn()
    assert {again(row).status for row in deserted} == {Status.WAITING}
    assert {again(row).reason for row in running} == {Reason.RUN_LOST}
    assert {again(row).status for row in cancelling} == {Status.CANCELLED}


class Azure(Exception):
    """As adlfs lets one through: both are answers with the status 403."""

    status_code = 403

    def __init__(self, error_code: str) -> None:
        super().__init__("words")
        self.error_code = error_code


def amazon(code: str) -> Exception:
    """As s3fs raises what botocore has parsed."""
    found: Exception = translate_boto_error(ClientError({"Error": {"Code": code, "Message": "words"}}, "GetObject"))
    return found


@pytest.mark.parametrize(
    ("by", "asks_on"),
    [
        (amazon("AccessDenied"), True),
        (amazon("403"), True),  # of a HEAD, whose answer has no body
        (amazon("InvalidAccessKeyId"), False),
        (amazon("SlowDown"), False),
        (OSError("Forbidden: https://storage/b/o"), True),
        (Azure("AuthorizationPermissionMismatch"), True),
        (Azure("AuthenticationFailed"), False),
        (TimeoutError(), False),
        (ConnectionError("refused"), False),
    ],
)
def test_an_outcome_that_can_never_be_read_keeps_nobody_elses_end_back(
    turns: Turns, by: Exception, asks_on: bool
) -> None:
    """One that the store refuses to give says that the store is there; else nothing more is asked in that turn."""
    past = timezone.now() - LONG_AGO
    refused, ended, refused_too, ended_too, alive = (
        make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=past) for _ in range(5)
    )
    turns.cluster.create("jobs", body("finalizer", alive.run_id, naming.finalizer(alive.run_id)))
    with refusing(refused.run_id, refused_too.run_id, by=by):
        for row in (ended, ended_too):
            write_outcome(store(), row.run_id, outcome("succeeded"))
        turns.turn()
        first = {again(row).status for row in (ended, ended_too)}
        assert first == {Status.COMPLETED if asks_on else Status.RUNNING}
        assert again(alive).phase == Phase.STARTING, "which needs no store"
        for _ in range(2):
            turns.turn()
        assert {again(row).status for row in (ended, ended_too)} == {Status.COMPLETED}
        assert {again(row).status for row in (refused, refused_too)} == {Status.RUNNING}


@pytest.mark.parametrize(
    "code", ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "RequestTimeTooSkewed", "AccountProblem"]
)
def test_credentials_that_open_nothing_are_no_refusal_of_one_object(code: str) -> None:
    fault = amazon(code)
    assert isinstance(fault, PermissionError) and not is_refusal(fault)


def test_it_is_not_asked_for_everybody_in_line(turns: Turns) -> None:
    for _ in range(5 * SCALE):
        turns.waiting()
    with silent() as asked:
        turns.turn()
        assert asked == []


def test_a_preparation_that_is_put_off_is_not_hurried_before_its_time(turns: Turns) -> None:
    make(status=Status.QUEUED, next_try_at=timezone.now() + LONG_AGO)
    due = make(status=Status.QUEUED, next_try_at=timezone.now() - LONG_AGO)
    assert turns.turn() == [("prepare", due.pk)]


def test_a_preparation_is_put_off_and_done_when_it_answers() -> None:
    row = make(status=Status.QUEUED)
    store().put(run_key(row.run_id, "query.fa"), b">q\nACGTACGTACGTACGTACGTACGTACGTACGT\n")
    with silent():
        flow.prepare(row.pk)
        put_off = again(row)
        flow.prepare(row.pk)  # a message that comes before its time
    assert (put_off.status, put_off.reason, put_off.outages) == (Status.QUEUED, Reason.WORK_STORE_UNAVAILABLE, 1)
    assert put_off.next_try_at and put_off.next_try_at > timezone.now() and "no answer within" in put_off.detail
    assert again(row).attempt == put_off.attempt
    Submission.objects.filter(pk=row.pk).update(next_try_at=timezone.now())
    flow.prepare(row.pk)
    done = again(row)
    assert (done.status, done.batches, done.outages, done.next_try_at) == (Status.WAITING, 1, 0, None)


def test_an_attempt_that_cannot_ask_for_the_outcome_goes_back_in_line() -> None:
    row = make(status=Status.WAITING, phase=Phase.IN_LINE)
    write_outcome(store(), row.run_id, outcome("succeeded"))
    with silent():
        flow.lead_through(row.pk)
    back = again(row)
    assert (back.status, back.reason, back.outages) == (Status.WAITING, Reason.WORK_STORE_UNAVAILABLE, 1)
    assert back.next_try_at and back.next_try_at > timezone.now() and back.tries == 0
    Submission.objects.filter(pk=row.pk).update(next_try_at=None)
    flow.lead_through(row.pk)
    assert again(row).status == Status.RUNNING


@pytest.mark.parametrize("status", [Status.QUEUED, Status.WAITING])
def test_it_is_waited_for_a_bounded_number_of_times(status: Status) -> None:
    row = make(status=status, outages=OUTAGES - 1)
    with silent():
        flow.run(row.pk)
    assert (again(row).status, again(row).reason) == (Status.FAILED, Reason.WORK_STORE_LOST)


def test_a_submit_that_failed_is_counted_although_its_words_cannot_be_read() -> None:
    row = make(status=Status.SUBMITTING, tries=TRIES - 1)
    with silent():
        flow.record(row, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, "it ended with 8", exit_code=8))
    failed = again(row)
    assert (failed.status, failed.tries, failed.detail) == (Status.FAILED, TRIES, "it ended with 8")


def test_a_submit_that_it_did_not_answer_costs_no_try_and_is_bounded_all_the_same() -> None:
    code = status_of(Unstored("no answer"))
    assert code is Exit.UNSTORED
    row = make(status=Status.SUBMITTING, tries=TRIES - 1)
    flow.record(row, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, "it ended with 12", exit_code=code))
    back = again(row)
    assert (back.status, back.reason, back.tries, back.outages) == (
        Status.WAITING,
        Reason.WORK_STORE_UNAVAILABLE,
        TRIES - 1,
        1,
    )
    assert back.next_try_at is not None
    last = make(status=Status.SUBMITTING, outages=OUTAGES - 1)
    flow.record(last, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=code))
    assert (again(last).status, again(last).reason) == (Status.FAILED, Reason.WORK_STORE_LOST)
    found = make(status=Status.SUBMITTING)
    flow.record(found, Verdict(Outcome.SUBMITTED, exit_code=code))
    assert again(found).status == Status.RUNNING
