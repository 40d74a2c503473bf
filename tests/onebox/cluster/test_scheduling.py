"""The node and the room on it: who waits, why, and who is next. Real processes on a node that is said to be small."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.runner.node import Size
from coordui.onebox.cluster.runner.scheduler import misfits
from tests.onebox.cluster.fixtures import CONFIGMAPS, MERGE, PODS, RunningCluster, running_cluster, until
from tests.onebox.cluster.looking import ended_pod, make_pod, reasons, sh, waiting

NODE = "/api/v1/nodes/onebox"
NO_VICTIMS = " preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NO_HELP = " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """Two CPUs, a gibibyte, four Pods."""
    with running_cluster(tmp_path_factory.mktemp("small"), size=Size("2", "1Gi", 4)) as cluster:
        yield cluster


def asking(script: str, cpu: str = "0", memory: str = "0") -> Any:
    return sh(script, resources={"requests": {"cpu": cpu, "memory": memory}})


def why_pending(cluster: RunningCluster, name: str) -> str:
    """The scheduler's sentence, once it has looked."""

    def look() -> Any:
        status = cluster.call("GET", f"{PODS}/{name}").ok()["status"]
        assert status["phase"] == "Pending"
        return status.get("conditions")

    (condition,) = until(look)
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    return str(condition["message"])


def phase(cluster: RunningCluster, name: str) -> str:
    return str(cluster.call("GET", f"{PODS}/{name}").ok()["status"]["phase"])


def test_the_node(small: RunningCluster) -> None:
    node = small.call("GET", NODE).ok()
    assert node["status"]["allocatable"] == node["status"]["capacity"] == {"cpu": "2", "memory": "1Gi", "pods": "4"}
    held = {item["type"]: item["status"] for item in node["status"]["conditions"]}
    assert held == {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


def test_those_without_room_wait_and_run_in_the_order_they_came(small: RunningCluster, tmp_path: Path) -> None:
    go, order = tmp_path / "go", tmp_path / "order"
    make_pod(small, "fills", asking(f"until test -e {go}; do sleep 0.01; done", cpu="1500m"))
    until(lambda: phase(small, "fills") == "Running")
    for name in ("z-first", "a-second"):
        waits = make_pod(small, name, asking(f"echo {name} >> {order}; sleep 0.1", cpu="1200m"))
        assert why_pending(small, name) == "0/1 nodes are available: 1 Insufficient cpu." + NO_VICTIMS
        assert reasons(small, waits) == ["FailedScheduling"]
    make_pod(small, "fits", asking("true", cpu="500m"))
    assert ended_pod(small, "fits")["status"]["phase"] == "Succeeded"
    go.touch()
    assert ended_pod(small, "a-second")["status"]["phase"] == "Succeeded"
    assert order.read_text().split() == ["z-first", "a-second"]


def test_what_there_is_too_little_of(small: RunningCluster) -> None:
    make_pod(small, "vast", asking("true", cpu="3", memory="2Gi"))
    assert "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory." in why_pending(small, "vast")
    gpu = {"resources": {"limits": {"example.com/gpu": "1"}}}
    make_pod(small, "gpu", sh("true", **gpu))
    assert "1 Insufficient example.com/gpu." in why_pending(small, "gpu")
    init = {"name": "i", "image": "n", **asking("true", memory="1025Mi")}
    make_pod(small, "begins", asking("true", memory="1Mi"), initContainers=[init])
    assert "1 Insufficient memory." in why_pending(small, "begins")
    for name in ("vast", "gpu", "begins"):
        small.call("DELETE", f"{PODS}/{name}").ok()
        assert small.call("GET", f"{PODS}/{name}").code == 404


def test_too_many_pods(small: RunningCluster, tmp_path: Path) -> None:
    go = tmp_path / "go"
    for index in range(5):
        make_pod(small, f"many-{index}", sh(f"until test -e {go}; do sleep 0.02; done"))
    assert "1 Too many pods." in why_pending(small, "many-4")
    go.touch()
    assert ended_pod(small, "many-4")["status"]["phase"] == "Succeeded"


def test_the_wrong_node_becomes_the_right_one(small: RunningCluster) -> None:
    make_pod(small, "picky", sh("true"), nodeSelector={"disk": "fast"})
    words = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    assert why_pending(small, "picky") == words + NO_HELP
    small.call("PATCH", NODE, {"spec": {"unschedulable": True}}, MERGE).ok()
    make_pod(small, "late", sh("true"))
    assert why_pending(small, "late") == "0/1 nodes are available: 1 node(s) were unschedulable." + NO_HELP
    patch = {"metadata": {"labels": {"disk": "fast"}}, "spec": {"unschedulable": None}}
    small.call("PATCH", NODE, patch, MERGE).ok()
    for name in ("picky", "late"):
        assert ended_pod(small, name)["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(
    ("tolerations", "fits"),
    [
        ([], False),
        ([{"key": "only", "value": "blast"}], True),
        ([{"key": "only", "value": "other"}], False),
        ([{"key": "only", "operator": "Exists", "effect": "NoSchedule"}], True),
        ([{"key": "only", "operator": "Exists", "effect": "NoExecute"}], False),
        ([{"operator": "Exists"}], True),
    ],
)
def test_taints(tolerations: Any, fits: bool) -> None:
    taints = [
        {"key": "only", "value": "blast", "effect": "NoSchedule"},
        {"key": "rather", "effect": "PreferNoSchedule"},
    ]
    node = {"metadata": {"labels": {}}, "spec": {"taints": taints}}
    expected = [] if fits else ["1 node(s) had untolerated taint(s) {only: blast}"]
    assert misfits({"spec": {"tolerations": tolerations}}, node) == expected


def test_room_is_taken_by_those_who_were_there_before_a_restart(tmp_path: Path) -> None:
    """And the order in which the others came is kept."""
    order = tmp_path / "order"
    with running_cluster(tmp_path / "state", size=Size("1", "1Gi", 4)) as cluster:
        make_pod(cluster, "holds", asking("sleep 66.1", cpu="1"))
        until(lambda: phase(cluster, "holds") == "Running")
        for name in ("z-first", "a-second"):
            make_pod(cluster, name, asking(f"echo {name} >> {order}; sleep 0.1", cpu="1"))
            why_pending(cluster, name)
        # One that has its place, and waits for something else, keeps the place over a restart.
        env = {"envFrom": [{"configMapRef": {"name": "coming"}}]}
        make_pod(cluster, "waits", asking("true", memory="1Gi") | env)
        until(lambda: waiting(cluster.call("GET", f"{PODS}/waits").ok()))
    with running_cluster(tmp_path / "state", size=Size("1", "1Gi", 4)) as cluster:
        assert ended_pod(cluster, "a-second")["status"]["phase"] == "Succeeded"
        make_pod(cluster, "more", asking("true", memory="1Mi"))
        assert "1 Insufficient memory." in why_pending(cluster, "more")
        cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "coming"}}).ok()
        assert ended_pod(cluster, "more")["status"]["phase"] == "Succeeded"
    assert order.read_text().split() == ["z-first", "a-second"]
