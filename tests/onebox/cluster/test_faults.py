"""Faults on purpose."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.faults import Ask, Faults
from coordui.onebox.cluster.inprocess import LocalCluster
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, LEASES, MERGE, Cluster, running_cluster

BROKEN = (http.client.RemoteDisconnected, ConnectionError, OSError)


@pytest.fixture(autouse=True)
def cleared(cluster: Cluster) -> None:
    cluster.faults.clear()


def body(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def test_a_dropped_request_did_nothing(cluster: Cluster) -> None:
    cluster.faults.add("drop_request", method="POST", path="/leases", times=1)
    with pytest.raises(BROKEN):
        cluster.call("POST", LEASES, body("dropped"))
    assert cluster.call("GET", f"{LEASES}/dropped").code == 404
    cluster.call("POST", LEASES, body("dropped")).ok()


def test_a_dropped_response_was_committed(cluster: Cluster) -> None:
    cluster.faults.add("drop_response", method="POST", path="/leases", times=1)
    with pytest.raises(BROKEN):
        cluster.call("POST", LEASES, body("lost"))
    cluster.call("GET", f"{LEASES}/lost").ok()


@pytest.mark.parametrize(
    ("code", "reason"), [(429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable")]
)
def test_a_refusal(cluster: Cluster, code: int, reason: str) -> None:
    cluster.faults.add("status", path="/configmaps", code=code, retry_after=7, times=2)
    assert cluster.call("GET", LEASES).code == 200
    for _ in range(2):
        reply = cluster.call("POST", CONFIGMAPS, body(f"refused{code}"))
        assert (reply.code, reply.body["reason"], reply.headers["retry-after"]) == (code, reason, "7")
        assert "date" in reply.headers
    assert cluster.call("GET", f"{CONFIGMAPS}/refused{code}").code == 404


def test_a_delay(cluster: Cluster) -> None:
    cluster.faults.add("delay", method="GET", path="/leases", seconds=0.3, times=1)
    start = time.monotonic()
    cluster.call("GET", LEASES).ok()
    assert time.monotonic() - start >= 0.3


def test_a_torn_answer(cluster: Cluster) -> None:
    cluster.call("POST", CONFIGMAPS, body("torn")).ok()
    cluster.faults.add("torn", verb="get", name="torn", times=1)
    with pytest.raises(http.client.IncompleteRead) as caught:
        cluster.call("GET", f"{CONFIGMAPS}/torn")
    assert caught.value.partial.startswith(b'{"kind":"ConfigMap"')
    whole = cluster.call("GET", f"{CONFIGMAPS}/torn").ok()
    cluster.faults.add("torn", verb="watch", times=1)
    with cluster.stream(f"{CONFIGMAPS}/torn?watch=1") as lines:
        (half,) = lines
    line = json.dumps({"type": "ADDED", "object": whole}, separators=(",", ":"))
    assert 0 < len(half) < len(line) and line.startswith(half)


def test_a_half_open_watch(cluster: Cluster) -> None:
    """The connection stays, and nothing comes: not what happens, and not the end of its time."""
    cluster.faults.add("half_open", resource="configmaps", times=1)
    url = f"{CONFIGMAPS}?watch=1&labelSelector=half%3Dopen&timeoutSeconds=1"
    with cluster.stream(url, timeout=1.2) as deaf, cluster.stream(url) as hearing:
        cluster.call("POST", CONFIGMAPS, body("half", half="open")).ok()
        assert json.loads(next(hearing))["type"] == "ADDED"
        with pytest.raises(TimeoutError):
            next(deaf)


def test_a_watch_that_falls_silent_later(cluster: Cluster) -> None:
    cluster.faults.add("half_open", verb="watch", seconds=0.2, times=1)
    with cluster.stream(f"{CONFIGMAPS}?watch=1&labelSelector=then%3Dnot", timeout=0.3) as lines:
        cluster.call("POST", CONFIGMAPS, body("then", then="not")).ok()
        assert json.loads(next(lines))["object"]["metadata"]["name"] == "then"
        time.sleep(0.25)
        cluster.call("DELETE", f"{CONFIGMAPS}/then").ok()
        with pytest.raises(TimeoutError):
            next(lines)


def test_the_clock_is_off(cluster: Cluster) -> None:
    """Everything that the server writes or sends, and nothing that it has written before."""
    before = cluster.call("POST", LEASES, body("before")).ok()["metadata"]
    cluster.faults.clock.offset = 3600.0
    reply = cluster.call("POST", LEASES, body("off"))
    meta = reply.ok()["metadata"]
    sent = parsedate_to_datetime(reply.headers["date"])
    for stamp in (meta["creationTimestamp"], meta["managedFields"][0]["time"]):
        assert timedelta(0) <= sent - datetime.fromisoformat(stamp) <= timedelta(seconds=2)
    assert sent - datetime.now(UTC) > timedelta(minutes=59)
    assert cluster.call("GET", f"{LEASES}/before").ok()["metadata"] == before


def listed(cluster: LocalCluster, **query: str) -> list[str]:
    found = cluster.call("GET", CONFIGMAPS, query).json()
    return [item["metadata"]["name"] for item in found["items"]]


def test_a_stale_list() -> None:
    """Only who asks for resourceVersion=0 may get it: that is what the parameter allows."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    cluster = LocalCluster(Clock(lambda: now))
    for name in "abc":
        cluster.call("POST", CONFIGMAPS, body=body(name))
        now += timedelta(seconds=10)
    cluster.call("PATCH", f"{CONFIGMAPS}/a", headers={"content-type": MERGE}, body={"data": {"a": "new"}})
    rule = cluster.faults.add("stale", resource="configmaps", commits=2)
    assert listed(cluster) == listed(cluster, resourceVersion="1") == ["a", "b", "c"]
    assert (listed(cluster, resourceVersion="0"), rule.used) == (["a", "b"], 1)
    old = cluster.call("GET", f"{CONFIGMAPS}/a", {"resourceVersion": "0"}).json()
    assert "data" not in old and cluster.call("GET", f"{CONFIGMAPS}/a").json()["data"] == {"a": "new"}
    assert cluster.call("GET", f"{CONFIGMAPS}/c", {"resourceVersion": "0"}).status == 404
    cluster.faults.clear()
    cluster.faults.add("stale", verb="list", seconds=15)
    assert listed(cluster, resourceVersion="0", labelSelector="!x") == ["a", "b"]
    first = cluster.call("GET", CONFIGMAPS, {"resourceVersion": "0", "limit": "1"}).json()["metadata"]
    assert listed(cluster, **{"continue": first["continue"]}) == ["b"]
    cluster.faults.clear()
    cluster.faults.add("stale", commits=10_000)
    cluster.core.store.compact(cluster.core.store.revision - 1)
    assert listed(cluster, resourceVersion="0") == ["a", "b", "c"]
    cluster.close()


