"""Cancel, search again, edit and search again; the same form twice; what a search that ended early leaves."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from submits import demo, forms
from submits.blast.split import Rule
from submits.engine import batch
from submits.engine.prepare import prepare
from submits.models import Database, Submission
from submits.scopes import store
from submits.shown import pages
from submits.states import Phase, Reason, Status
from submits.work import WorkStore, run_key
from tests.views import factory
from tests.views.conftest import People
from tests.views.test_new import PROTEIN, send, text_of


@pytest.fixture(autouse=True)
def databases(people: People) -> None:
    factory.database("globins")


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


def failed(people: People, query: str = PROTEIN, **values: Any) -> Submission:
    values = {"status": Status.FAILED, "phase": Phase.ENDED, "reason": Reason.SEARCH_FAILED, **values}
    row = factory.submission(people.bob, **values)
    store().put(run_key(row.run_id, "query.fa"), query.encode())
    return row


# Cancel ---------------------------------------------------------------------------------------------------------------


def test_its_owner_cancels_a_search_after_being_asked(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    address = reverse("cancel", args=[row.key])
    page = text_of(bob.get(address))
    assert "7 of 20 batches done" in page and '<form class="card" method="post">' in page and "Why" not in page
    assert again(row).status == Status.RUNNING
    answer = bob.post(address)
    assert answer.headers["Location"] == reverse("search", args=[row.key])
    found = again(row)
    assert (found.status, found.reason, found.cancel_by) == (Status.CANCELLING, Reason.CANCEL_ASKED, "bob")
    assert "It is being cancelled." in text_of(bob.get(reverse("search", args=[row.key])))


def test_pressed_twice_it_is_cancelled_once_and_an_ended_one_stays(people: People, bob: Client) -> None:
    row, ended = factory.waiting(people.bob), failed(people)
    for _ in range(2):
        assert bob.post(reverse("cancel", args=[row.key])).status_code == 302
    assert row.events.filter(status="cancelling").count() == 1
    answer = bob.post(reverse("cancel", args=[ended.key]), follow=True)
    assert "It had ended before it could be cancelled." in text_of(answer)
    assert again(ended).status == Status.FAILED
    for one in (row, ended):
        assert bob.get(reverse("cancel", args=[one.key])).status_code == 302


def test_an_operator_says_why_and_its_owner_reads_it(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    ann, address = people.client(people.ann), reverse("cancel", args=[row.key])
    refused = ann.post(address, {"why": "  "})
    assert refused.status_code == 422 and "Say why" in text_of(refused)
    assert again(row).status == Status.RUNNING
    ann.post(address, {"why": "too <large>"})
    assert again(row).cancel_why == "too <large>"
    assert "asked for by ann: too &lt;large&gt;" in text_of(bob.get(reverse("search", args=[row.key])))


def test_a_stranger_cancels_nothing_and_makes_nothing_again(people: People) -> None:
    row = factory.running(people.bob)
    eve = people.client(people.eve)
    for name in ("cancel", "again"):
        assert eve.post(reverse(name, args=[row.key])).status_code == 404
        assert people.client(None).post(reverse(name, args=[row.key])).status_code == 302
    assert eve.get(reverse("cancel", args=[row.key])).status_code == 404
    assert (again(row).status, Submission.objects.count()) == (Status.RUNNING, 1)


def test_acts_need_the_forms_token(people: People) -> None:
    row = factory.running(people.bob)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people.bob)
    assert strict.post(reverse("cancel", args=[row.key])).status_code == 403
    assert strict.get(reverse("again", args=[row.key])).status_code == 405
    assert again(row).status == Status.RUNNING


# Again ----------------------------------------------------------------------------------------------------------------


def test_search_again_is_the_same_search_as_a_new_one(people: People, bob: Client) -> None:
    row = failed(people, title="Mine", options={"task": "blastp", "evalue": "1e-07", "max_target_seqs": "9"})
    page = text_of(bob.get(reverse("search", args=[row.key])))
    key = re.search(r'<form id="again".+?name="form_key" value="(\w+)"', page, re.S)
    assert key and '<button id="search-again" form="again">' in page
    answers = [bob.post(reverse("again", args=[row.key]), {"form_key": key[1]}) for _ in range(2)]
    made = Submission.objects.exclude(pk=row.pk).get()
    assert {answer.headers["Location"] for answer in answers} == {reverse("search", args=[made.key])}
    for name in ("title", "program", "database", "owner"):
        assert getattr(made, name) == getattr(row, name)
    assert made.options | row.options == made.options
    assert (made.status, made.run_id != row.run_id) == (Status.QUEUED, True)
    assert store().get(run_key(made.run_id, "query.fa")).decode() == PROTEIN
    bob.post(reverse("again", args=[row.key]), {"form_key": "0" * 32})
    assert Submission.objects.count() == 3


def test_an_operators_again_is_the_operators_own(people: People) -> None:
    row = failed(people)
    people.client(people.ann).post(reverse("again", args=[row.key]), {"form_key": "1" * 32})
    assert Submission.objects.exclude(pk=row.pk).get().owner == people.ann


def test_what_would_not_be_accepted_today_comes_back_as_a_form(people: People, bob: Client, settings: Settings) -> None:
    row = failed(people, title="Mine")
    Database.objects.update(ready=False)
    answer = bob.post(reverse("again", args=[row.key]), {"form_key": "1" * 32})
    assert answer.status_code == 422 and 'value="Mine"' in text_of(answer)
    Database.objects.update(ready=True)
    settings.COORDUI_MAX_QUERY_BYTES = 20
    assert bob.post(reverse("again", args=[row.key]), {"form_key": "1" * 32}).status_code == 422
    assert Submission.objects.count() == 1


def test_edit_and_search_again_has_everything_in_the_form(people: People, bob: Client) -> None:
    options = {"task": "blastp", "evalue": "1e-07", "max_target_seqs": "9", "low_complexity": "yes"}
    row = failed(people, title="Mine", options=options)
    assert f'id="edit-again" href="/?from={row.key}"' in text_of(bob.get(reverse("search", args=[row.key])))
    page = text_of(bob.get(reverse("new") + f"?from={row.key}"))
    assert "MVLSPADKTNVKAAW" in page and 'value="Mine"' in page and 'value="1e-07"' in page and 'value="9"' in page
    assert '<option value="globins" selected>' in page and '<option value="blastp" selected>' in page
    assert row.key not in page  # a search of its own


def test_a_query_too_long_for_the_box_is_searched_again_from_where_it_is(
    people: People, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "SHOWN_AGAIN", 20)
    row = failed(people, title="Mine")
    page = text_of(bob.get(reverse("new") + f"?from={row.key}"))
    assert "MVLSPADKTNVKAAW" not in page and f'name="from" value="{row.key}"' in page
    look = bob.post(reverse("look"), {"from": row.key, "database": "globins"})
    assert "1 sequence" in text_of(look)
    assert send(people.client(people.eve), query="", **{"from": row.key}).status_code == 404
    assert send(bob, query="", evalue="1e-9", **{"from": row.key}).status_code == 302
    made = Submission.objects.exclude(pk=row.pk).get()
    assert store().get(run_key(made.run_id, "query.fa")).decode() == PROTEIN
    typed = PROTEIN.replace("p1", "typed")
    send(bob, query=typed, form_key="2" * 32, **{"from": row.key})
    assert Submission.objects.first().title.startswith("typed")  # type: ignore[union-attr]


# The same form --------------------------------------------------------------------------------------------------------


def test_the_same_form_with_something_else_in_it_starts_nothing_and_says_so(bob: Client) -> None:
    first = send(bob, title="The first").headers["Location"]
    changed = PROTEIN.replace("MVLSP", "MVLSA")
    answer = send(bob, title="The first", query=changed)
    assert (answer.status_code, Submission.objects.count()) == (409, 1)
    page = text_of(answer)
    assert "This form was sent before" in page and f'<a href="{first}">The first</a>' in page and "MVLSA" in page
    key = re.search(r'name="form_key" value="(\w+)"', page)
    assert key and key[1] != "k" * 32
    assert send(bob, title="The first", query=changed, form_key=key[1]).status_code == 302
    assert Submission.objects.count() == 2


@pytest.mark.parametrize("changed", [{"title": "B"}, {"evalue": "1e-9"}, {"program": "blastp"}])
def test_whatever_is_changed_makes_it_another_form(bob: Client, changed: dict[str, str]) -> None:
    assert [send(bob, title="A").status_code, send(bob, **{"title": "A", **changed}).status_code] == [302, 409]


def test_a_program_hears_the_same_in_json(bob: Client) -> None:
    def post(**values: str) -> Any:
        sent = {"query": PROTEIN, "database": "globins", "form_key": "j" * 32, **values}
        return bob.post(reverse("new"), sent, headers={"Accept": "application/json"})

    made, same = post(), post()
    assert (made.status_code, json.loads(made.content)["status"]) == (201, "queued")
    key = json.loads(made.content)["submission"]
    assert json.loads(same.content)["submission"] == key
    other, wrong = post(title="other"), post(query="", form_key="l" * 32)
    error = json.loads(other.content)["error"]
    assert (other.status_code, error["code"]) == (409, "form_already_sent")
    assert key in error["message"]
    assert (wrong.status_code, json.loads(wrong.content)["error"]["code"]) == (422, "not_a_search")


@pytest.mark.django_db(transaction=True)
def test_a_form_that_arrives_eight_times_at_once_is_one_search(people: People) -> None:
    start, answers = threading.Barrier(8), []

    def press() -> None:
        client = people.client(people.bob)
        start.wait()
        answers.append(send(client).headers["Location"])
        connection.close()

    threads = [threading.Thread(target=press) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (Submission.objects.count(), len(answers), len(set(answers))) == (1, 8, 1)
    row = Submission.objects.get()
    assert row.events.count() == 1
    assert [key for key in store().names("runs") if key.endswith("query.fa") and row.run_id in key]


def test_of_two_that_were_both_first_one_stays_and_answers_for_both(
    people: People, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other arrives after the look for an earlier one and before the row."""
    writing, answers = WorkStore.writing, []

    def meanwhile(self: WorkStore, key: str) -> AbstractContextManager[BinaryIO]:
        monkeypatch.setattr(WorkStore, "writing", writing)
        answers.append(send(people.client(people.bob)).headers["Location"])
        return writing(self, key)

    monkeypatch.setattr(WorkStore, "writing", meanwhile)
    before = set(store().names("runs"))
    answers.append(send(bob).headers["Location"])
    assert (Submission.objects.count(), len(set(answers))) == (1, 1)
    assert len(set(store().names("runs")) - before) == 1


