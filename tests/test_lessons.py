"""What has gone wrong in systems like this one, each with what must happen instead. (The gates have theirs.)"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from submits import cancel, flow, live, reconcile, tasks
from submits.gates.line import Standing, wait_over
from submits.gates.ports import ClusterError
from submits.gates.verdicts import Outcome, Verdict
from submits.models import IllegalMove, Submission
from submits.shown import mine, pages, telling
from submits.shown.look import Look
from submits.states import ENDED, LIVE, Phase, Reason, Status
from submits.work import WorkStore
from tests.gates.made import NOW, RULES, job, lease, sight, ticket
from tests.test_models import make
from tests.views import factory
from tests.views.conftest import People
from tests.views.test_new import send

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(db: None) -> People:
    return People(factory.person("ann", operator=True), factory.person("bob"), factory.person("eve"))


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


def waiting(**values: Any) -> Submission:
    since = timezone.now() - timedelta(minutes=9)
    times = {"ticket_at": since, "moved_at": since, "until": since + timedelta(days=1)}
    return make(status=Status.WAITING, phase=Phase.IN_LINE, **{**times, **values})


def test_no_requeue_starts_a_wait_anew() -> None:
    """A deadline that is forgotten when a different wait takes over is none."""
    row = waiting()
    began = (row.ticket_at, row.moved_at, row.until)
    for verdict in (
        Verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT),
        Verdict(Outcome.SHUT, Reason.WAITING_FOR_CAPACITY),
        Verdict(Outcome.BACK, Reason.QUOTA_FULL),
        Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=7),
        Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE),
        Verdict(Outcome.SHUT, Reason.GATE_LOST),
    ):
        Submission.objects.filter(pk=row.pk).update(status=Status.SUBMITTING)
        flow.record(again(row), verdict)
        found = again(row)
        assert (found.ticket_at, found.moved_at, found.until) == began, verdict
    Submission.objects.filter(pk=row.pk).update(status=Status.SUBMITTING, beat_at=None)
    reconcile.desert_admissions(row.scope, sight())
    found = again(row)
    assert (found.reason, found.ticket_at, found.until) == (Reason.WORKER_LOST, began[0], began[2])


def test_a_wait_that_goes_from_door_to_door_ends_all_the_same() -> None:
    held, full = lease("openapi-1"), [job("finalizer", f"job-{n}", active=1) for n in range(3)]
    knob = RULES.knobs.capacity_wait_max
    since, until = NOW - timedelta(seconds=knob + 1), NOW + timedelta(days=1)

    def over(gate: Any, jobs: Any, moved: Any) -> Reason | None:
        seen = sight(ticket(1), ticket(2), gate=gate, jobs=jobs)
        place = Standing(seen.tickets[1], 2, False, False, Reason.WAITING_IN_LINE)
        return wait_over(seen, place, since, moved, until)

    assert over(held, [], since) is Reason.SUBMIT_SLOT_TIMEOUT
    assert over(None, full, since) is Reason.CAPACITY_TIMEOUT
    assert over(held, full, since) is Reason.CAPACITY_TIMEOUT
    assert over(held, full, NOW - timedelta(seconds=5)) is None  # the line moves


def test_a_try_repeats_nothing_of_the_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    row = waiting(next_try_at=None)
    monkeypatch.setattr(flow, "prepare_run", lambda submission: pytest.fail("prepared again"))
    monkeypatch.setattr(flow, "leashed_submit", lambda scope: None)
    monkeypatch.setattr(flow, "connect", lambda scope: None)
    shut = Verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT)
    monkeypatch.setattr(flow, "admitter", lambda _: lambda *_: shut)
    flow.run(row.pk)
    assert (again(row).status, again(row).attempt) == (Status.WAITING, 1)


def test_contention_uses_up_no_try() -> None:
    row = waiting()
    for _ in range(20):
        Submission.objects.filter(pk=row.pk).update(status=Status.SUBMITTING)
        flow.record(again(row), Verdict(Outcome.SHUT, Reason.WAITING_FOR_CAPACITY))
    assert (again(row).status, again(row).tries, again(row).outages) == (Status.WAITING, 0, 0)


def test_an_outage_ends_after_twelve_tries_in_a_state_of_its_own() -> None:
    row, waits = waiting(), []
    for outcome in [Outcome.UNKNOWN, Outcome.BACK] * 6:
        Submission.objects.filter(pk=row.pk).update(status=Status.SUBMITTING)
        flow.record(again(row), Verdict(outcome, Reason.COORDINATION_UNAVAILABLE, "POST jobs: no answer"))
        found = again(row)
        if found.next_try_at and not found.ended:
            waits.append(round((found.next_try_at - timezone.now()).total_seconds()))
    assert waits == [15, 30, 60, 120, 240, 300, 300, 300, 300, 300, 300]
    assert (found.status, found.reason) == (Status.FAILED, Reason.COORDINATION_LOST)
    assert found.detail == "POST jobs: no answer"


def test_what_a_submit_may_have_done_is_never_given_up_unseen() -> None:
    row = make(status=Status.SUBMITTING, outages=11)
    flow.record(row, Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, exit_code=0))
    assert again(row).status == Status.WAITING


def test_a_cluster_whose_address_cannot_even_be_read_is_an_outage_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreadable(_: object) -> None:
        raise ClusterError("the kubeconfig cannot be read")

    monkeypatch.setattr(flow, "connect", unreadable)
    row = waiting()
    flow.lead_through(row.pk)
    found = again(row)
    assert (found.status, found.reason, found.outages) == (Status.WAITING, Reason.COORDINATION_UNAVAILABLE, 1)
    assert found.next_try_at is not None and found.detail == "the kubeconfig cannot be read"


def test_a_preparation_past_its_time_limit_says_so_and_a_try_leaves_its_row_to_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit that is swallowed leaves a row that nobody is at."""

    def over(*_: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(flow, "prepare_run", over)
    queued = make(status=Status.QUEUED)
    flow.prepare(queued.pk)
    assert (again(queued).status, again(queued).reason) == (Status.FAILED, Reason.PREPARATION_FAILED)
    assert "SoftTimeLimitExceeded" in again(queued).detail
    for name in ("connect", "leashed_submit"):
        monkeypatch.setattr(flow, name, lambda _: None)
    monkeypatch.setattr(flow, "admitter", lambda _: over)
    row = waiting()
    with pytest.raises(SoftTimeLimitExceeded):
        flow.lead_through(row.pk)
    Submission.objects.filter(pk=row.pk).update(beat_at=timezone.now() - timedelta(minutes=5))
    reconcile.desert_admissions(row.scope, sight())
    assert (again(row).status, again(row).reason) == (Status.WAITING, Reason.WORKER_LOST)


def test_an_answer_ends_the_count_of_outages() -> None:
    row = make(status=Status.SUBMITTING, outages=11)
    flow.record(row, Verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, exit_code=7))
    assert again(row).outages == 0


