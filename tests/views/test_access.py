"""Every page as its owner, a stranger, an operator and nobody: a stranger's search answers as one that is not there."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from submits.models import Submission
from tests.views import factory
from tests.views.conftest import People

OF_ONE = [
    ("search", ()),
    ("search_json", ()),
    ("hits", ()),
    ("alignments", (1, 1)),
    ("picture", (1,)),
    ("tsv", ()),
    ("fasta", ()),
    ("log", ()),
    ("log_text", ()),
]
FOR_ALL = ["new", "searches", "gate", "help", "searches_json", "gate_json"]


@pytest.fixture
def done(people: People) -> Submission:
    return factory.completed(people.bob)


def addresses(key: str) -> list[str]:
    made = [reverse(name, args=[key, *rest]) for name, rest in OF_ONE]
    return [*made, reverse("live_key", args=["search", key]), f"{reverse('new')}?from={key}"]


def test_owner_and_operator_see_a_search_everywhere(people: People, done: Submission) -> None:
    for user in (people.bob, people.ann):
        client = people.client(user)
        assert {path: client.get(path).status_code for path in addresses(done.key)} == dict.fromkeys(
            addresses(done.key), 200
        )


def test_a_stranger_is_answered_as_if_it_were_not_there(people: People, done: Submission) -> None:
    client = people.client(people.eve)
    for theirs, nothing in zip(addresses(done.key), addresses("a" * 16), strict=True):
        found, missing = client.get(theirs), client.get(nothing)
        assert found.status_code == missing.status_code == 404, theirs
        assert told(found.content, done.key) == told(missing.content, "a" * 16), theirs


def told(content: bytes, key: str) -> str:
    """Without what differs from one answer to the next: the key that was asked for, and the form's token."""
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", content.decode().replace(key, ""))


def test_nobody_is_led_to_the_sign_in_and_back(people: People, done: Submission) -> None:
    client = people.client(None)
    for path in [*(reverse(name) for name in FOR_ALL), *addresses(done.key)]:
        answer = client.get(path)
        if path.endswith(".json"):
            assert answer.status_code == 401
            assert answer.json()["error"]["code"] == "sign_in_required"
        else:
            assert answer.status_code == 302, path
            assert answer.headers["Location"].startswith("/signin/?next=/")


def test_an_open_page_whose_sign_in_has_ended_loads_itself_again(people: People) -> None:
    answer = people.client(None).get(reverse("live", args=["gate"]), headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Refresh"]) == (401, "true")


def test_every_page_for_all_loads(people: People) -> None:
    for user in (people.ann, people.bob):
        client = people.client(user)
        for name in FOR_ALL:
            assert client.get(reverse(name)).status_code == 200, name


def test_private_pages_are_kept_by_no_cache(people: People, done: Submission) -> None:
    answer = people.client(people.bob).get(reverse("search", args=[done.key]))
    assert "no-store" in answer.headers["Cache-Control"]


def test_pages_are_only_read(people: People, done: Submission) -> None:
    client = people.client(people.bob)
    assert client.post(reverse("search", args=[done.key])).status_code == 405
    assert client.head(reverse("search", args=[done.key])).status_code == 200


def test_only_operators_see_everyones_searches_in_the_list(people: People, done: Submission) -> None:
    address = reverse("searches_json") + "?everyone=yes"
    assert people.client(people.eve).get(address).json()["count"] == 0
    assert people.client(people.ann).get(address).json()["count"] == 1
    assert people.client(people.ann).get(reverse("searches_json")).json()["count"] == 0


def test_titles_and_owners_of_others_are_not_on_the_board(people: People) -> None:
    row = factory.waiting(people.bob, title="A secret plan")
    held = factory.submission(people.bob, title="Another secret")
    factory.publish(gate="A_busy", line=[factory.place(row, 1)], lease=factory.lease(held), slots=[factory.slot(row)])
    for name in ("gate", "gate_json"):
        seen = people.client(people.eve).get(reverse(name)).content.decode()
        assert "secret" not in seen and "bob" not in seen and row.key not in seen and row.run_id not in seen
        operators = people.client(people.ann).get(reverse(name)).content.decode()
        assert "A secret plan" in operators
    assert "another search" in people.client(people.eve).get(reverse("gate")).content.decode()
    assert "your search" in people.client(people.bob).get(reverse("gate")).content.decode()
