"""What the gate page advises."""

from __future__ import annotations

from django.test import Client

from submits import live
from tests.views import factory
from tests.views.conftest import People


def test_what_stops_every_search_is_named_with_what_to_do_before_all_else(people: People, bob: Client) -> None:
    note = "Every search is stopped until an operator mends this. elb-coord-controls: drained 'ture' cannot be read."
    health = live.Health(backend="k8s", note=note, power=[], silence=None)
    factory.publish(drained=True, health=health)
    page = bob.get("/gate/").content.decode()
    assert note.replace("'", "&#x27;") in page
    assert "An operator has stopped new searches" not in page
