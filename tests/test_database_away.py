"""A search that was received and whose database is taken out of offer before it is prepared."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.admin import site
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest
from django.utils import timezone

from submits import flow, tasks
from submits.admin import DatabaseAdmin
from submits.models import Database, Submission
from submits.preparing import unoffered
from submits.scopes import rules, store
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.test_catalogue import formatted, place
from tests.test_gatekeeper import Turns, again, turns
from tests.test_models import make

__all__ = ["place", "turns"]
pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def received(database: Database) -> Submission:
    row = make(status=Status.QUEUED, program="blastn", database=database)
    store().put(run_key(row.run_id, "query.fa"), b">q\nACGTACGTACGTACGTACGTACGTACGTACGT\n")
    return row


def test_it_is_waited_for_and_taken_up_when_a_look_finds_it_again(turns: Turns, place: Path) -> None:
    formatted(place / "a")
    formatted(place / "b", 0)
    tasks.look_for_databases()
    row, other = received(Database.objects.get(key="a")), received(Database.objects.get(key="a"))
    for file in place.glob("a.*"):
        shutil.move(file, place.parent)
    tasks.look_for_databases()
    since = Database.objects.get(key="a").trouble_since
    assert since is not None and turns.turn() == [("prepare", row.pk), ("prepare", other.pk)]
    flow.prepare(row.pk)
    told = again(row)
    assert (told.status, told.phase, told.reason) == (Status.QUEUED, Phase.RECEIVED, Reason.DATABASE_AWAY)
    assert told.detail.startswith(
        f"“a” is not offered since {since:%Y-%m-%d %H:%M} UTC: it is not there.\nIt is waited"
    )
    assert turns.turn() == [("prepare", other.pk)], "one that has been told is left alone"
    for file in place.parent.glob("a.*"):
        shutil.move(file, place)
    tasks.look_for_databases()
    assert turns.turn() == [("prepare", row.pk), ("prepare", other.pk)]
    flow.prepare(row.pk)
    assert (again(row).status, again(row).batches) == (Status.WAITING, 1)
    assert Database.objects.get(key="a").trouble_since is None


def test_since_when_stays_said_while_what_is_wrong_changes(place: Path) -> None:
    formatted(place / "a")
    formatted(place / "b", 0)
    tasks.look_for_databases()
    whole = (place / "a.nsq").read_bytes()
    (place / "a.nsq").write_bytes(whole[:50])
    tasks.look_for_databases()
    Database.objects.filter(key="a").update(trouble_since=NOON)
    (place / "a.nsq").write_bytes(whole[:60])
    tasks.look_for_databases()
    found = Database.objects.get(key="a")
    assert "has 60 bytes" in found.trouble and found.trouble_since == NOON


def away() -> Submission:
    row = received(make(status=Status.FAILED).database)
    Database.objects.update(ready=False, trouble="it is not there.", trouble_since=NOON)
    flow.prepare(row.pk)
    assert again(row).reason == Reason.DATABASE_AWAY
    return row


def test_it_is_not_waited_for_longer_than_a_wait_may_last(turns: Turns) -> None:
    row = away()
    longest = timedelta(seconds=rules().times.until)
    for left, woken in [(HOUR, []), (-HOUR, [("prepare", row.pk)])]:
        Submission.objects.filter(pk=row.pk).update(created_at=timezone.now() - longest + left)
        assert turns.turn() == woken
    flow.prepare(row.pk)
    ended = again(row)
    assert (ended.status, ended.phase, ended.reason) == (Status.FAILED, Phase.ENDED, Reason.DATABASE_GONE)
    assert "It was waited for until" in ended.detail


def test_what_it_waits_for_follows_what_a_later_look_finds(turns: Turns) -> None:
    row = away()
    assert turns.turn() == []
    Database.objects.update(trouble="it is damaged or half copied: 100%_a.nsq has 5 bytes.")
    assert turns.turn() == [("prepare", row.pk)]
    flow.prepare(row.pk)
    told = again(row)
    assert told.reason == Reason.DATABASE_AWAY and "100%_a.nsq has 5 bytes." in told.detail
    assert turns.turn() == [], "told once"


def test_one_that_is_taken_out_for_good_is_not_offered_by_the_next_look(turns: Turns, place: Path) -> None:
    formatted(place / "a")
    formatted(place / "b", 0)
    tasks.look_for_databases()
    for file in place.glob("a.*"):
        shutil.move(file, place.parent)
    tasks.look_for_databases()
    row = received(Database.objects.get(key="a"))
    DatabaseAdmin(Database, site).take_out(pressed(), Database.objects.filter(key="a"))
    for look_finds_it in (False, True):
        for file in place.parent.glob("a.*") if look_finds_it else ():
            shutil.move(file, place)
        tasks.look_for_databases()
        found = Database.objects.get(key="a")
        assert (found.ready, found.trouble, found.trouble_since) == (False, "", None)
    flow.prepare(row.pk)
    assert (again(row).status, again(row).reason) == (Status.FAILED, Reason.DATABASE_GONE)


def pressed() -> HttpRequest:
    request = HttpRequest()
    request._messages = CookieStorage(request)  # type: ignore[attr-defined]
    return request


def test_one_that_an_operator_takes_out_ends_what_waits_for_it(turns: Turns) -> None:
    row = away()
    Database.objects.update(trouble="")
    assert turns.turn() == [("prepare", row.pk)]
    flow.prepare(row.pk)
    assert (again(row).status, again(row).reason) == (Status.FAILED, Reason.DATABASE_GONE)


def test_one_that_an_operator_offers_all_the_same_is_searched(turns: Turns) -> None:
    row = away()
    Database.objects.update(ready=True)
    assert turns.turn() == [("prepare", row.pk)]
    flow.prepare(row.pk)
    assert again(row).status == Status.WAITING


@pytest.mark.parametrize(
    ("ready", "trouble", "now", "reason"),
    [
        (True, "", NOON, None),
        (True, "", NOON + 2 * HOUR, None),
        (False, "", NOON, Reason.DATABASE_GONE),
        (False, "it is not there.", NOON, Reason.DATABASE_AWAY),
        (False, "it is not there.", NOON + HOUR, Reason.DATABASE_GONE),
    ],
)
def test_what_a_look_took_out_may_come_back(ready: bool, trouble: str, now: datetime, reason: Reason | None) -> None:
    told = unoffered(Database(title="nt", ready=ready, trouble=trouble), NOON + HOUR, now)
    assert (told and told[0]) == reason
