"""What every answer carries, and what /healthz says."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from pytest_django import Settings

from coordui.layout import Layout
from coordui.security import HEADERS

pytestmark = pytest.mark.django_db


@pytest.fixture
def supervised(settings: Settings, tmp_path: Path) -> Layout:
    settings.COORDUI_SUPERVISOR = 1
    settings.LAYOUT = Layout(tmp_path)
    settings.LAYOUT.make()
    return Layout(tmp_path)


def test_healthz_is_200_only_once_all_is_ready(client: Client, supervised: Layout) -> None:
    assert client.get("/healthz").status_code == 503
    supervised.ready.touch()
    assert client.get("/healthz").status_code == 200
    supervised.ready.unlink()
    assert client.get("/healthz").status_code == 503
    assert client.get("/healthz/web").status_code == 200


def test_without_up_it_speaks_for_itself(client: Client) -> None:
    assert client.get("/healthz").content == b"ok\n"


def test_healthz_is_503_when_the_database_does_not_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", broken)
    assert client.get("/healthz").status_code == 503


def test_healthz_needs_no_sign_in_and_is_never_kept(client: Client) -> None:
    assert "no-store" in client.get("/healthz").headers["Cache-Control"]
    assert client.post("/healthz").status_code == 405


@pytest.mark.parametrize("path", ["/healthz", "/admin/login/", "/no-such-page"])
def test_every_answer_carries_the_headers(client: Client, path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_nothing_inline_and_nothing_foreign_is_allowed() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy


def test_a_foreign_host_is_refused(client: Client) -> None:
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 400
