"""The Job runner: real processes, real exit codes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, JOBS, MERGE, PODS, RunningCluster, running_cluster, until


def conditions(job: Any) -> list[tuple[str, str]]:
    return [(item["type"], item["reason"]) for item in job["status"]["conditions"] if item["status"] == "True"]


def log(cluster: RunningCluster, job: str, **query: str) -> str:
    (pod,) = cluster.pods_of(job)
    words = "&".join(f"{key}={value}" for key, value in query.items())
    return str(cluster.call("GET", f"{PODS}/{pod['metadata']['name']}/log?{words}").ok())


def terminated(pod: Any) -> Any:
    return pod["status"]["containerStatuses"][0]["state"]["terminated"]


def failure_message(cluster: RunningCluster, name: str) -> str:
    job = cluster.job_condition(name, "Failed")
    assert "CannotRun" in {reason for _, reason in conditions(job)}
    assert len(cluster.pods_of(name)) == 1
    return str(job["status"]["conditions"][-1]["message"])


def alive(*argv: str) -> bool:
    """Whether a process with exactly these arguments runs; its leash, which has more, does not count."""
    wanted = "".join(f"{word}\0" for word in argv).encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False


def test_success(cluster: RunningCluster) -> None:
    cluster.job("ok", "sh", "-c", "echo out; echo err >&2", labels={"app": "blast"})
    job = cluster.job_condition("ok", "Complete")
    assert conditions(job) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    status = job["status"]
    assert status["succeeded"] == 1 and status["startTime"] <= status["completionTime"] and "active" not in status
    (pod,) = cluster.pods_of("ok")
    assert pod["status"]["phase"] == "Succeeded" and pod["spec"]["nodeName"] == "onebox"
    assert terminated(pod)["exitCode"] == 0
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", job["metadata"]["uid"], True)
    assert "finalizers" not in pod["metadata"]
    assert log(cluster, "ok") == "out\nerr\n"
    assert log(cluster, "ok", tailLines="1") == "err\n"


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
    assert "spec.podFailurePolicy: Forbidden" in refusal(podFailurePolicy={"rules": [{}]})
    assert "spec.completionMode" in refusal(completionMode="Indexed")
    assert "spec.backoffLimit" in refusal(backoffLimit=-1)


def test_a_failing_job_is_tried_again_up_to_its_limit(cluster: RunningCluster) -> None:
    cluster.job("bad", "sh", "-c", "exit 3", backoffLimit=2)
    job = cluster.job_condition("bad", "Failed")
    assert conditions(job) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    assert job["status"]["failed"] == 3
    assert [terminated(pod)["exitCode"] for pod in cluster.pods_of("bad")] == [3, 3, 3]


def test_parallelism(cluster: RunningCluster, tmp_path: Path) -> None:
    """Six completions, never more than three at once."""
    script = f"echo + >> {tmp_path}/n; sleep 0.15; echo - >> {tmp_path}/n"
    cluster.job("par", "sh", "-c", script, parallelism=3, completions=6)
    assert cluster.job_condition("par", "Complete")["status"]["succeeded"] == 6
    running = most = 0
    for sign in (tmp_path / "n").read_text().split():
        running += 1 if sign == "+" else -1
        most = max(most, running)
    assert most == 3 and running == 0


def test_deadline(cluster: RunningCluster) -> None:
    cluster.job("late", "sleep", "61.1", activeDeadlineSeconds=1)
    job = cluster.job_condition("late", "Failed")
    assert conditions(job) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
    until(lambda: not alive("sleep", "61.1"))


def test_a_running_jobs_deadline_can_be_moved(cluster: RunningCluster) -> None:
    cluster.job("moved", "sleep", "61.2", activeDeadlineSeconds=600)
    until(lambda: alive("sleep", "61.2"))
    cluster.call("PATCH", f"{JOBS}/moved", {"spec": {"activeDeadlineSeconds": 0}}, MERGE).ok()
    cluster.job_condition("moved", "Failed")


def test_a_reservation_gets_no_pod_and_goes_by_itself(cluster: RunningCluster) -> None:
    cluster.job("resv", "true", parallelism=0, activeDeadlineSeconds=1, ttlSecondsAfterFinished=0)
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
    go = tmp_path / "go"
    job = cluster.job("susp", "sh", "-c", f"test -e {go} && exit 0; exec sleep 61.3", suspend=True, backoffLimit=0)
    cluster.job_condition("susp", "Suspended")
    assert cluster.pods_of("susp") == []
    cluster.call("PATCH", f"{JOBS}/susp", {"spec": {"suspend": False}}, MERGE).ok()
    until(lambda: alive("sleep", "61.3"))
    cluster.call("PATCH", f"{JOBS}/susp", {"spec": {"suspend": True}}, MERGE).ok()
    until(lambda: not alive("sleep", "61.3") and cluster.pods_of("susp") == [])
    go.touch()
    cluster.call("PATCH", f"{JOBS}/susp", {"spec": {"suspend": False}}, MERGE).ok()
    job = cluster.job_condition("susp", "Complete")
    assert job["status"].get("failed", 0) == 0


def test_deletion_kills_the_whole_process_group(cluster: RunningCluster) -> None:
    cluster.job("del", "sh", "-c", "sleep 62.1 & setsid sleep 62.2 & wait")
    until(lambda: alive("sleep", "62.1") and alive("sleep", "62.2"))
    cluster.call("DELETE", f"{JOBS}/del?propagationPolicy=Background").ok()
    until(lambda: not alive("sleep", "62.1") and not alive("sleep", "62.2"))
    until(lambda: cluster.pods_of("del") == [])


def test_a_deleted_pod_is_replaced(cluster: RunningCluster) -> None:
    cluster.job("repl", "sleep", "61.4", backoffLimit=0)
    until(lambda: alive("sleep", "61.4"))
    (first,) = cluster.pods_of("repl")
    cluster.call("DELETE", f"{PODS}/{first['metadata']['name']}").ok()
    until(lambda: [pod["metadata"]["uid"] for pod in cluster.pods_of("repl")] not in ([], [first["metadata"]["uid"]]))
    until(lambda: len(cluster.pods_of("repl")) == 1)
    cluster.call("DELETE", f"{JOBS}/repl?propagationPolicy=Background").ok()


def test_environment(cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDUI_SECRET_OF_THE_SERVER", "x")
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "settings"}, "data": {"A": "from-map"}}).ok()
    secret = {"metadata": {"name": "hidden"}, "data": {"b": "ZnJvbS1zZWNyZXQ="}}
    cluster.call("POST", f"{CORE}/secrets", secret).ok()
    env = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['job-name']"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "b"}}},
        {"name": "MAYBE", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "b", "optional": True}}},
        {"name": "BOTH", "value": "$(A)+$(B)+$(UNKNOWN)+$$(A)"},
    ]
    container = {"env": env, "envFrom": [{"configMapRef": {"name": "settings"}}], "args": ["env"]}
    cluster.job("env", "sh", "-c", container=container)
    cluster.job_condition("env", "Complete")
    found = dict(line.split("=", 1) for line in log(cluster, "env").splitlines())
    assert found["NAME"].startswith("env-") and found["LABEL"] == "env"
    assert found["BOTH"] == "from-map+from-secret+$(UNKNOWN)+$(A)"
    assert not {"COORDUI_SECRET_OF_THE_SERVER", "MAYBE"} & set(found)
    assert f"https://{found['KUBERNETES_SERVICE_HOST']}:{found['KUBERNETES_SERVICE_PORT']}" == cluster.url
    account = Path(found["COORDUI_SERVICEACCOUNT"])
    assert (account / "token").read_text() == cluster.token
    assert (account / "namespace").read_text() == "default"
    assert (account / "ca.crt").read_text() == cluster.ca.read_text()


def test_a_missing_configmap_is_waited_for(cluster: RunningCluster) -> None:
    source = {"configMapKeyRef": {"name": "coming", "key": "a"}}
    cluster.job("waits", "sh", "-c", "echo $A", container={"env": [{"name": "A", "valueFrom": source}]})

    def reason() -> Any:
        states = [pod["status"].get("containerStatuses") for pod in cluster.pods_of("waits")]
        return states and states[0] and states[0][0]["state"]["waiting"]["message"]

    assert until(reason) == 'configmap "coming" not found'
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "coming"}, "data": {"a": "here"}}).ok()
    cluster.job_condition("waits", "Complete")
    assert log(cluster, "waits") == "here\n"


def test_a_host_path_at_its_own_path(cluster: RunningCluster, tmp_path: Path) -> None:
    path = str(tmp_path)
    volume = {"name": "work", "hostPath": {"path": path}}
    container = {"volumeMounts": [{"name": "work", "mountPath": path}], "workingDir": path}
    cluster.job("mounts", "sh", "-c", "echo hi > file; pwd", container=container, pod={"volumes": [volume]})
    cluster.job_condition("mounts", "Complete")
    assert (tmp_path / "file").read_text() == "hi\n"
    assert log(cluster, "mounts") == path + "\n"


@pytest.mark.parametrize(
    ("name", "volume", "mount", "words"),
    [
        ("elsewhere", {"hostPath": {"path": "/tmp"}}, "/data", "mountPath /data has to equal the host's path /tmp"),
        ("absent", {"hostPath": {"path": "/no/such"}}, "/no/such", "/no/such does not exist on this machine"),
        ("empty", {"emptyDir": {}}, "/scratch", "hostPath volumes only, not emptyDir"),
    ],
)
def test_other_volumes_are_refused_by_name(
    cluster: RunningCluster, name: str, volume: Any, mount: str, words: str
) -> None:
    mounts = {"volumeMounts": [{"name": "data", "mountPath": mount}]}
    cluster.job(f"vol-{name}", "true", container=mounts, pod={"volumes": [{"name": "data", **volume}]})
    message = failure_message(cluster, f"vol-{name}")
    assert words in message and 'container "c", volume "data"' in message


def test_what_cannot_run_says_so(cluster: RunningCluster) -> None:
    cluster.job("nocommand")
    assert "no command" in failure_message(cluster, "nocommand")
    cluster.job("noprogram", "no-such-program")
    assert '"no-such-program" is no program on PATH' in failure_message(cluster, "noprogram")
    assert "no program on PATH" in log(cluster, "noprogram")
    cluster.job("nodirectory", "true", container={"workingDir": "/no/such"})
    assert "workingDir /no/such" in failure_message(cluster, "nodirectory")


def test_a_pod_without_room_waits_for_it(cluster: RunningCluster) -> None:
    cpus = cluster.call("GET", "/api/v1/nodes/onebox").ok()["status"]["allocatable"]["cpu"]
    whole = {"resources": {"requests": {"cpu": cpus}}}
    cluster.job("big", "sleep", "61.5", container=whole)
    until(lambda: alive("sleep", "61.5"))
    cluster.job("next", "true", container=whole)
    cluster.job("small", "true")
    cluster.job_condition("small", "Complete")
    (pod,) = until(lambda: [pod for pod in cluster.pods_of("next") if pod["status"].get("conditions")])
    assert pod["status"]["phase"] == "Pending"
    (condition,) = pod["status"]["conditions"]
    assert condition["reason"] == "Unschedulable"
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    cluster.call("DELETE", f"{JOBS}/big?propagationPolicy=Background").ok()
    cluster.job_condition("next", "Complete")


def test_logs_are_followed(cluster: RunningCluster, tmp_path: Path) -> None:
    go = tmp_path / "go"
    cluster.job("talks", "sh", "-c", f"echo one; until test -e {go}; do sleep 0.01; done; echo two")
    until(lambda: cluster.pods_of("talks") and cluster.pods_of("talks")[0]["status"]["phase"] == "Running")
    (pod,) = cluster.pods_of("talks")
    with cluster.stream(f"{PODS}/{pod['metadata']['name']}/log?follow=true") as lines:
        assert next(lines) == "one\n"
        threading.Timer(0, go.touch).start()
        assert list(lines) == ["two\n"]
    assert cluster.call("GET", f"{PODS}/{pod['metadata']['name']}/log?container=x").code == 400


def test_logs_are_bounded(cluster: RunningCluster) -> None:
    cluster.job("floods", "sh", "-c", "yes 0123456789abcdef | head -c 13000000; echo the end")
    cluster.job_condition("floods", "Complete")
    found = log(cluster, "floods")
    assert found.endswith("the end\n") and 5_000_000 < len(found) <= 10_500_000


def test_events_tell_the_story(cluster: RunningCluster) -> None:
    job = cluster.job("told", "true")
    cluster.job_condition("told", "Complete")
    selector = f"involvedObject.uid%3D{job['metadata']['uid']}"
    events = cluster.call("GET", f"{CORE}/events?fieldSelector={selector}").ok()["items"]
    assert {event["reason"] for event in events} == {"SuccessfulCreate", "Completed"}


def test_without_the_runner_jobs_wait(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        cluster.job("idle", "true")
        assert cluster.call("GET", f"{JOBS}/idle").ok()["status"] == {}


def test_orphaned_pods_can_be_deleted(cluster: RunningCluster) -> None:
    cluster.job("leaves", "sleep", "61.6")
    until(lambda: alive("sleep", "61.6"))
    (pod,) = cluster.pods_of("leaves")
    cluster.call("DELETE", f"{JOBS}/leaves").ok()
    url = f"{PODS}/{pod['metadata']['name']}"
    meta = cluster.call("GET", url).ok()["metadata"]
    assert not {"ownerReferences", "finalizers"} & set(meta)
    assert alive("sleep", "61.6")
    cluster.call("DELETE", f"{url}?gracePeriodSeconds=0").ok()
    until(lambda: cluster.call("GET", url).code == 404)
    assert not alive("sleep", "61.6")
