"""Pages while the work store does not answer: they load, say so, call nothing damaged, and mend themselves."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from submits.consumers import render_all
from submits.shown import pages
from submits.shown.pieces import AWAY
from submits.states import Status
from tests.objectstore import silent
from tests.views import factory
from tests.views.conftest import People

SENTENCE = "The work store does not answer"


def test_a_searchs_page_loads_and_shows_the_rest_when_it_answers(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    address, live = reverse("search", args=[row.key]), f"/live/search/{row.key}/"
    with silent() as asked:
        answer = bob.get(address)
        page = answer.content.decode()
        assert answer.status_code == 200 and len(asked) == 1, "one wait a page"
        assert f"{SENTENCE}, so results cannot be shown" in page and f"{SENTENCE}, so the receipt" in page
        assert "damaged" not in page and 'id="search-again"' in page
        assert f'id="results" class="results" data-mark="{AWAY}"' in page
        pushed = bob.get(live).content.decode()
        assert SENTENCE in pushed and bob.get(live, {"seen": f"results:{AWAY}"}).content.decode().count(SENTENCE) == 1
        subject = pages.subject("search", pages.viewer_of(people.bob), row.key)
        (sent,) = render_all([(subject, {"results": AWAY, "facts": AWAY})])
        assert isinstance(sent, dict) and "state" in sent and not {"results", "facts"} & set(sent)
    back = bob.get(live, {"seen": f"results:{AWAY}"}).content.decode()
    assert SENTENCE not in back and 'id="results"' in back and "haemoglobin" in back.lower()
    assert SENTENCE not in bob.get(address).content.decode()


@pytest.mark.parametrize("status", [Status.RUNNING, Status.FAILED])
def test_a_search_with_some_results_loads_too(people: People, bob: Client, status: Status) -> None:
    row = factory.running(people.bob)
    type(row).objects.filter(pk=row.pk).update(status=status, reason="run_lost" if status is Status.FAILED else "")
    with silent() as asked:
        answer = bob.get(reverse("search", args=[row.key]))
        assert (answer.status_code, len(asked)) == (200, 1) and SENTENCE in answer.content.decode()


def test_the_log_says_so(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    with silent():
        answer = bob.get(reverse("log", args=[row.key]))
        assert answer.status_code == 200 and f"{SENTENCE}, so the log cannot be shown" in answer.content.decode()
    assert SENTENCE not in bob.get(reverse("log", args=[row.key])).content.decode()


def test_programs_are_told_and_get_what_is_known_without_it(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    with silent() as asked:
        answer = bob.get(reverse("search_json", args=[row.key]))
        told = json.loads(answer.content)
        assert (answer.status_code, told["status"], told["work_store"]) == (200, "running", f"{SENTENCE}.")
        assert "page" in told["links"] and "partial" not in told["links"]
        many = [factory.running(people.bob) for _ in range(3)]
        before = len(asked)
        listed = json.loads(bob.get(reverse("searches_json")).content)
        assert listed["count"] == 1 + len(many) and len(asked) == before + 1
    assert json.loads(bob.get(reverse("search_json", args=[row.key])).content)["work_store"] is None


@pytest.mark.parametrize("name", ["tsv", "log_text", "hits", "formats"])
def test_what_cannot_be_without_it_is_a_503_with_a_sentence(people: People, bob: Client, name: str) -> None:
    row = factory.completed(people.bob)
    with silent():
        page = bob.get(reverse(name, args=[row.key]))
        assert page.status_code == 503 and SENTENCE in page.content.decode()
        told = bob.get(reverse(name, args=[row.key]), headers={"Accept": "application/json"})
        assert told.status_code == 503 and json.loads(told.content)["error"]["code"] == "work_store_unavailable"
