"""What runs in a Pod, in which order, with which environment and volumes, and how it ends. Real processes."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.runner import lifecycle, volumes
from coordui.onebox.cluster.runner.leftovers import CONTAINER_MARK, marked
from coordui.onebox.cluster.runner.lifecycle import Container, Ending
from coordui.onebox.cluster.storage.store import Store
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, MERGE, PODS, RunningCluster, until
from tests.onebox.cluster.looking import (
    alive,
    conditions,
    ended_pod,
    log,
    make_pod,
    pod_log,
    pod_of,
    reasons,
    sh,
    terminated,
    waiting,
)

# -- containers


def test_init_containers_run_one_after_the_other_before_the_others(cluster: RunningCluster, tmp_path: Path) -> None:
    order = tmp_path / "order"
    inits = [
        {"name": "first", "image": "none", **sh(f"sleep 0.1; echo first >> {order}")},
        {"name": "second", "image": "none", **sh(f"echo second >> {order}")},
    ]
    both = [sh(f"echo main >> {order}"), sh(f"echo main >> {order}")]
    make_pod(cluster, "ordered", *both, initContainers=inits)
    pod = ended_pod(cluster, "ordered")
    assert pod["status"]["phase"] == "Succeeded"
    assert order.read_text().split() == ["first", "second", "main", "main"]
    assert [item["ready"] for item in pod["status"]["initContainerStatuses"]] == [True, True]
    assert reasons(cluster, pod) == ["Scheduled"] + ["Started"] * 4


def test_a_failed_init_container_keeps_the_others_from_starting(cluster: RunningCluster, tmp_path: Path) -> None:
    init = {"name": "i", "image": "n", **sh("exit 2")}
    make_pod(cluster, "uninit", sh(f"touch {tmp_path}/ran"), initContainers=[init])
    pod = ended_pod(cluster, "uninit")
    assert pod["status"]["phase"] == "Failed" and not (tmp_path / "ran").exists()
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 2
    assert waiting(pod) == ("PodInitializing", "")
    initialized = next(item for item in pod["status"]["conditions"] if item["type"] == "Initialized")
    assert initialized["message"] == "containers with incomplete status: [i]"


def test_a_pod_of_several_containers_fails_with_any_of_them(cluster: RunningCluster) -> None:
    make_pod(cluster, "several", sh("exit 0"), sh("sleep 0.1; exit 3"))
    pod = ended_pod(cluster, "several")
    assert pod["status"]["phase"] == "Failed"
    codes = [item["state"]["terminated"]["exitCode"] for item in pod["status"]["containerStatuses"]]
    assert codes == [0, 3]


def test_a_container_that_fails_again_and_again_waits_longer_and_longer(cluster: RunningCluster) -> None:
    make_pod(cluster, "crashes", sh("exit 1"), restartPolicy="Always")

    def item() -> Any:
        return cluster.call("GET", f"{PODS}/crashes").ok()["status"].get("containerStatuses", [{}])[0]

    def waits() -> Any:
        found = item()
        return found if found.get("restartCount", 0) >= 4 and "waiting" in found["state"] else None

    found = until(waits)
    assert found["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "restarting failed container=c pod=crashes_default(" in found["state"]["waiting"]["message"]
    assert found["lastState"]["terminated"]["exitCode"] == 1
    pod = cluster.call("GET", f"{PODS}/crashes").ok()
    assert pod["status"]["phase"] == "Running" and "BackOff" in reasons(cluster, pod)
    cluster.call("DELETE", f"{PODS}/crashes").ok()
    until(lambda: cluster.call("GET", f"{PODS}/crashes").code == 404)


def test_what_comes_next() -> None:
    def made(*states: tuple[str, int]) -> list[Container]:
        found = []
        for index, (at, code) in enumerate(states):
            found.append(Container(f"c{index}", "i"))
            found[-1].at, found[-1].code = at, code  # type: ignore[assignment]
        return found

    def step(containers: list[Container], policy: str = "Never", ending: Ending | None = None) -> tuple[Any, ...]:
        found = lifecycle.step(containers, policy, ending, 0.0)
        return [c.name for c in found.start], [c.name for c in found.again], found.phase

    assert step(made(("new", 0), ("held", 0))) == (["c0", "c1"], [], "")
    assert step(made(("ended", 0), ("running", 0))) == ([], [], "")
    assert step(made(("ended", 0), ("ended", 1)), "OnFailure") == ([], ["c1"], "")
    assert step(made(("ended", 0)), "Always") == ([], ["c0"], "")
    assert step(made(("ended", 0), ("ended", 1))) == ([], [], "Failed")
    assert step(made(("ended", 0), ("new", 0)), ending=Ending()) == ([], [], "Failed")
    assert step(made(("ended", 0)), "Always", Ending()) == ([], [], "Succeeded")
    assert step(made(("ended", 0)), "Always", Ending("DeadlineExceeded")) == ([], [], "Failed")
    waits = made(("backoff", 0))
    waits[0].due = 1.0
    assert step(waits) == ([], [], "")
    assert [lifecycle.delay(restarts, 10) for restarts in (0, 1, 2, 5, 6, 50)] == [0, 10, 20, 160, 300, 300]


# -- ends


def test_a_pods_own_deadline(cluster: RunningCluster) -> None:
    make_pod(cluster, "short", sh("exec sleep 64.1"), activeDeadlineSeconds=3600)
    until(lambda: alive("sleep", "64.1"))
    cluster.faults.clock.offset = 7200
    try:
        cluster.call("PATCH", f"{PODS}/short", {"metadata": {"labels": {"looked": "again"}}}, MERGE).ok()
        pod = ended_pod(cluster, "short")
    finally:
        cluster.faults.clock.offset = 0
    assert (pod["status"]["phase"], pod["status"]["reason"]) == ("Failed", "DeadlineExceeded")
    assert terminated(pod)["exitCode"] == 143 and not alive("sleep", "64.1")


@pytest.mark.parametrize(("grace", "code"), [(30, 7), (0, 137)])
def test_sigterm_then_the_grace_then_sigkill(cluster: RunningCluster, tmp_path: Path, grace: int, code: int) -> None:
    """With time it ends by itself; without it is killed, however it minds; the grace of a deletion is its own."""
    name, ready = f"grace-{grace}", tmp_path / "ready"
    trap = "trap 'exit 7' TERM" if code == 7 else "trap '' TERM"
    script = f"{trap}; touch {ready}; while :; do sleep 0.02; done"
    make_pod(cluster, name, sh(script), terminationGracePeriodSeconds=60)
    until(ready.exists)
    states = []
    with cluster.stream(f"{PODS}?watch=1&fieldSelector=metadata.name%3D{name}&timeoutSeconds=9") as lines:
        cluster.call("DELETE", f"{PODS}/{name}?gracePeriodSeconds={grace}").ok()
        for line in lines:
            states.append(line)
            if '"DELETED"' in line:
                break
    assert f'"exitCode":{code},' in states[-1]


# -- environment


def test_a_leash_that_was_stopped_does_not_hold_its_pod(cluster: RunningCluster, tmp_path: Path) -> None:
    """It cannot kill what hangs on it, so after the grace both are killed."""
    assert cluster.server.runner is not None
    cluster.server.runner.kubelet.patience = 0.1
    pids = tmp_path / "pids"
    make_pod(cluster, "stopped", sh(f"trap '' TERM; setsid sleep 64.3 & echo $$$$ > {pids}; wait"))
    until(lambda: pids.exists() and pids.read_text() and alive("sleep", "64.3"))
    uid = cluster.call("GET", f"{PODS}/stopped").ok()["metadata"]["uid"]
    for pid in marked(CONTAINER_MARK, f"{uid}/c"):
        if b"leash.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGSTOP)
    cluster.call("DELETE", f"{PODS}/stopped?gracePeriodSeconds=1").ok()
    until(lambda: cluster.call("GET", f"{PODS}/stopped").code == 404)
    assert not alive("sleep", "64.3") and not marked(CONTAINER_MARK, f"{uid}/c")


def test_environment(cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COORDUI_SECRET_OF_THE_SERVER", "x")
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "settings"}, "data": {"A": "from-map"}}).ok()
    cluster.call("POST", f"{CORE}/secrets", {"metadata": {"name": "hidden"}, "data": {"b": "ZnJvbS1zZWNyZXQ="}}).ok()
    env = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "LABEL", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['job-name']"}}},
        {"name": "NOTE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['none']"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "b"}}},
        {"name": "MAYBE", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "b", "optional": True}}},
        {"name": "BOTH", "value": "$(A)+$(B)+$(UNKNOWN)+$$(A)"},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "MIB", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
    ]
    sources = [
        {"configMapRef": {"name": "settings"}},
        {"prefix": "S_", "secretRef": {"name": "hidden"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    resources = {"limits": {"cpu": "300m", "memory": "512Mi"}, "requests": {"cpu": "100m"}}
    container = {"env": env, "envFrom": sources, "args": ["env"], "resources": resources}
    cluster.job("env", "sh", "-c", container=container)
    cluster.job_condition("env", "Complete")
    found = dict(line.split("=", 1) for line in log(cluster, "env").splitlines())
    assert found["NAME"].startswith("env-") and found["LABEL"] == "env" and found["NOTE"] == ""
    assert (found["NODE"], found["IP"], found["CPU"], found["MIB"]) == ("onebox", "127.0.0.1", "1", "512")
    assert found["BOTH"] == "from-map+from-secret+$(UNKNOWN)+$(A)" and found["S_b"] == "from-secret"
    assert not {"COORDUI_SECRET_OF_THE_SERVER", "MAYBE"} & set(found)
    assert f"https://{found['KUBERNETES_SERVICE_HOST']}:{found['KUBERNETES_SERVICE_PORT']}" == cluster.url
    assert Path(found["COORDUI_SERVICEACCOUNT"]).is_relative_to(cluster.state)


def test_a_missing_configmap_is_waited_for(cluster: RunningCluster) -> None:
    source = {"configMapKeyRef": {"name": "coming", "key": "a"}}
    cluster.job("waits", "sh", "-c", "echo $A", container={"env": [{"name": "A", "valueFrom": source}]})
    expected = ("CreateContainerConfigError", 'configmap "coming" not found')
    until(lambda: waiting(pod_of(cluster, "waits")) == expected)
    name = pod_of(cluster, "waits")["metadata"]["name"]
    reply = pod_log(cluster, name)
    assert reply.code == 400
    assert reply.body["message"] == f'container "c" in pod "{name}" is waiting to start: CreateContainerConfigError'
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "coming"}, "data": {"b": "not yet"}}).ok()
    until(lambda: "couldn't find key a in ConfigMap default/coming" in str(waiting(pod_of(cluster, "waits"))))
    cluster.call("PATCH", f"{CONFIGMAPS}/coming", {"data": {"a": "here"}}, MERGE).ok()
    cluster.job_condition("waits", "Complete")
    assert log(cluster, "waits") == "here\n"
    assert reasons(cluster, pod_of(cluster, "waits")) == ["Scheduled", "Failed", "Failed", "Started"]


# -- volumes


def mounted(volume: Any, path: Path | str, script: str = "true", **mount: Any) -> Any:
    return sh(script, volumeMounts=[{"name": "v", "mountPath": str(path), **mount}]), [{"name": "v", **volume}]


def test_a_host_path_at_its_own_path(cluster: RunningCluster, tmp_path: Path) -> None:
    path = tmp_path / "made"
    volume = {"hostPath": {"path": str(path), "type": "DirectoryOrCreate"}}
    container, volumes = mounted(volume, path, "echo hi > file; pwd")
    make_pod(cluster, "host", container | {"workingDir": str(path)}, volumes=volumes)
    assert ended_pod(cluster, "host")["status"]["phase"] == "Succeeded"
    assert (path / "file").read_text() == "hi\n" and pod_log(cluster, "host").ok() == f"{path}\n"


def test_an_empty_dir_is_the_pods_own_and_goes_with_it(cluster: RunningCluster, tmp_path: Path) -> None:
    place = tmp_path / "scratch"
    container, volumes = mounted({"emptyDir": {}}, place, f"ls {place}; echo x > {place}/file; readlink {place}")
    for name in ("scratch-1", "scratch-2"):
        make_pod(cluster, name, container, volumes=volumes)
        assert ended_pod(cluster, name)["status"]["phase"] == "Succeeded"
        assert not place.is_symlink()
        own = Path(pod_log(cluster, name).ok().strip())
        assert (own / "file").exists()
        cluster.call("DELETE", f"{PODS}/{name}").ok()
        until(partial(_is_gone, own))


def _is_gone(path: Path) -> bool:
    return not path.exists()


def test_a_mount_path_is_given_back_whatever_it_is_called(tmp_path: Path) -> None:
    """A line break in it is refused; were it not, the link would still be taken away."""
    directory, path = tmp_path / "pods" / "uid", tmp_path / "a\nb"
    directory.mkdir(parents=True)
    mount = {"name": "v", "mountPath": str(path)}
    pod = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "c", "volumeMounts": [mount]}]}}
    store = Store(":memory:")
    volumes.prepare(pod, directory, store, {})
    assert path.is_symlink()
    volumes.release(directory)
    assert not path.is_symlink()
    (directory / "links").write_text('["half')
    volumes.release(directory)
    store.close()


def test_two_pods_at_one_mount_path_run_one_after_the_other(cluster: RunningCluster, tmp_path: Path) -> None:
    place, go = tmp_path / "one", tmp_path / "go"
    script = f"touch {place}/x; until test -e {go}; do sleep 0.01; done"
    container, volumes = mounted({"emptyDir": {}}, place, script)
    make_pod(cluster, "turn-1", container, volumes=volumes)
    until((place / "x").exists)
    second = make_pod(cluster, "turn-2", container, volumes=volumes)
    until(lambda: "FailedMount" in reasons(cluster, second))
    assert waiting(cluster.call("GET", f"{PODS}/turn-2").ok()) == ("ContainerCreating", "")
    go.touch()
    assert [ended_pod(cluster, f"turn-{index}")["status"]["phase"] for index in (1, 2)] == ["Succeeded"] * 2


def test_configmaps_secrets_and_fields_as_files(cluster: RunningCluster, tmp_path: Path) -> None:
    place = tmp_path / "all"
    sources = [
        {"configMap": {"name": "files", "items": [{"key": "a", "path": "sub/a.txt"}]}},
        {"secret": {"name": "files"}},
        {"downwardAPI": {"items": [{"path": "me", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    script = f"cd {place} && cat sub/a.txt s me && stat -c %a s"
    container, volumes = mounted({"projected": {"sources": sources, "defaultMode": 0o440}}, place, script)
    pod = make_pod(cluster, "files", container, volumes=volumes)
    until(lambda: "FailedMount" in reasons(cluster, pod))
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "files"}, "data": {"a": "A;", "b": "B;"}}).ok()
    cluster.call("POST", f"{CORE}/secrets", {"metadata": {"name": "files"}, "stringData": {"s": "S;"}}).ok()
    assert ended_pod(cluster, "files")["status"]["phase"] == "Succeeded"
    assert pod_log(cluster, "files").ok() == "A;S;files440\n"


@pytest.mark.parametrize(
    ("name", "volume", "mount", "words"),
    [
        ("elsewhere", {"hostPath": {"path": "/tmp"}}, "/data", "mountPath /data has to equal the host's path /tmp"),
        ("absent", {"hostPath": {"path": "/no/such"}}, "/no/such", "/no/such does not exist on this machine"),
        ("no-file", {"hostPath": {"path": "/tmp", "type": "File"}}, "/tmp", "/tmp is not a file"),
        ("nowhere", {"emptyDir": {}}, "/no/such", "cannot exist on this machine: there is no /no"),
        ("taken", {"emptyDir": {}}, "/usr", "mountPath /usr is something else on this machine"),
        ("nfs", {"nfs": {"server": "s", "path": "/"}}, "/data", "not nfs"),
    ],
)
def test_what_cannot_be_mounted_says_so(
    cluster: RunningCluster, name: str, volume: Any, mount: str, words: str
) -> None:
    container, volumes = mounted(volume, mount)
    message = failure_message(cluster, f"vol-{name}", container, volumes=volumes)
    assert words in message and 'container "c", volume "v"' in message


def failure_message(cluster: RunningCluster, name: str, container: Any, **pod: Any) -> str:
    """Of a Job that is not tried again: its own, its Pod's and its container's are the same."""
    cluster.job(name, container=container, pod=pod)
    job = cluster.job_condition(name, "Failed")
    assert conditions(job)[-1] == ("Failed", "CannotRun")
    (pod,) = cluster.pods_of(name)
    message = job["status"]["conditions"][-1]["message"]
    assert pod["status"]["message"] == terminated(pod)["message"] == message
    assert terminated(pod)["reason"] == "StartError" and terminated(pod)["exitCode"] == 128
    return str(message)


def test_what_cannot_run_says_so(cluster: RunningCluster) -> None:
    assert "no command" in failure_message(cluster, "nocommand", {})
    program = {"command": ["no-such-program"]}
    assert '"no-such-program" is no program on PATH' in failure_message(cluster, "noprogram", program)
    assert "no program on PATH" in log(cluster, "noprogram")
    assert "workingDir /no/such" in failure_message(cluster, "nodirectory", sh("true", workingDir="/no/such"))
    sidecar = {"name": "s", "image": "n", "restartPolicy": "Always", **sh("true")}
    assert 'container "s"' in failure_message(cluster, "sidecar", sh("true"), initContainers=[sidecar])


def test_a_relative_program_is_looked_for_where_the_container_runs(cluster: RunningCluster, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho here\n")
    os.chmod(program, 0o755)
    make_pod(cluster, "relative", {"command": ["./program"], "workingDir": str(tmp_path)})
    assert ended_pod(cluster, "relative")["status"]["phase"] == "Succeeded"
