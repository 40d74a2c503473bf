"""Jobs of many Pods: any size leaves the server alive, and what is done costs no further look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.runner import indexes, jobs
from coordui.onebox.cluster.runner.recorder import Recorder
from tests.onebox.cluster.fixtures import CORE, JOBS, RunningCluster, running_cluster, until
from tests.onebox.cluster.looking import (
    conditions,
    look_again,
    patch_job,
)


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "0,2,3,5-7", "0-30000000,30000002"])
def test_indexes_are_written_as_they_are_read(text: str) -> None:
    assert indexes.write(indexes.read(text)) == text


def test_indexes_are_runs() -> None:
    """However many there are, and what is no index is left out."""
    done = indexes.read("4-5,x,0-2,7-6,-1,3,99999999999")
    assert done == [(0, 5)] and indexes.count(done) == 6
    assert indexes.write([*done, (7, 7), (6, 6)]) == "0-7"
    assert indexes.wanted(2**31, [(0, 2**30), (2**30 + 2, 2**30 + 2)], {2**30 + 3}, 2) == [2**30 + 1, 2**30 + 4]
    assert indexes.wanted(4, [(0, 1), (3, 9)], {2}, 5) == [] == indexes.wanted(4, [], set(), -1)
    assert indexes.index_of({"metadata": {"annotations": {indexes.KEY: "1-2"}}}) is None


@pytest.mark.parametrize("mode", [{}, {"completionMode": "Indexed"}])
def test_a_job_of_any_size_leaves_the_server_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Any) -> None:
    """It has so many Pods at once and no more, made a few at a time, and its end takes them along."""
    monkeypatch.setattr(jobs, "MOST_PODS", 30)
    monkeypatch.setattr(jobs, "_STEP", 20)
    with running_cluster(tmp_path) as cluster:
        full = {"resources": {"requests": {"cpu": "1000"}}}
        most = 100_000 if mode else 10**9
        cluster.job("huge", "true", parallelism=most, completions=2**31 - 1, container=full, **mode)
        until(lambda: cluster.call("GET", f"{JOBS}/huge").ok()["status"].get("active") == 30)
        patch_job(cluster, "huge", activeDeadlineSeconds=0)
        job = cluster.job_condition("huge", "Failed")
        assert conditions(job)[-1] == ("Failed", "DeadlineExceeded") and cluster.pods_of("huge") == []
        assert steps(cluster, "SuccessfulCreate") == steps(cluster, "SuccessfulDelete") == [10, 20]


def steps(cluster: RunningCluster, reason: str) -> list[int]:
    """How many Pods each look made or deleted: the events of one look name the same revision of the Job."""
    events = cluster.call("GET", f"{CORE}/events?fieldSelector=reason%3D{reason}").ok()["items"]
    return sorted(Counter(event["involvedObject"]["resourceVersion"] for event in events).values())


def test_an_indexed_job_has_the_real_limit(cluster: RunningCluster) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}
    spec = {"completionMode": "Indexed", "completions": 1, "parallelism": 100_001, "template": {"spec": pod}}
    reply = cluster.call("POST", JOBS, {"metadata": {"name": "wide"}, "spec": spec})
    assert reply.code == 422 and "less than or equal to 100000 when completion mode is Indexed" in reply.body["message"]


def test_what_is_done_of_a_job_costs_no_look(cluster: RunningCluster) -> None:
    """A look reads the Pods that are still to be counted, and none that have been."""
    cluster.job("line", "true", parallelism=2, completions=8)
    job = cluster.job_condition("line", "Complete")
    assert len(cluster.pods_of("line")) == 8
    assert len(cluster.inside(lambda core: core.store.owned_by(job["metadata"]["uid"]))) == 8
    assert cluster.inside(lambda core: jobs.JobController(core, Recorder(core), 1.0)._pods(job)) == []


def test_long_looks_get_rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its Pods do, a Job that takes long to look at is looked at once and not once for each of them."""
    monkeypatch.setattr(jobs, "_LONG", -1.0)
    monkeypatch.setattr(jobs, "_PAUSE", 10**9)
    with running_cluster(tmp_path) as cluster:
        cluster.job("rare", "true", parallelism=2)
        until(lambda: {pod["status"]["phase"] for pod in cluster.pods_of("rare")} == {"Succeeded"})
        look_again(cluster, "rare")
        assert "succeeded" not in cluster.call("GET", f"{JOBS}/rare").ok()["status"]