def test_the_next_try_that_is_announced_is_the_one_that_is_made() -> None:
    row = make(status=Status.SUBMITTING)
    flow.record(row, Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE))
    found = again(row)
    assert found.next_try_at is not None
    view, before = live.empty_view(3), found.next_try_at - timedelta(seconds=12)
    assert telling.tell(found, view, 1, before).sentence.endswith("Tried again in 12 s.")
    flow.lead_through(found.pk)
    assert again(row).attempt == 0  # not before
    Submission.objects.filter(pk=row.pk).update(next_try_at=timezone.now())
    assert Submission.objects.claim(
        row.pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker="w"
    )


def test_a_message_that_lay_around_changes_nothing_of_a_cancelled_search() -> None:
    """A cancelled search that is led through by an old message would run without anybody waiting for it."""
    for status in (Status.QUEUED, Status.WAITING):
        row = make(status=status)
        cancel.ask(row.key, "ada")
        tasks.prepare(row.pk)
        tasks.search(row.pk)
        flow.run(row.pk)
        assert (again(row).status, again(row).attempt) == (Status.CANCELLING, 0)


def test_nothing_brings_back_what_has_ended() -> None:
    for status in ENDED:
        row = make(status=status)
        for other in Status:
            if other is not status:
                with pytest.raises(IllegalMove):
                    Submission.objects.move(again(row), other, phase=Phase.IN_LINE)
        seen = sight(jobs=[job("finalizer", row.run_id, active=1)])
        reconcile.desert_preparations(row.scope)
        reconcile.desert_admissions(row.scope, seen)
        reconcile.find_submitted(Submission.objects.filter(status=Status.WAITING), seen)
        reconcile.follow(row.scope, seen, None)  # type: ignore[arg-type]  # there is nothing to ask about
        reconcile.silence(row.scope, "no answer", timezone.now())
        assert again(row).status == status