GET_A = Ask("GET", "/apis/batch/v1/namespaces/x/jobs/a?", "get", "jobs.batch", "a", {"app": "blast", "tier": "1"})


@pytest.mark.parametrize(
    ("terms", "takes"),
    [
        ({}, True),
        ({"method": "GET", "verb": "get", "resource": "jobs", "name": "a", "labels": {"app": "blast"}}, True),
        ({"resource": "jobs.batch", "path": "jobs/a"}, True),
        ({"method": "PUT"}, False),
        ({"verb": "list"}, False),
        ({"resource": "job"}, False),
        ({"name": "b"}, False),
        ({"labels": {"app": "blast", "other": "1"}}, False),
        ({"labels": {"app": "other"}}, False),
        ({"path": "leases"}, False),
        ({"times": 0}, False),
        ({"chance": 0.0}, False),
    ],
)
def test_which_requests_a_rule_takes(terms: dict[str, Any], takes: bool) -> None:
    faults = Faults(Clock())
    rule = faults.add("status", **terms)
    assert faults.take(GET_A) is (rule if takes else None)
    assert rule.used == takes


def test_chance_is_drawn_from_a_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        faults = Faults(Clock())
        faults.add("status", chance=0.3, seed=seed)
        return [faults.take(GET_A) is not None for _ in range(200)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert 30 < sum(drawn(1)) < 90


def test_a_rule_takes_what_its_effect_is_about() -> None:
    faults = Faults(Clock())
    faults.add("half_open")
    stale = faults.add("stale", commits=1)
    assert faults.take(GET_A) is None
    path = f"{GET_A.path}resourceVersion=0"
    assert faults.take(replace(GET_A, path=path)) is stale
    assert faults.take(replace(GET_A, path=path + "1")) is None
    assert faults.take(replace(GET_A, path=path, verb="delete")) is None


def test_names_and_labels_are_those_of_the_object(cluster: Cluster) -> None:
    """Of the one that comes with a POST, of the stored one else."""
    job = {**body("marked", app="blast"), "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never"}}}}
    job["spec"]["template"]["spec"]["containers"] = [{"name": "c", "image": "none", "command": ["true"]}]
    rule = cluster.faults.add("status", resource="jobs", labels={"app": "blast"}, code=500)
    assert cluster.call("POST", JOBS, job).code == 500
    cluster.faults.clear()
    cluster.call("POST", JOBS, job).ok()
    cluster.faults.add("status", resource="jobs", labels={"app": "blast"}, code=500)
    assert cluster.call("GET", f"{JOBS}/marked").code == 500
    assert cluster.call("POST", CONFIGMAPS, body("marked", app="blast")).code == 201
    assert rule.used == 1