# What was computed ----------------------------------------------------------------------------------------------------


def test_the_tables_of_the_batches_that_were_done_can_be_taken_away(
    people: People, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = demo.EXAMPLE.query()
    row = failed(people, text, batches=3, database=factory.database())
    found = forms.read(forms.Draft(text=text), row.database)
    monkeypatch.setattr("submits.blast.plan.default_rule", lambda program: Rule(letters=1))
    plan = prepare(store(), found, factory.formatted("globins"), row.run_id)  # type: ignore[arg-type]
    assert plan.batches == 3
    assert bob.get(reverse("partial", args=[row.key])).status_code == 404
    for number in (1, 3):
        assert batch.run(store(), row.run_id, number) == 0
    for status in (Status.CANCELLED, Status.FAILED):
        Submission.objects.filter(pk=row.pk).update(status=status)
        page = text_of(bob.get(reverse("search", args=[row.key])))
        assert re.search(r"2 of 3 batches were\s+searched: <a[^>]+/partial.tsv", page)
    answer = bob.get(reverse("partial", args=[row.key]))
    assert answer.headers["Content-Disposition"].endswith('2-of-3-batches.tsv"')
    body = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    lines = list(csv.reader(io.StringIO(body), delimiter="\t"))
    assert lines[0][0] == "qseqid" and {line[-1] for line in lines[1:]} == {"1", "3"}
    assert lines[1][0] == "HBB_HUMAN"
    links = json.loads(bob.get(reverse("search_json", args=[row.key])).content)["links"]
    assert links["partial"] == reverse("partial", args=[row.key])
    assert people.client(people.eve).get(links["partial"]).status_code == 404


def test_a_running_search_shows_the_batches_that_are_done(
    people: People, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = demo.EXAMPLE.query()
    row = factory.running(people.bob, done=2, batches=3, database=factory.database(), queries=3)
    found = forms.read(forms.Draft(text=text), row.database)
    monkeypatch.setattr("submits.blast.plan.default_rule", lambda program: Rule(letters=1))
    prepare(store(), found, factory.formatted("globins"), row.run_id)  # type: ignore[arg-type]
    address = reverse("search", args=[row.key])
    assert "results of" not in text_of(bob.get(address))
    for number in (1, 3):
        assert batch.run(store(), row.run_id, number) == 0
    page = text_of(bob.get(address))
    assert "These are the results of 2 of 3 batches: 2 of 3 queries." in page and "still being searched" in page
    third = text_of(bob.get(f"{address}?query=3"))
    assert re.search(r'aria-current="true"><td class="num">3</td>', third) and "#q3-hit-1" in third
    hits = bob.get(reverse("hits", args=[row.key]) + "?query=1")
    assert "HBB_CALAR" in text_of(hits)
    assert bob.get(reverse("alignments", args=[row.key, 1, 1])).status_code == 200
    for number in (2, 4):
        assert bob.get(reverse("alignments", args=[row.key, number, 1])).status_code == 404
    assert bob.get(reverse("partial", args=[row.key])).status_code == 200
    assert bob.get(reverse("tsv", args=[row.key])).status_code == 404
    assert people.client(people.eve).get(reverse("hits", args=[row.key])).status_code == 404


def test_the_buttons_stay_while_the_state_changes(people: People) -> None:
    """A button that is replaced between press and release is not pressed."""
    row = factory.running(people.bob)
    asked = pages.subject("search", pages.viewer_of(people.bob), row.key)
    before = pages.pieces(asked)
    Submission.objects.move(row, Status.RUNNING, phase=Phase.SEARCHING, batches_done=8)
    after = pages.pieces(asked)
    assert before["state"].mark != after["state"].mark and before["acts"].mark == after["acts"].mark
    Submission.objects.move(row, Status.CANCELLING, phase=Phase.STOPPING)
    assert pages.pieces(asked)["acts"].mark != before["acts"].mark
