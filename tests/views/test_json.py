"""The JSON of the pages: its names, its one error shape, and nothing of other people's searches."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse

from submits.states import Reason
from tests.views import factory
from tests.views.conftest import People


def read(client: Client, name: str, *args: object, status: int = 200) -> dict[str, object]:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    found: dict[str, object] = json.loads(answer.content)
    return found


def test_the_gate_in_the_protocols_words(people: People, bob: Client) -> None:
    mine = factory.waiting(people.bob)
    factory.publish(
        gate="A_busy", active=2, lease=factory.lease(), line=[factory.place(None, 1), factory.place(mine, 2)],
        slots=[factory.slot(None), factory.slot(None, ago=9, merging=True)],
    )  # fmt: skip
    found = read(bob, "gate_json")
    assert (found["gate"], found["active_submissions"]) == ("A_busy", "2/3")
    assert found["lease_holder"] == "openapi-" + "0" * 32
    assert isinstance(found["line"], list)
    assert [place["submission"] for place in found["line"]] == [None, mine.key]
    assert [place["position"] for place in found["line"]] == [1, 2]
    assert datetime.fromisoformat(str(found["seen_at"])).tzinfo is not None
    assert found["stale"] is False


def test_a_silent_gatekeeper_is_unknown(people: People, bob: Client) -> None:
    assert read(bob, "gate_json")["gate"] == "unknown"
    assert read(bob, "gate_json")["seen_at"] is None


def test_a_waiting_search_in_the_protocols_words(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob, since=75, reason=Reason.WAITING_FOR_CAPACITY)
    factory.publish(gate="B_full", active=3, line=[factory.place(row, 1)])
    found = read(bob, "search_json", row.key)
    assert (found["gate"], found["active_submissions"], found["lease_holder"]) == ("B_full", "3/3", None)
    assert found["wait_elapsed"] in (75, 76)
    assert (found["position"], found["status"], found["phase"]) == (1, "waiting", "in_line")
    assert found["reason"] == "waiting_for_capacity"
    assert found["sentence"] == "3 of 3 places for running searches are taken. You are next."
    assert datetime.fromisoformat(str(found["ticket_at"])) == row.ticket_at
    assert found["finished_at"] is None


def test_a_search_that_does_not_wait_has_no_gate(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    factory.publish(active=1, slots=[factory.slot(row)])
    found = read(bob, "search_json", row.key)
    assert [found[name] for name in ("gate", "active_submissions", "lease_holder", "wait_elapsed")] == [None] * 4
    assert (found["batches_done"], found["batches"]) == (7, 20)


def test_a_finished_search_links_what_can_be_taken_away(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    links = read(bob, "search_json", row.key)["links"]
    assert isinstance(links, dict)
    for path in links.values():
        assert bob.get(path).status_code == 200, path


def test_all_of_ones_searches(people: People, bob: Client) -> None:
    newest = [factory.running(people.bob).key for _ in range(2)][::-1]
    factory.running(people.eve)
    found = read(bob, "searches_json")
    assert isinstance(found["searches"], list)
    assert [row["submission"] for row in found["searches"]] == newest
    assert (found["count"], found["page"], found["pages"]) == (2, 1, 1)


def error(found: dict[str, object]) -> str:
    """The one shape of an error."""
    assert set(found) == {"error"}
    told = found["error"]
    assert isinstance(told, dict)
    assert set(told) == {"code", "message"} and told["message"].endswith(".")
    return str(told["code"])


def test_errors_have_one_shape(people: People, bob: Client) -> None:
    assert error(read(Client(), "gate_json", status=401)) == "sign_in_required"
    assert error(read(bob, "search_json", "nothing", status=404)) == "not_found"
    assert error(read(bob, "search_json", factory.running(people.eve).key, status=404)) == "not_found"


@pytest.mark.parametrize("name", ["gate_json", "searches_json"])
def test_json_is_only_read(bob: Client, name: str) -> None:
    assert bob.post(reverse(name)).status_code == 405
