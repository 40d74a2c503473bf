"""Every way a submission can stand, through its page, the list, its JSON and its log line."""

from __future__ import annotations

import json
import logging
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from coordui.logs import JsonFormatter
from submits import logline
from submits.models import Event, Submission
from submits.states import PHASES, REASONS, REASONS_OF, Kind, Phase, Reason, Status
from tests.views import factory
from tests.views.conftest import People

FOUR = ("gate", "active_submissions", "lease_holder", "wait_elapsed")


def mood(status: Status, reason: Reason) -> str:
    """What a state may look like: red is for what has failed, amber for what is tried again."""
    if status is Status.FAILED:
        return "fail"
    if status is Status.CANCELLED:
        return "off"
    if status is Status.COMPLETED:
        return "done"
    if reason in (Reason.WORK_STORE_UNAVAILABLE, Reason.DATABASE_AWAY):
        return "retry"
    if reason and status in (Status.WAITING, Status.RUNNING, Status.CANCELLING):
        return "retry" if REASONS[reason].kind is Kind.RETRY else "wait"
    return "go"


def stand(people: People, status: Status, phase: Phase, reason: Reason) -> Submission:
    row = factory.waiting(people.bob, status=status, phase=phase, reason=reason, batches=3, cancel_at=timezone.now())
    if status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        Submission.objects.filter(pk=row.pk).update(finished_at=timezone.now())
        row.refresh_from_db()
    line = [factory.place(row, 1)] if status is Status.WAITING else []
    factory.publish(gate="A_busy", active=2, line=line, lease=factory.lease(), slots=[factory.slot(None)] * 2)
    return row


@pytest.mark.parametrize("status", list(Status))
def test_it_can_be_told(people: People, bob: Client, status: Status) -> None:
    for phase in sorted(PHASES[status]):
        for reason in sorted(REASONS_OF[status]):
            try:
                tell(people, bob, status, phase, reason)
            except Exception as error:
                raise AssertionError(f"{status} {phase} {reason}") from error


def tell(people: People, bob: Client, status: Status, phase: Phase, reason: Reason) -> None:
    row = stand(people, status, phase, reason)
    Event.record(row, timezone.now())

    page = bob.get(reverse("search", args=[row.key])).content.decode()
    card = re.search(r'<section id="state" class="card state (\w+)".*?</section>', page, re.S)
    assert card and card[1] == mood(status, reason)
    sentence = re.search(r'<p class="say">(.+?)</p>', card[0])
    assert sentence and sentence[1].endswith(".")
    assert not reason or f"<code>{reason}</code>" in card[0]
    assert (f'href="/searches/{row.key}/cancel/"' in page) == (not row.ended and status is not Status.CANCELLING)
    assert ('form="again"' in page) == row.ended
    listed = re.search(r'<tr class="(\w+)">', bob.get(reverse("searches")).content.decode())
    assert listed and listed[1] == mood(status, reason)

    told = json.loads(bob.get(reverse("search_json", args=[row.key])).content)
    assert (told["status"], told["phase"], told["reason"]) == (status, phase, reason or None)
    assert told["sentence"].endswith(".")
    assert told["reason_kind"] == (REASONS[reason].kind if reason else None)

    said = logline.fields(row)
    assert [said[name] for name in FOUR[:3]] == [told[name] for name in FOUR[:3]]
    assert (said["wait_elapsed"] is None) == (told["wait_elapsed"] is None)
    waits = status in (Status.WAITING, Status.SUBMITTING)
    assert (said["gate"], said["active_submissions"]) == (("A_busy", "2/3") if waits else (None, None))
    assert f"status={status} phase={phase} gate={'A_busy' if waits else '-'} " in logline.text(said)
    level = logline.level(status, reason)
    assert (level > logging.INFO) == (mood(status, reason) in ("fail", "retry") or reason is Reason.WORKER_LOST)


@pytest.mark.django_db(transaction=True)
def test_every_change_is_one_line_with_the_protocols_words(people: People, caplog: pytest.LogCaptureFixture) -> None:
    row = factory.waiting(people.bob, since=42, reason=Reason.WAITING_FOR_CAPACITY)
    holder = factory.lease()["holder"]
    factory.publish(gate="A_busy", active=2, lease=factory.lease())
    caplog.set_level(logging.INFO, "submits.logline")
    caplog.clear()
    reason = Reason.WAITING_FOR_SUBMIT_SLOT
    assert Submission.objects.move(row, Status.WAITING, phase=Phase.IN_LINE, reason=reason, detail="a\nb")
    assert Submission.objects.move(row, Status.WAITING, phase=Phase.IN_LINE, reason=reason, batches=2)  # no change
    (record,) = [record for record in caplog.records if record.name == "submits.logline"]
    line = record.getMessage()
    assert line.startswith(f"submission={row.key} status=waiting phase=in_line gate=A_busy active_submissions=2/3 ")
    assert re.search(rf" lease_holder={holder} wait_elapsed=4[23] reason=waiting_for_submit_slot ", line)
    assert f" elb_job_id={row.run_id}" in line and "\n" not in line
    told = json.loads(JsonFormatter().format(record))
    assert (told["gate"], told["active_submissions"], told["lease_holder"]) == ("A_busy", "2/3", holder)
    assert isinstance(told["wait_elapsed"], int) and told["reason"] == reason and told["detail"] == "a\nb"
    assert told["level"] == "INFO" and told["time"].endswith("+00:00")


@pytest.mark.django_db(transaction=True)
def test_a_line_that_cannot_be_said_undoes_nothing(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(submission: Submission) -> None:
        raise KeyError("none")

    monkeypatch.setattr(logline, "fields", broken)
    row = factory.waiting(people.bob)
    assert Submission.objects.move(row, Status.FAILED, phase=Phase.ENDED, reason=Reason.CAPACITY_TIMEOUT)
    assert Submission.objects.get(pk=row.pk).status == Status.FAILED


def test_an_exception_is_one_line_of_json_too() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "it %s", ("broke",), (type(error), error, None))
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["message"] == "it broke" and "second" in json.loads(line)["exception"]
