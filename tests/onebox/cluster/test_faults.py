"""Faults on purpose."""

from __future__ import annotations

import http.client
import time
from pathlib import Path

import pytest

from tests.onebox.cluster.fixtures import CONFIGMAPS, LEASES, RunningCluster, running_cluster

BROKEN = (http.client.RemoteDisconnected, ConnectionError, OSError)


@pytest.fixture(autouse=True)
def cleared(cluster: RunningCluster) -> None:
    cluster.faults.clear()


def body(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


def test_a_dropped_request_did_nothing(cluster: RunningCluster) -> None:
    cluster.faults.add("drop_request", method="POST", path="/leases", times=1)
    with pytest.raises(BROKEN):
        cluster.call("POST", LEASES, body("dropped"))
    assert cluster.call("GET", f"{LEASES}/dropped").code == 404
    cluster.call("POST", LEASES, body("dropped")).ok()


def test_a_dropped_response_was_committed(cluster: RunningCluster) -> None:
    cluster.faults.add("drop_response", method="POST", path="/leases", times=1)
    with pytest.raises(BROKEN):
        cluster.call("POST", LEASES, body("lost"))
    cluster.call("GET", f"{LEASES}/lost").ok()


@pytest.mark.parametrize(
    ("code", "reason"), [(429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable")]
)
def test_a_refusal(cluster: RunningCluster, code: int, reason: str) -> None:
    cluster.faults.add("status", path="/configmaps", code=code, retry_after=7, times=2)
    assert cluster.call("GET", LEASES).code == 200
    for _ in range(2):
        reply = cluster.call("POST", CONFIGMAPS, body(f"refused{code}"))
        assert (reply.code, reply.body["reason"], reply.headers["retry-after"]) == (code, reason, "7")
    assert cluster.call("GET", f"{CONFIGMAPS}/refused{code}").code == 404


def test_a_delay(cluster: RunningCluster) -> None:
    cluster.faults.add("delay", method="GET", path="/leases", seconds=0.3, times=1)
    start = time.monotonic()
    cluster.call("GET", LEASES).ok()
    assert time.monotonic() - start >= 0.3


def test_the_door_is_shut_unless_asked_for(cluster: RunningCluster, tmp_path: Path) -> None:
    rules = {"offset": 60, "rules": [{"action": "status", "code": 500, "path": "/leases"}]}
    assert cluster.call("PUT", "/faults", rules).code == 404
    with running_cluster(tmp_path, run_jobs=False, fault_door=True) as other:
        assert other.call("PUT", "/faults", {"rules": [{"action": "explode"}]}).code == 400
        other.call("PUT", "/faults", rules).ok()
        assert other.call("GET", LEASES).code == 500
        other.call("PUT", "/faults", {}).ok()
        assert other.call("GET", LEASES).code == 200
