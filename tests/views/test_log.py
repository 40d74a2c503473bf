"""A search's own log on its page: files alone, the latest of them, as text whatever is in them."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from submits.models import Submission
from submits.scopes import store
from submits.shown import logs, pages
from submits.states import Status
from submits.work import run_key
from tests.views import factory
from tests.views.conftest import People

POD = "elb-blast-0123456789ab-0001-x7k2p"


@pytest.fixture
def row(people: People) -> Submission:
    row = factory.running(people.bob)
    store().put(run_key(row.run_id, "log.txt"), b"checking\nsubmitting <b>now</b> \x1b[31mred\x00\n")
    store().put(run_key(row.run_id, "logs", f"{POD}.txt"), "BLAST says …\n".encode())
    store().put(run_key(row.run_id, "logs", "note.txt"), b"")
    return row


def get(client: Client, row: Submission, query: str = "") -> str:
    answer = client.get(reverse("log", args=[row.key]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_log_is_plain_text_with_a_way_to_its_end(bob: Client, row: Submission) -> None:
    page = get(bob, row)
    assert "submitting &lt;b&gt;now&lt;/b&gt; [31mred\n</pre>" in page
    assert '<a class="button" id="to-newest" href="#newest">Show newest</a>' in page and 'id="newest"' in page
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page
    assert f'href="?part={POD}"' in page and "?part=note" not in page


def test_each_pods_words_are_a_part_of_their_own(bob: Client, row: Submission) -> None:
    assert "BLAST says …" in get(bob, row, f"?part={POD}")
    for odd in ("?part=../../x", "?part=%00", "?part=nothing"):
        assert "submitting" in get(bob, row, odd)
    text = bob.get(reverse("log_text", args=[row.key]) + f"?part={POD}")
    assert text.content.decode() == "BLAST says …\n" and text.headers["Content-Type"].startswith("text/plain")


def test_of_a_long_log_the_end_is_shown_from_a_line_on(bob: Client, row: Submission) -> None:
    lines = [f"line {number}" for number in range(20_000)]
    store().put(run_key(row.run_id, "log.txt"), "\n".join(lines).encode())
    page = get(bob, row)
    shown = re.search(r'<pre class="wrap whole">(.+?)</pre>', page, re.S)
    assert shown and shown[1].endswith("line 19999") and len(shown[1]) <= logs.SHOWN
    assert re.fullmatch(r"line \d+", shown[1].partition("\n")[0])
    assert "its end is shown here" in page


def test_it_changes_by_itself_when_something_is_said(people: People, bob: Client, row: Submission) -> None:
    asked = pages.subject("log", pages.viewer_of(people.bob), row.key, f"part={POD}&other=x")
    assert asked.path == f"/live/log/{row.key}/?part={POD}"
    before = pages.pieces(asked)["log"].mark
    assert pages.pieces(asked)["log"].mark == before
    store().put(run_key(row.run_id, "logs", f"{POD}.txt"), b"and more\n")
    assert pages.pieces(asked)["log"].mark != before
    fresh = bob.get(f"{asked.path}&seen=log:{before}").content.decode()
    assert "and more" in fresh and 'hx-swap-oob="true"' in fresh


def test_an_ended_searchs_log_says_that_this_is_all(bob: Client, row: Submission) -> None:
    Submission.objects.update(status=Status.FAILED)
    page = get(bob, row)
    assert "That is all." in page and "http-equiv" not in page


def test_before_anything_is_said(people: People, bob: Client) -> None:
    assert "Nothing has been written yet." in get(bob, factory.waiting(people.bob))


def test_a_log_is_its_owners_and_the_operators(people: People, row: Submission) -> None:
    for name in ("log", "log_text"):
        assert people.client(people.eve).get(reverse(name, args=[row.key])).status_code == 404
        assert people.client(people.ann).get(reverse(name, args=[row.key])).status_code == 200
