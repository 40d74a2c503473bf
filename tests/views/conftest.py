from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.test import Client

from submits import tasks
from submits.shown import look
from submits.shown.pieces import memo, moments
from tests.views import factory


@dataclass
class People:
    ann: User  # an operator
    bob: User
    eve: User

    def client(self, user: User | None) -> Client:
        made = Client()
        if user is not None:
            made.force_login(user)
        return made


@pytest.fixture
def people(db: None) -> People:
    return People(factory.person("ann", operator=True), factory.person("bob"), factory.person("eve"))


@pytest.fixture
def bob(people: People) -> Client:
    return people.client(people.bob)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No store runs here: messages and hints are not sent, and nothing is remembered from test to test."""
    monkeypatch.setattr(tasks, "send", lambda task, *what: True)
    monkeypatch.setattr("submits.live.hint", lambda scope_pk, version: None)
    for kept in (memo.found, moments.found, look.looks, look.pictured):
        kept.clear()
    yield


@pytest.fixture(autouse=True, scope="session")
def databases_removed() -> Iterator[None]:
    yield
    factory.forget_databases()
