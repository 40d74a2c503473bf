"""The page of other formats: asked for by a button, made elsewhere, downloaded by who may see the search."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from submits import demo, tasks
from submits.blast.formats import Chosen
from submits.engine import requested
from submits.models import Submission
from submits.scopes import store
from tests.views import factory
from tests.views.conftest import People


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    monkeypatch.setattr(tasks, "send", lambda task, *what: found.append((task.name, *what)))
    return found


@pytest.fixture
def row(people: People) -> Submission:
    return factory.completed(people.bob, demo.EXAMPLE.query())


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def test_a_format_is_asked_for_watched_and_downloaded(
    bob: Client, row: Submission, sent: list[tuple[object, ...]]
) -> None:
    address = reverse("formats", args=[row.key])
    assert address in text_of(bob.get(reverse("search", args=[row.key])))
    page = text_of(bob.get(address))
    assert 'id="make-xml"' in page and "hx-trigger" not in page.split('id="formats"')[1] and sent == []
    assert "SAM" not in page
    assert bob.post(address, {"name": "xml"}).headers["Location"] == address
    assert sent == [("submits.tasks.look_at_format", row.pk, "xml")]
    piece = text_of(bob.get(address, headers={"HX-Request": "true"}))
    assert "being made for" in piece and 'hx-trigger="every 2s"' in piece and "<html" not in piece
    assert bob.get(reverse("format", args=[row.key, "xml"])).status_code == 404
    store().put(requested.key(row.run_id, "xml.xml"), b"<made/>")
    piece = text_of(bob.get(address, headers={"HX-Request": "true"}))
    assert "hx-trigger" not in piece and reverse("format", args=[row.key, "xml"]) in piece
    answer = bob.get(reverse("format", args=[row.key, "xml"]))
    assert b"".join(answer.streaming_content) == b"<made/>"  # type: ignore[attr-defined]
    assert answer.headers["Content-Disposition"].endswith('_hits.xml"')
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_columns_are_chosen(bob: Client, row: Submission, sent: list[tuple[object, ...]]) -> None:
    address = reverse("formats", args=[row.key])
    assert bob.post(address, {"name": "csv", "columns": ["sseqid", "evalue"]}).status_code == 302
    chosen = Chosen("csv", ("sseqid", "evalue"))
    assert requested.asked(store(), row.run_id, chosen.key) == chosen
    assert "Table with commas: sseqid, evalue" in text_of(bob.get(address))
    for wrong in ({"name": "csv", "columns": ["evalue; id"]}, {"name": "../../etc"}, {"name": "sam"}):
        answer = bob.post(address, wrong)
        assert answer.status_code == 422 and 'class="findings"' in text_of(answer)


def test_a_failure_is_said_and_tried_again(bob: Client, row: Submission, sent: list[tuple[object, ...]]) -> None:
    address = reverse("formats", args=[row.key])
    bob.post(address, {"name": "json"})
    requested.fail(store(), row.run_id, "json", "BLAST <said> no")
    page = text_of(bob.get(address))
    assert "It could not be made: BLAST &lt;said&gt; no" in page and "Try again" in page
    bob.post(address, {"name": "json"})
    assert requested.standing(store(), row.run_id, Chosen("json")).state == "asked"
    assert requested.attempt(store(), row.run_id, "json") == 2


def test_only_who_may_see_the_search_may_ask(people: People, row: Submission, sent: list[tuple[object, ...]]) -> None:
    eve = people.client(people.eve)
    address = reverse("formats", args=[row.key])
    assert [eve.get(address).status_code, eve.post(address, {"name": "xml"}).status_code] == [404, 404]
    running = factory.running(people.bob)
    bob = people.client(people.bob)
    assert bob.post(reverse("formats", args=[running.key]), {"name": "xml"}).status_code == 404
    assert sent == [] and not requested.every(store(), row.run_id)
