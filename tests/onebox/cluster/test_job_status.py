"""What a client may write into a Job's status, and what a controller makes of it: the real server's rules and words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from coordui.onebox.cluster.inprocess import Answer, LocalCluster
from tests.onebox.cluster.fixtures import JOBS, MERGE, PODS, RunningCluster, until
from tests.onebox.cluster.looking import make_pod, remove_job, running_pod, sh

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
Status = dict[str, Any]


def true(*kinds: str) -> list[Status]:
    return [{"type": kind, "status": "True", "lastTransitionTime": NOW} for kind in kinds]


COMPLETE: Status = {
    "succeeded": 1,
    "startTime": NOW,
    "completionTime": NOW,
    "conditions": true("SuccessCriteriaMet", "Complete"),
}
FAILED: Status = {"failed": 1, "startTime": NOW, "conditions": true("FailureTarget", "Failed")}


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    """Without a controller: who simulates one writes the status."""
    found = LocalCluster(seed=1)
    yield found
    found.close()


def make(local: LocalCluster, **spec: Any) -> str:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["true"]}]}
    body = {"metadata": {"generateName": "j-"}, "spec": {"template": {"spec": pod}, **spec}}
    return str(local.call("POST", JOBS, body=body).json()["metadata"]["name"])


def write(local: LocalCluster, name: str, status: Status) -> Answer:
    return local.call("PATCH", f"{JOBS}/{name}/status", None, {"content-type": MERGE}, {"status": status})


INDEXED: Status = {"completionMode": "Indexed", "completions": 5, "parallelism": 1}


@pytest.mark.parametrize(
    ("spec", "steps"),
    [
        ({}, [{"active": 1, "startTime": NOW}, {"active": 2}, {"active": None}, COMPLETE, {"succeeded": 2}]),
        ({}, [FAILED, FAILED]),
        ({"suspend": True}, [{"startTime": NOW}, {"startTime": LATER}, {"startTime": None}]),
        (INDEXED, [{"completedIndexes": "0,2-4", "succeeded": 4}]),
        (INDEXED | {"parallelism": 5}, [{"succeeded": 4}, {"succeeded": 3}]),
    ],
)
def test_what_a_controller_may_say(local: LocalCluster, spec: Status, steps: list[Status]) -> None:
    name = make(local, **spec)
    for status in steps:
        found = write(local, name, status)
        assert found.status == 200, found.body


@pytest.mark.parametrize(
    ("spec", "before", "status", "why"),
    [
        ({}, {"startTime": NOW}, {"startTime": LATER}, "status.startTime: Required value: startTime cannot be modif"),
        ({}, {"startTime": NOW}, {"startTime": None}, "status.startTime: Required value: startTime cannot be removed"),
        ({}, {}, {"active": -1}, "status.active: Invalid value: -1: must be greater than or equal to 0"),
        ({}, {"failed": 2}, {"failed": 1}, "status.failed: Invalid value: 1: cannot decrease the failed counter"),
        ({}, {"succeeded": 2}, {"succeeded": None}, "status.succeeded: Invalid value: 0: cannot decrease"),
        ({}, {"active": 1}, {"ready": 2}, "status.ready: Invalid value: 2: cannot set more ready pods than active"),
        ({}, COMPLETE, {"conditions": []}, "cannot disable the terminal Complete=True condition"),
        ({}, FAILED, {"conditions": true("FailureTarget")}, "cannot disable the terminal Failed=True condition"),
        ({}, COMPLETE, {"active": 1}, "status.active: Invalid value: 1: active>0 is invalid for finished job"),
        ({}, COMPLETE, {"completionTime": LATER}, "status.completionTime: Invalid value: .*: field is immutable"),
        ({}, {}, {"completionTime": NOW}, "cannot set completionTime when there is no Complete=True condition"),
        ({}, {}, {**COMPLETE, "completionTime": None}, "completionTime is required for Complete jobs"),
        ({}, {}, {**COMPLETE, "startTime": LATER}, "completionTime cannot be set before startTime"),
        ({}, {}, {**COMPLETE, "startTime": None}, "status.startTime: Required value: startTime is required"),
        ({}, {}, {**COMPLETE, "conditions": true("Complete")}, "without the SuccessCriteriaMet=true condition"),
        ({}, {}, {**FAILED, "conditions": true("Failed")}, "without the FailureTarget=true condition"),
        ({}, FAILED, {"conditions": true("Failed", "FailureTarget", "Complete")}, "cannot set Complete=True and Fail"),
        ({}, {}, {"conditions": [{"status": "True"}]}, r"status.conditions\[0\].type: Required value"),
        ({}, {}, {"conditions": [{"type": "Complete"}]}, r"status.conditions\[0\].status: Required value"),
        ({}, {}, {"completedIndexes": "0"}, "cannot set non-empty completedIndexes when non-indexed"),
        (INDEXED, {}, {"completedIndexes": "0-30000000"}, "error parsing completed indexes: too large index"),
        (INDEXED, {}, {"completedIndexes": "3,1"}, "error parsing completed indexes: non-increasing order"),
        (INDEXED, {}, {"completedIndexes": "x"}, "error parsing completed indexes: cannot convert"),
    ],
)  # fmt: skip
def test_what_nobody_may_say(local: LocalCluster, spec: Status, before: Status, status: Status, why: str) -> None:
    name = make(local, **spec)
    assert write(local, name, before).status == 200
    found = write(local, name, status)
    assert found.status == 422, found.body
    assert re.search(why, found.json()["message"]), found.json()["message"]


def test_what_is_ignored_is_not_checked(local: LocalCluster) -> None:
    """A write to the Job itself says nothing of its status, and one to its status nothing else."""
    name = make(local)
    headers, wrong = {"content-type": MERGE}, {"conditions": [{"status": "True"}], "failed": -1}
    patch = {"status": wrong, "metadata": {"annotations": {"a": "b"}}}
    assert local.call("PATCH", f"{JOBS}/{name}", None, headers, patch).status == 200
    job = local.call("GET", f"{JOBS}/{name}").json()
    job["spec"]["template"]["spec"]["containers"], job["status"] = [], {"active": 2}
    found = local.call("PUT", f"{JOBS}/{name}/status", body=job)
    assert (found.status, found.json()["status"]) == (200, {"active": 2})
    assert len(found.json()["spec"]["template"]["spec"]["containers"]) == 1


def test_the_status_of_a_running_job_is_its_controllers(cluster: RunningCluster) -> None:
    """Its start stays where it is, and what a client writes beside it stops nothing."""
    cluster.job("own", "sleep", "64.1")
    running_pod(cluster, "own")
    start = cluster.call("GET", f"{JOBS}/own").ok()["status"]["startTime"]
    for other in (LATER, None):
        refused = cluster.call("PATCH", f"{JOBS}/own/status", {"status": {"startTime": other}}, MERGE)
        assert refused.code == 422 and "for unsuspended job" in refused.body["message"]
    odd: Status = {"active": 7, "conditions": [{"type": "Own", "status": "True"}]}
    cluster.call("PATCH", f"{JOBS}/own/status", {"status": odd}, MERGE).ok()
    until(lambda: cluster.call("GET", f"{JOBS}/own").ok()["status"]["active"] == 1)
    assert cluster.call("GET", f"{JOBS}/own").ok()["status"]["startTime"] == start
    remove_job(cluster, "own")


def test_a_job_that_a_client_ended_without_a_time_stays(
    cluster: RunningCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody knows when its time to live began; and the controller goes on with all others."""
    cluster.job("timeless", "true", parallelism=0, completions=1, ttlSecondsAfterFinished=0)
    start = until(lambda: cluster.call("GET", f"{JOBS}/timeless").ok()["status"].get("startTime"))
    kinds = [{"type": kind, "status": "True"} for kind in ("FailureTarget", "Failed")]
    patch = {"status": {"conditions": kinds, "startTime": start}}
    cluster.call("PATCH", f"{JOBS}/timeless/status", patch, MERGE).ok()
    cluster.job("another", "true")
    cluster.job_condition("another", "Complete")
    assert cluster.call("GET", f"{JOBS}/timeless").code == 200
    assert "trying again" not in caplog.text


def test_a_pods_status_may_have_holes(cluster: RunningCluster) -> None:
    """As a client may write it: tables, logs and the node make of it what they can."""
    make_pod(cluster, "holes", sh("sleep 64.2"), nodeName="elsewhere")
    states: list[Status] = [{"terminated": {"reason": "Odd"}}, {"waiting": {"reason": "CrashLoopBackOff"}}]
    for state in states:
        told = {"containerStatuses": [{"name": "c", "state": state}, {}], "phase": "Running"}
        cluster.call("PATCH", f"{PODS}/holes/status", {"status": told}, MERGE).ok()
        assert cluster.call("GET", f"{PODS}/holes/log").code in (200, 400)
        table = cluster.call("GET", PODS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        assert table.code == 200, table.body
    cluster.call("DELETE", f"{PODS}/holes?gracePeriodSeconds=0").ok()
