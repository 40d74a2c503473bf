"""A breach as people and machines are told of it."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.utils import timezone

from submits import live
from submits.scopes import default_scope
from submits.shown.breaches import WORDS
from tests.views import factory
from tests.views.conftest import People


def test_a_breach_is_a_card_on_the_page_and_a_number_at_metrics(people: People, client: Client, bob: Client) -> None:
    kinds = tuple(WORDS)
    now = timezone.now().isoformat()
    found = [live.Breach(kind=kind, at=now, evidence=f"evidence of {kind}") for kind in kinds]
    factory.publish(active=4, breaches=found, breach_counts={"ungated": 2})
    page = bob.get("/gate/").content.decode()
    assert [page.count(f"evidence of {kind}") for kind in kinds] == [1, 1, 1, 1]
    assert "A search was handed over without door A." in page
    data = bob.get("/gate.json").json()
    assert [breach["kind"] for breach in data["breaches"]] == list(kinds)
    text = client.get("/metrics").content.decode()
    assert 'coordui_gate_breaches_total{kind="ungated"} 2' in text.splitlines()
    assert 'coordui_gate_breaches_total{kind="ceiling"} 0' in text.splitlines()
    assert "coordui_gate_active 4" in text.splitlines()


def test_a_snapshot_of_an_older_version_is_read_all_the_same(people: People, client: Client) -> None:
    view: dict[str, Any] = dict(factory.publish())
    del view["breaches"], view["breach_counts"], view["unchanged"]
    live.publish(default_scope(), view)  # type: ignore[arg-type]
    assert client.get("/metrics").status_code == 200