IMPOSSIBLE: list[Callable[[Faults], object]] = [
    lambda faults: faults.add("explode"),  # type: ignore[arg-type]
    lambda faults: faults.add("delay", path="("),
    lambda faults: faults.add("delay", minutes=1),
    lambda faults: faults.load({"rules": [{}]}),
    lambda faults: faults.load({"rule": []}),
    lambda faults: faults.load({"offset": "soon"}),
    lambda faults: faults.load({"offset": float("nan")}),
    lambda faults: faults.load({"offset": 10**12}),
    lambda faults: faults.load({"offset": True}),
    *(
        lambda faults, term=term: faults.add("delay", **term)
        for term in (
            {"seconds": "1"},
            {"seconds": -1},
            {"seconds": float("inf")},
            {"times": "2"},
            {"times": -1},
            {"chance": 1.5},
            {"chance": None},
            {"seed": "x"},
            {"commits": 1.5},
            {"code": 200},
            {"code": "500"},
            {"retry_after": -1},
            {"method": 5},
            {"path": None},
            {"verb": ["get"]},
            {"resource": 5},
            {"name": None},
            {"labels": ["app"]},
            {"labels": {"app": 5}},
        )
    ),
]


@pytest.mark.parametrize("make", IMPOSSIBLE)
def test_what_no_rule_can_be(make: Callable[[Faults], object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        make(Faults(Clock()))


def test_the_door_is_shut_unless_asked_for(cluster: Cluster, tmp_path: Path) -> None:
    rules = {"offset": 60, "rules": [{"action": "status", "code": 500, "path": "/leases"}]}
    assert cluster.call("PUT", "/faults", rules).code == 404
    with running_cluster(tmp_path, run_jobs=False, fault_door=True) as other:
        assert other.call("PUT", "/faults", rules, Authorization="Bearer x").code == 401
        for wrong in ({"rules": [{"action": "explode"}]}, {"rules": [{"action": "delay", "path": "("}]}, {"rules": 5}):
            assert other.call("PUT", "/faults", wrong).code == 400
        other.call("PUT", "/faults", rules).ok()
        assert other.call("GET", LEASES).code == 500
        other.call("PUT", "/faults", {}).ok()
        assert other.call("GET", LEASES).code == 200
