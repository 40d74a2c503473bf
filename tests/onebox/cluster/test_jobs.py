"""The Job controller: how many Pods, how often, for how long, and what the status says. Real processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.runner import indexes
from coordui.onebox.cluster.runner.jobstatus import retry_delay
from tests.onebox.cluster.fixtures import CORE, JOBS, MERGE, PODS, RunningCluster, running_cluster, until
from tests.onebox.cluster.looking import (
    alive,
    conditions,
    log,
    look_again,
    patch_job,
    pod_of,
    reasons,
    remove_job,
    terminated,
)


@contextmanager
def hours_later(cluster: RunningCluster, hours: float) -> Iterator[None]:
    """The clock only: what waits for it is not woken."""
    cluster.faults.clock.offset = hours * 3600
    try:
        yield
    finally:
        cluster.faults.clock.offset = 0.0


def test_success(cluster: RunningCluster) -> None:
    cluster.job("ok", "sh", "-c", "echo out; echo err >&2", labels={"app": "blast"})
    job = cluster.job_condition("ok", "Complete")
    assert conditions(job) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    status = job["status"]
    assert status.pop("startTime") <= status.pop("completionTime")
    counts = {key: value for key, value in status.items() if key != "conditions"}
    assert counts == {"succeeded": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    pod = pod_of(cluster, "ok")
    assert pod["status"]["phase"] == "Succeeded" and pod["spec"]["nodeName"] == "onebox"
    assert terminated(pod)["exitCode"] == 0 and terminated(pod)["reason"] == "Completed"
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", job["metadata"]["uid"], True)
    assert "finalizers" not in pod["metadata"]
    assert log(cluster, "ok") == "out\nerr\n"
    assert reasons(cluster, job) == ["SuccessfulCreate", "Completed"]
    assert reasons(cluster, pod) == ["Scheduled", "Started"]


def test_defaults_and_what_may_not_change(cluster: RunningCluster) -> None:
    job = cluster.job("fixed", "true", parallelism=0)
    spec, uid = job["spec"], job["metadata"]["uid"]
    assert (spec["parallelism"], spec["backoffLimit"], spec["suspend"]) == (0, 6, False)
    assert "completions" not in spec and job["metadata"]["generation"] == 1
    assert spec["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    assert spec["template"]["metadata"]["labels"]["job-name"] == "fixed"
    changed: Any = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "other"}]}}}}
    reply = cluster.call("PATCH", f"{JOBS}/fixed", changed, MERGE)
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")
    assert "spec.template" in reply.body["message"]
    changed = {"spec": {"activeDeadlineSeconds": 9}, "status": {"succeeded": 5}}
    new = cluster.call("PATCH", f"{JOBS}/fixed", changed, MERGE).ok()
    assert new["metadata"]["generation"] == 2 and "succeeded" not in new["status"]


def test_refused_jobs(cluster: RunningCluster) -> None:
    def refusal(**spec: Any) -> str:
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}
        body = {"metadata": {"name": "refused"}, "spec": {"template": {"spec": pod | spec.pop("pod", {})}, **spec}}
        reply = cluster.call("POST", JOBS, body)
        assert reply.code == 422, reply.body
        return str(reply.body["message"])

    assert "spec.template.spec.restartPolicy: Required value" in refusal(pod={"restartPolicy": None})
    assert 'Unsupported value: "Always"' in refusal(pod={"restartPolicy": "Always"})
    assert "spec.template.spec.containers: Required value" in refusal(pod={"containers": []})
    assert "spec.template.spec.activeDeadlineSeconds" in refusal(pod={"activeDeadlineSeconds": 0})
    mount = {"name": "v", "hostPath": {"path": "/", "type": "Folder"}}
    assert 'volumes[0].hostPath.type: Unsupported value: "Folder"' in refusal(pod={"volumes": [mount]})
    for name, value in (
        ("podFailurePolicy", {"rules": [{"action": "Ignore", "onPodConditions": []}]}),
        ("successPolicy", {"rules": [{"succeededCount": 1}]}),
        ("backoffLimitPerIndex", 1),
    ):
        assert f"spec.{name}: Forbidden: this server does not do it" in refusal(**{name: value})
    assert "spec.completions: Required value" in refusal(completionMode="Indexed", parallelism=1)
    assert 'supported values: "Failed", "TerminatingOrFailed"' in refusal(podReplacementPolicy="Never")
    assert "spec.backoffLimit" in refusal(backoffLimit=-1)


def test_a_failing_job_is_tried_again_up_to_its_limit(cluster: RunningCluster) -> None:
    cluster.job("bad", "sh", "-c", "exit 3", backoffLimit=2)
    job = cluster.job_condition("bad", "Failed")
    assert conditions(job) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert job["status"]["failed"] == 3 and "completionTime" not in job["status"]
    assert [terminated(pod)["exitCode"] for pod in cluster.pods_of("bad")] == [3, 3, 3]
    assert reasons(cluster, job) == ["SuccessfulCreate"] * 3 + ["BackoffLimitExceeded"]


def test_each_failure_doubles_the_wait(tmp_path: Path) -> None:
    """On a real one 10 s, and never more than 10 min; here 0.1 s, then 0.2 s: never sooner."""
    assert [retry_delay(failures, 10) for failures in (1, 2, 3, 6, 7, 99)] == [10, 20, 40, 320, 600, 600]
    times = tmp_path / "times"
    with running_cluster(tmp_path / "state", first_retry=0.1) as cluster:
        cluster.job("slower", "sh", "-c", f"date +%s.%N >> {times}; exit 1", backoffLimit=2)
        cluster.job_condition("slower", "Failed")
    first, second, third = map(float, times.read_text().split())
    assert second - first >= 0.1 and third - second >= 0.2


def test_restarts_inside_of_a_pod_count_too(cluster: RunningCluster, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    cluster.job("inside", "sh", "-c", f"echo x >> {runs}; exit 4", backoffLimit=2, pod={"restartPolicy": "OnFailure"})
    job = cluster.job_condition("inside", "Failed")
    assert conditions(job)[-1] == ("Failed", "BackoffLimitExceeded")
    assert len(cluster.pods_of("inside")) <= 1 and 2 <= len(runs.read_text().split()) <= 3
    script = f"test -e {tmp_path}/again && exit 0; touch {tmp_path}/again; exit 5"
    cluster.job("healed", "sh", "-c", script, backoffLimit=2, pod={"restartPolicy": "OnFailure"})
    job = cluster.job_condition("healed", "Complete")
    assert job["status"].get("failed", 0) == 0
    (item,) = pod_of(cluster, "healed")["status"]["containerStatuses"]
    assert item["restartCount"] == 1 and item["lastState"]["terminated"]["exitCode"] == 5


def test_parallelism(cluster: RunningCluster, tmp_path: Path) -> None:
    """Six completions, three at once and never more."""
    script = f"echo + >> {tmp_path}/n; until test -e {tmp_path}/go; do sleep 0.01; done; echo - >> {tmp_path}/n"
    cluster.job("par", "sh", "-c", script, parallelism=3, completions=6)
    until(lambda: (tmp_path / "n").exists() and len((tmp_path / "n").read_text().split()) == 3)
    status = until(lambda: (found := cluster.call("GET", f"{JOBS}/par").ok()["status"]).get("ready") == 3 and found)
    assert status["active"] == len(cluster.pods_of("par")) == 3
    (tmp_path / "go").touch()
    assert cluster.job_condition("par", "Complete")["status"]["succeeded"] == 6
    running = most = 0
    for sign in (tmp_path / "n").read_text().split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    assert most == 3 and running == 0


def test_without_completions_one_success_ends_it_when_all_have_ended(cluster: RunningCluster, tmp_path: Path) -> None:
    script = f"mkdir {tmp_path}/first 2>/dev/null && exit 0; until test -e {tmp_path}/go; do sleep 0.01; done"
    cluster.job("queue", "sh", "-c", script, parallelism=2)
    job = until(lambda: (job := cluster.call("GET", f"{JOBS}/queue").ok())["status"].get("succeeded") == 1 and job)
    assert job["status"]["active"] == 1 and not conditions(job)
    (tmp_path / "go").touch()
    assert cluster.job_condition("queue", "Complete")["status"]["succeeded"] == 2
    assert len(cluster.pods_of("queue")) == 2


def test_parallelism_can_be_turned_down(cluster: RunningCluster) -> None:
    cluster.job("fewer", "sleep", "61.7", parallelism=2, completions=2, backoffLimit=0)
    until(lambda: [pod["status"]["phase"] for pod in cluster.pods_of("fewer")] == ["Running"] * 2)
    patch_job(cluster, "fewer", parallelism=1)
    until(lambda: len(cluster.pods_of("fewer")) == 1)
    job = cluster.call("GET", f"{JOBS}/fewer").ok()
    assert job["status"]["active"] == 1 and "failed" not in job["status"]
    assert "SuccessfulDelete" in reasons(cluster, job)
    remove_job(cluster, "fewer")


def test_every_index_is_done_once(cluster: RunningCluster, tmp_path: Path) -> None:
    """The one that fails is tried again under its own index."""
    script = (
        f"test $JOB_COMPLETION_INDEX = 1 && mkdir {tmp_path}/failed 2>/dev/null && exit 1; echo $JOB_COMPLETION_INDEX"
    )
    cluster.job("each", "sh", "-c", script, parallelism=2, completions=4, completionMode="Indexed")
    job = cluster.job_condition("each", "Complete")
    assert (job["status"]["completedIndexes"], job["status"]["succeeded"], job["status"]["failed"]) == ("0-3", 4, 1)
    said = {}
    for pod in cluster.pods_of("each"):
        if pod["status"]["phase"] == "Succeeded":
            index = pod["metadata"]["annotations"][indexes.KEY]
            assert pod["metadata"]["name"].startswith(f"each-{index}-")
            said[index] = cluster.call("GET", f"{PODS}/{pod['metadata']['name']}/log").ok()
    assert said == {str(index): f"{index}\n" for index in range(4)}


def test_a_pod_that_a_quota_refuses_is_made_when_there_is_room(cluster: RunningCluster) -> None:
    core, jobs = CORE.replace("default", "few"), JOBS.replace("default", "few")
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "few"}}).ok()
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    cluster.call("POST", f"{core}/resourcequotas", quota).ok()
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}
    spec = {"completions": 2, "template": {"spec": pod}}
    cluster.call("POST", jobs, {"metadata": {"name": "two"}, "spec": spec}).ok()
    until(lambda: "exceeded quota: one" in str(cluster.call("GET", f"{core}/events").ok()))
    until(lambda: cluster.call("GET", f"{jobs}/two").ok()["status"].get("succeeded") == 1)
    cluster.call("PATCH", f"{core}/resourcequotas/one", {"spec": {"hard": {"pods": "2"}}}, MERGE).ok()
    job: Any = until(lambda: conditions(found := cluster.call("GET", f"{jobs}/two").ok()) and found)
    status = job["status"]
    assert (status["succeeded"], status.get("failed", 0)) == (2, 0)


def test_deadline(cluster: RunningCluster) -> None:
    job = cluster.job("late", "sleep", "61.1", activeDeadlineSeconds=3600)
    until(lambda: alive("sleep", "61.1"))
    with hours_later(cluster, 2):
        look_again(cluster, "late")
        job = cluster.job_condition("late", "Failed")
    assert conditions(job) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
    assert job["status"]["conditions"][-1]["message"] == "Job was active longer than specified deadline"
    assert job["status"]["failed"] == 1 and not alive("sleep", "61.1")
    assert reasons(cluster, job)[-2:] == ["SuccessfulDelete", "DeadlineExceeded"]


def test_a_running_jobs_deadline_can_be_moved(cluster: RunningCluster) -> None:
    """Further away, and the Job lives on; nearer, and it ends."""
    cluster.job("moved", "sleep", "61.2", activeDeadlineSeconds=3600)
    until(lambda: alive("sleep", "61.2"))
    patch_job(cluster, "moved", activeDeadlineSeconds=7200)
    with hours_later(cluster, 1.5):
        look_again(cluster, "moved")
        cluster.job("meanwhile", "true")
        cluster.job_condition("meanwhile", "Complete")
        assert conditions(cluster.call("GET", f"{JOBS}/moved").ok()) == [] and alive("sleep", "61.2")
        patch_job(cluster, "moved", activeDeadlineSeconds=3600)
        cluster.job_condition("moved", "Failed")


def test_a_reservation_gets_no_pod_and_goes_by_itself(cluster: RunningCluster) -> None:
    """At its deadline, which nothing but the time brings."""
    cluster.job("resv", "true", parallelism=0, activeDeadlineSeconds=0, ttlSecondsAfterFinished=0)
    events = []
    with cluster.stream(f"{JOBS}?watch=1&fieldSelector=metadata.name%3Dresv&timeoutSeconds=9") as lines:
        for event in map(json.loads, lines):
            events.append((event["type"], event["object"]))
            if event["type"] == "DELETED":
                break
    assert events[-1][0] == "DELETED"
    assert ("Failed", "DeadlineExceeded") in conditions(events[-1][1])
    assert all("active" not in obj["status"] for _, obj in events)
    assert cluster.pods_of("resv") == []


def test_time_to_live(cluster: RunningCluster) -> None:
    cluster.job("ttl", "true", ttlSecondsAfterFinished=1)
    cluster.job_condition("ttl", "Complete")
    until(lambda: cluster.call("GET", f"{JOBS}/ttl").code == 404)
    until(lambda: cluster.pods_of("ttl") == [])


def test_suspend_and_resume(cluster: RunningCluster, tmp_path: Path) -> None:
    """A suspended Job has no Pods and no startTime; its deadline counts from the last resumption."""
    go = tmp_path / "go"
    script = f"test -e {go} && exit 0; exec sleep 61.3"
    cluster.job("susp", "sh", "-c", script, suspend=True, backoffLimit=0, activeDeadlineSeconds=3600)
    job = cluster.job_condition("susp", "Suspended")
    assert cluster.pods_of("susp") == [] and "startTime" not in job["status"]
    patch_job(cluster, "susp", suspend=False)
    until(lambda: alive("sleep", "61.3"))
    patch_job(cluster, "susp", suspend=True)
    until(lambda: not alive("sleep", "61.3") and cluster.pods_of("susp") == [])
    job = cluster.job_condition("susp", "Suspended")
    assert "startTime" not in job["status"] and "active" not in job["status"]
    with hours_later(cluster, 2):
        go.touch()
        patch_job(cluster, "susp", suspend=False)
        job = cluster.job_condition("susp", "Complete", "Failed")
    assert [kind for kind, _ in conditions(job)] == ["SuccessCriteriaMet", "Complete"]
    assert job["status"].get("failed", 0) == 0
    told = reasons(cluster, job)
    assert told.count("Suspended") == 2 and told.count("Resumed") == 2 and "SuccessfulDelete" in told


def test_deletion_kills_the_whole_process_group(cluster: RunningCluster) -> None:
    cluster.job("del", "sh", "-c", "sleep 62.1 & setsid sleep 62.2 & wait")
    until(lambda: alive("sleep", "62.1") and alive("sleep", "62.2"))
    remove_job(cluster, "del")
    until(lambda: not alive("sleep", "62.1") and not alive("sleep", "62.2"))
    until(lambda: cluster.pods_of("del") == [])


@pytest.mark.parametrize(("policy", "at_once"), [("TerminatingOrFailed", True), ("Failed", False)])
def test_a_deleted_pod_is_a_failure_and_is_replaced(
    cluster: RunningCluster, tmp_path: Path, policy: str, at_once: bool
) -> None:
    """At once, while the old one is still ending: unless the policy wants to see its end."""
    ready, name = tmp_path / "ready", f"repl-{policy.lower()}"
    stubborn = f"trap '' TERM; echo x >> {ready}; while :; do sleep 0.02; done"
    cluster.job(name, "sh", "-c", stubborn, backoffLimit=1, podReplacementPolicy=policy)
    until(ready.exists)
    first = pod_of(cluster, name)
    cluster.call("DELETE", f"{PODS}/{first['metadata']['name']}?gracePeriodSeconds=30").ok()
    if at_once:
        until(lambda: len(cluster.pods_of(name)) == 2)
    status = cluster.call("GET", f"{JOBS}/{name}").ok()["status"]
    assert (status["terminating"], status.get("failed", 0)) == (1, 1 if at_once else 0)
    assert len(cluster.pods_of(name)) == (2 if at_once else 1)
    cluster.call("DELETE", f"{PODS}/{first['metadata']['name']}?gracePeriodSeconds=0").ok()
    until(lambda: len(ready.read_text().split()) == 2)
    status = until(
        lambda: (found := cluster.call("GET", f"{JOBS}/{name}").ok()["status"])["terminating"] == 0 and found
    )
    assert (status["active"], status["failed"]) == (1, 1)
    remove_job(cluster, name)
    cluster.call("DELETE", f"{PODS}?labelSelector=job-name%3D{name}&gracePeriodSeconds=0").ok()


def test_without_the_runner_jobs_wait(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        cluster.job("idle", "true")
        assert cluster.call("GET", f"{JOBS}/idle").ok()["status"] == {}


def test_orphaned_pods_can_be_deleted(cluster: RunningCluster) -> None:
    cluster.job("leaves", "sleep", "61.6")
    until(lambda: alive("sleep", "61.6"))
    pod = pod_of(cluster, "leaves")
    cluster.call("DELETE", f"{JOBS}/leaves").ok()
    url = f"{PODS}/{pod['metadata']['name']}"
    meta = cluster.call("GET", url).ok()["metadata"]
    assert not {"ownerReferences", "finalizers"} & set(meta)
    assert alive("sleep", "61.6")
    cluster.call("DELETE", f"{url}?gracePeriodSeconds=0").ok()
    until(lambda: cluster.call("GET", url).code == 404)
    assert not alive("sleep", "61.6")