def test_a_write_of_one_fact_overwrites_no_other() -> None:
    row = waiting()
    stale, later = again(row), timezone.now()
    Submission.objects.filter(pk=row.pk).update(moved_at=later, next_try_at=later)
    assert Submission.objects.move(stale, Status.WAITING, phase=Phase.IN_LINE, reason=Reason.DRAINED)
    assert (again(row).moved_at, again(row).next_try_at) == (later, later)


def test_a_wait_during_an_outage_ends_too_and_not_as_a_full_house() -> None:
    past, going_on = waiting(until=timezone.now() - timedelta(seconds=1)), waiting()
    reconcile.silence(past.scope, "no answer", timezone.now())
    assert (again(past).status, again(past).reason) == (Status.FAILED, Reason.COORDINATION_LOST)
    assert again(going_on).status == Status.WAITING


def test_waiting_is_neither_running_nor_without_a_place(people: People) -> None:
    row = factory.waiting(people.bob)
    factory.publish(line=[factory.place(None, 1), factory.place(row, 2)])
    look = Look.at(row.scope)
    (listed,) = [mine.row(row, look, {row.key: 2}, look.now)]
    assert (listed.told.word, listed.position) == ("waiting", 2)
    words = {status: telling.tell(make(status=status), look.view, None, look.now).word for status in LIVE}
    assert [status for status, word in words.items() if word == "running"] == [Status.RUNNING]


def test_a_search_without_a_row_is_not_started(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it cannot be written down nobody may be told that it was received, and no worker that it is there."""
    factory.database()
    sent: list[int] = []
    monkeypatch.setattr(tasks, "send", lambda task, pk: sent.append(pk))
    client = people.client(people.bob)
    client.raise_request_exception = False

    def full(self: WorkStore, key: str) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(WorkStore, "writing", full)
        assert send(client).status_code == 500
    with monkeypatch.context() as broken:
        broken.setattr(Submission, "save", lambda self, **_: (_ for _ in ()).throw(OperationalError("locked")))
        assert send(client).status_code == 500
    assert (Submission.objects.count(), sent) == (0, [])
    assert send(client).status_code == 302


def test_whose_search_it_is_must_be_known_before_it_is_cancelled(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = factory.running(people.bob)

    def unknown(*_: object) -> Submission:
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(pages, "find", unknown)
    client = Client(raise_request_exception=False)
    client.force_login(people.bob)
    assert client.post(reverse("cancel", args=[row.key])).status_code == 500
    assert again(row).status == Status.RUNNING


def test_a_search_that_is_cancelled_is_known_in_the_cluster_by_its_run_id() -> None:
    """A DELETE by one's own id, which matches nothing, answers 200."""
    row = make(status=Status.RUNNING)
    asked: list[str] = []

    class Listening:
        namespace = "default"

        def list(self, kind: str, labels: str = "", fields: str = "") -> Any:
            asked.append(labels)
            return type("Listing", (), {"items": ()})

    cancel.everything(row, Listening())  # type: ignore[arg-type]
    assert asked.count(f"elb-job-id={row.run_id}") == 2


def test_an_id_is_random_and_stays() -> None:
    rows = [make(status=Status.QUEUED) for _ in range(50)]
    assert len({row.run_id for row in rows}) == 50
    assert all(len(row.run_id) == 36 and row.key not in row.run_id for row in rows)
    row = rows[0]
    for status, phase in ((Status.PREPARING, Phase.PREPARING), (Status.QUEUED, Phase.RECEIVED)):
        Submission.objects.move(row, status, phase=phase)
        assert again(row).run_id == row.run_id
