"""`/readyz`: what does not answer is named, within seconds; and a live page without the store is no error."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.db import DatabaseError, connection, connections
from django.test import Client, override_settings
from django.utils import timezone

from submits import consumers, live, readiness, scopes
from submits import gatekeeper as module
from submits.cluster.brisk import PATIENCE
from submits.models import Snapshot
from submits.scopes import default_scope
from tests.keyvalue import RunningStore, keys, running_store, store
from tests.objectstore import silent
from tests.views import factory

__all__ = ["keys", "store"]
pytestmark = pytest.mark.django_db
NAMES = ["database", "store", "work_store", "gatekeeper", "cluster", "permissions"]


def publish(**health: Any) -> None:
    view = live.empty_view(3)
    view["gate"] = "open"
    view["health"] = live.Health(**{"backend": "k8s (why)", "note": "", "power": [], "silence": None, **health})  # type: ignore[typeddict-item]
    live.publish(default_scope(), view)


def asked(client: Client) -> tuple[int, dict[str, str]]:
    """The status, and what is not ok, with why."""
    answer = client.get("/readyz")
    told = json.loads(answer.content)
    assert list(told["checks"]) == NAMES
    assert told["ready"] is (answer.status_code == 200)
    return answer.status_code, {name: check["why"] for name, check in told["checks"].items() if not check["ok"]}


@pytest.fixture(autouse=True)
def installed(settings: Any, store: RunningStore) -> Any:
    settings.REDIS_URL = store.url
    return settings


def test_it_is_ready_when_all_answer_and_says_where_the_gates_are(client: Client) -> None:
    publish()
    assert asked(client) == (200, {})
    answer = client.get("/readyz")
    assert json.loads(answer.content)["backend"] == "k8s (why)"
    assert "no-store" in answer.headers["Cache-Control"]
    assert client.post("/readyz").status_code == 405


def test_a_gatekeeper_that_never_reported_or_no_longer_does_is_told(client: Client) -> None:
    status, why = asked(client)
    assert (status, why["gatekeeper"]) == (503, "it has never reported")
    publish()
    Snapshot.objects.update(stamped_at=timezone.now() - timedelta(seconds=11))
    status, why = asked(client)
    assert (status, why["gatekeeper"]) == (503, "it has not reported for 11 s")
    assert "not known" in why["cluster"] and "not known" in why["permissions"]


def test_a_cluster_that_does_not_answer_is_told_with_its_words(client: Client) -> None:
    publish(silence="GET /apis: no answer (connection refused)")
    assert asked(client) == (503, {"cluster": "it does not answer: GET /apis: no answer (connection refused)"})


def test_what_we_may_not_do_is_told(client: Client) -> None:
    publish(power=["may not update leases", "may not list pods"])
    assert asked(client) == (503, {"permissions": "may not update leases; may not list pods"})
    publish(power=None)
    assert asked(client) == (503, {"permissions": "not asked yet"})


def test_silence_is_noticed_and_told_within_fifteen_seconds() -> None:
    """The longest: no answer for so long, and then until the loop's next look, of which one may just have been, or for
    which a request that hangs has to be given up."""
    assert module.SILENT + max(module.LOOK, PATIENCE) + module.TURN < 15
    assert live.STALE_AFTER + timedelta(seconds=module.LOOK + module.TURN) < timedelta(seconds=15)


def test_a_store_that_is_away_is_told_and_what_it_says_holds_no_password(client: Client, installed: Any) -> None:
    publish()
    installed.REDIS_URL = "redis://:secret@127.0.0.1:1/0"
    status, why = asked(client)
    assert status == 503 and list(why) == ["store"]
    assert "refused" in why["store"] and "secret" not in why["store"]


def test_a_store_that_hangs_costs_a_moment(client: Client, installed: Any) -> None:
    publish()
    with running_store() as hanging:
        installed.REDIS_URL = hanging.url
        os.kill(hanging.process.pid, signal.SIGSTOP)
        status, why = asked(client)
        assert status == 503 and "does not answer" in why["store"]


def test_a_database_that_is_away_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Any) -> None:
        raise DatabaseError("gone")

    publish()
    monkeypatch.setattr(type(connections["default"]), "cursor", broken)
    status, why = asked(client)
    assert (status, why["database"]) == (503, "the database does not answer: gone")
    assert why["gatekeeper"]


def test_the_database_is_asked_on_a_connection_that_is_given_back() -> None:
    assert readiness.asking.submit(readiness.ask_database).result(10) == ""
    assert readiness.asking.submit(lambda: connection.connection).result(10) is None


@pytest.mark.parametrize("what", ["database", "files"])
def test_what_hangs_costs_a_moment(client: Client, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    free = threading.Event()
    monkeypatch.setattr(readiness, "WITHIN", 0.1)
    monkeypatch.setattr(readiness, f"ask_{what}", lambda: str(free.wait(20)))
    name, words = {"database": ("database", "the database"), "files": ("work_store", "the work store")}[what]
    try:
        assert asked(client)[1][name] == f"{words} did not answer within 0.1 s"
    finally:
        free.set()


def test_a_work_store_that_is_away_is_told(client: Client) -> None:
    publish()
    with silent():
        status, why = asked(client)
        assert status == 503 and list(why) == ["work_store"]
        assert "work store" in why["work_store"] and "no answer within" in why["work_store"]
    with override_settings(COORDUI_WORK_URL="nowhere"):
        scopes.store.cache_clear()
        assert "is not a directory" in asked(client)[1]["work_store"]
    scopes.store.cache_clear()


# A live page without the store ----------------------------------------------------------------------------------------


@pytest.fixture(params=["away", "hanging"])
def without_store(request: pytest.FixtureRequest, installed: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(consumers, "STORE_WITHIN", 0.3)
    monkeypatch.setattr(consumers, "TICK", 0.3)
    with running_store() as one:
        os.kill(one.process.pid, signal.SIGSTOP)
        url = one.url if request.param == "hanging" else "unix:///nowhere/s"
        layer = {**installed.CHANNEL_LAYERS["default"], "CONFIG": {"hosts": [{"address": url}]}}
        installed.CHANNEL_LAYERS = {"default": layer}
        yield


@pytest.mark.django_db(transaction=True)
def test_without_the_store_a_page_opens_its_socket_is_kept_fresh_and_says_when_it_is_stale(without_store: Any) -> None:
    from coordui.asgi import application

    user = factory.person("bob")
    client = Client()
    client.force_login(user)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    headers = [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", cookies.encode())]

    scope = {"type": "websocket", "path": "/ws/gate/", "query_string": b"", "headers": headers, "subprotocols": []}

    def grow_old() -> None:
        Snapshot.objects.update(stamped_at=timezone.now() - live.STALE_AFTER - timedelta(seconds=1))

    async def opened() -> tuple[str, str, str]:
        page: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
        await page.send_input({"type": "websocket.connect"})
        answer, pieces = await page.receive_output(5), await page.receive_output(5)
        await database_sync_to_async(grow_old)()
        later = await page.receive_output(5)
        await page.send_input({"type": "websocket.disconnect", "code": 1000})
        await page.wait(5)
        return answer["type"], pieces["text"], later["text"]

    publish()
    answer, pieces, later = async_to_sync(opened)()
    assert answer == "websocket.accept"
    assert 'id="board"' in pieces and " late" not in pieces
    assert 'class="pulse gate-open late"' in later and re.search(r"as of 1\d s ago", later)
