"""Death and return: nothing acknowledged is lost, nothing runs on, nothing runs twice at once."""

from __future__ import annotations

import concurrent.futures
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from coordui.onebox.cluster.program import serve
from coordui.onebox.cluster.runner.leftovers import CONTAINER_MARK, POD_MARK, marked
from coordui.onebox.cluster.runner.logfile import log_file
from coordui.onebox.cluster.server import Settings
from coordui.onebox.cluster.storage.store import Store
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, PODS, Client, RunningCluster, running_cluster, until
from tests.onebox.cluster.looking import (
    alive,
    conditions,
    ended_pod,
    make_pod,
    pod_of,
    remove_job,
    sh,
    terminated,
    waiting,
)
from tests.world import SCALE


class Program(Client):
    """The real program, in a process of its own."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls, state: Path, *words: str) -> Program:
        argv = [sys.executable, "-m", "coordui.onebox.cluster", "--state", str(state), *words]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("cluster ready at "), line + process.stdout.read()
        place = state / "cluster"
        program = cls(line.split()[3].rstrip(";"), (place / "token").read_text().strip(), place / "ca.crt")
        program.process = process
        return program

    def end(self, sig: signal.Signals) -> int:
        assert self.process.stdout is not None
        self.process.send_signal(sig)
        code = self.process.wait(15)
        self.process.stdout.close()
        return code


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state"


@contextmanager
def program(state: Path, *words: str) -> Iterator[Program]:
    running = Program.start(state, *words)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGKILL)


def beats(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def uids(cluster: Client, job: str) -> list[str]:
    return [pod["metadata"]["uid"] for pod in cluster.pods_of(job)]


def write_until_it_dies(cluster: Client, writer: int, generation: int) -> list[str]:
    """Names of the ConfigMaps whose creation was acknowledged."""
    acknowledged = []
    for index in range(100_000):
        name = f"w{generation}-{writer}-{index}"
        try:
            if cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name}}, timeout=5).code == 201:
                acknowledged.append(name)
        except (OSError, http.client.HTTPException):
            break
    return acknowledged


def has_more_than(cluster: Client, count: int) -> bool:
    metadata = cluster.call("GET", f"{CONFIGMAPS}?limit=1").ok()["metadata"]
    return bool(metadata.get("remainingItemCount", 0) > count)


def test_three_kills_under_eight_writers(state: Path) -> None:
    acknowledged: list[str] = []
    for generation in range(3):
        with program(state, "--no-jobs") as cluster, concurrent.futures.ThreadPoolExecutor(8) as pool:
            writers = [pool.submit(write_until_it_dies, cluster, writer, generation) for writer in range(8)]
            until(partial(has_more_than, cluster, 60 * (generation + 1)))
            cluster.end(signal.SIGKILL)
            acknowledged += [name for writer in writers for name in writer.result(20)]
    with program(state, "--no-jobs") as cluster:
        there = {item["metadata"]["name"] for item in cluster.call("GET", CONFIGMAPS).ok()["items"]}
    assert len(acknowledged) > 100
    assert set(acknowledged) <= there


def test_a_running_job_runs_on_after_a_restart(state: Path, tmp_path: Path) -> None:
    """Its process goes with the server, whether that is killed or told to end; a new Pod takes its place each time, and
    no failure is counted."""
    lines, go = tmp_path / "lines", tmp_path / "go"
    script = f"echo start >> {lines}; trap 'exit 0' TERM; until test -e {go}; do sleep 0.02; done; echo end >> {lines}"
    gone: list[str] = []
    for sig, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)):
        with program(state) as cluster:
            if not gone:
                address = cluster.url
                cluster.job("on", "sh", "-c", script, backoffLimit=0)
            assert cluster.url == address
            until(partial(has_lines, lines, len(gone) + 1))
            (uid,) = set(uids(cluster, "on")) - set(gone)
            assert cluster.end(sig) == code
            until(partial(none_marked, uid))
            gone.append(uid)
    with program(state) as cluster:
        until(partial(has_lines, lines, 3))
        assert cluster.call("GET", f"{JOBS}/on").ok()["status"].get("failed", 0) == 0
        go.touch()
        job = cluster.job_condition("on", "Complete", "Failed")
        assert job["status"]["succeeded"] == 1 and job["status"].get("failed", 0) == 0
        for pod in cluster.pods_of("on"):
            if pod["metadata"]["uid"] in gone:
                assert pod["status"]["phase"] == "Failed" and pod["status"]["reason"] == "Terminated"
    assert beats(lines) == ["start", "start", "start", "end"]


def is_waiting(cluster: Client, name: str) -> bool:
    return bool(waiting(cluster.call("GET", f"{PODS}/{name}").ok()))


def none_marked(uid: str) -> bool:
    return not marked(POD_MARK, uid)


def has_lines(path: Path, count: int) -> bool:
    return len(beats(path)) == count


def test_no_process_of_the_last_run_is_left_when_a_job_starts_again(state: Path, tmp_path: Path) -> None:
    """Even if its leash was stopped, and could kill nobody when its server died."""
    pids = tmp_path / "pids"
    with program(state) as cluster:
        cluster.job("twice", "sh", "-c", f"echo $$$$ >> {pids}; exec sleep 63.1")
        until(lambda: len(beats(pids)) == 1)
        (uid,) = uids(cluster, "twice")
        command = int(beats(pids)[0])
        (leash,) = set(marked(POD_MARK, uid)) - {command}
        os.kill(leash, signal.SIGSTOP)
        cluster.end(signal.SIGKILL)
    with program(state) as cluster:
        until(lambda: len(beats(pids)) == 2)
        assert not marked(POD_MARK, uid)


def test_nothing_lives_on_even_if_the_server_never_starts_again(state: Path, tmp_path: Path) -> None:
    """Nor what has gone into a session of its own and emptied its environment."""
    place = tmp_path / "scratch"
    script = "env -i setsid sleep 63.3 & exec sleep 63.4"
    with program(state) as cluster:
        mount = {"volumeMounts": [{"name": "v", "mountPath": str(place)}]}
        cluster.job("away", "sh", "-c", script, container=mount, pod={"volumes": [{"name": "v", "emptyDir": {}}]})
        until(lambda: alive("sleep", "63.3") and alive("sleep", "63.4") and place.is_symlink())
        cluster.end(signal.SIGKILL)
        until(lambda: not alive("sleep", "63.3") and not alive("sleep", "63.4"))
    # Nothing started again, so the way to its scratch directory is still there; a start takes it away.
    assert place.is_symlink()
    with program(state) as cluster:
        remove_job(cluster, "away")
        until(lambda: cluster.pods_of("away") == [])
        assert not place.is_symlink()


def test_kills_at_any_moment(state: Path, tmp_path: Path) -> None:
    """Jobs go on over many deaths of the server: never two of one at once, each counted once, no failure among them."""
    script = "exec 9> $0.lock; flock -n 9 || echo twice >> $0; echo run >> $0; sleep 0.2"
    names = [f"any-{index}" for index in range(4 * SCALE)]
    for death in range(2 * SCALE):
        with program(state) as cluster:
            if not death:
                for name in names:
                    cluster.job(name, "sh", "-c", script, str(tmp_path / name), backoffLimit=0)
            time.sleep(0.03 + 0.07 * (death % 3))
            cluster.end(signal.SIGKILL)
    with program(state) as cluster:
        for name in names:
            status = cluster.job_condition(name, "Complete", "Failed")["status"]
            assert status["succeeded"] == 1 and status.get("failed", 0) == 0
            runs = beats(tmp_path / name)
            assert "twice" not in runs and 1 <= len(runs) <= len(cluster.pods_of(name))


def test_what_ended_while_nobody_looked_is_not_run_again(state: Path, tmp_path: Path) -> None:
    """The server is stopped, the commands end by themselves, and then the server is killed."""
    go, codes = tmp_path / "go", {"good": 0, "bad": 3}
    with program(state) as cluster:
        for name, code in codes.items():
            script = f"echo run >> {tmp_path}/{name}; until test -e {go}; do sleep 0.02; done; exit {code}"
            cluster.job(name, "sh", "-c", script, backoffLimit=0)
        until(lambda: all(has_lines(tmp_path / name, 1) for name in codes))
        (good,), (bad,) = uids(cluster, "good"), uids(cluster, "bad")
        cluster.process.send_signal(signal.SIGSTOP)
        go.touch()
        until(lambda: not marked(POD_MARK, good) + marked(POD_MARK, bad))
        cluster.end(signal.SIGKILL)
    with program(state) as cluster:
        ends = {name: conditions(cluster.job_condition(name, "Complete", "Failed"))[-1] for name in codes}
        assert ends == {"good": ("Complete", "CompletionsReached"), "bad": ("Failed", "BackoffLimitExceeded")}
        assert {name: terminated(pod_of(cluster, name))["exitCode"] for name in codes} == codes
    assert all(has_lines(tmp_path / name, 1) for name in codes)


def test_what_may_have_begun_is_not_begun_again(state: Path) -> None:
    """A server that died between starting a process and saying so leaves a Pod that is Pending and has a log."""
    waits_for = {"envFrom": [{"configMapRef": {"name": "coming"}}]}
    with running_cluster(state) as cluster:
        for name in ("begun", "new"):
            make_pod(cluster, name, sh("true", **waits_for))
            until(partial(is_waiting, cluster, name))
        uid = cluster.call("GET", f"{PODS}/begun").ok()["metadata"]["uid"]
    log = log_file(state / "cluster" / "pods" / uid, "c", 0)
    log.parent.mkdir(exist_ok=True)
    log.touch()
    with running_cluster(state) as cluster:
        cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "coming"}}).ok()
        status = ended_pod(cluster, "begun")["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Terminated")
        assert ended_pod(cluster, "new")["status"]["phase"] == "Succeeded"


def test_power_cuts_are_survived_on_demand(tmp_path: Path) -> None:
    """2 is FULL: a commit waits for the disk. 1 is NORMAL: it survives the death of the process."""
    for durable, expected in ((True, 2), (False, 1)):
        store = Store(tmp_path / str(durable), durable=durable)
        assert store._db.execute("PRAGMA synchronous").fetchone()[0] == expected
        store.close()


def test_a_killed_leash_leaves_nothing(cluster: RunningCluster, tmp_path: Path) -> None:
    """Of its own container: the one beside it goes on."""
    both, go = tmp_path / "both", tmp_path / "go"
    talks = f"echo x >> {both}; until test -e {go}; do sleep 0.02; done"
    make_pod(cluster, "leashless", sh(f"sleep 63.2 & echo x >> {both}; wait"), sh(talks))
    until(partial(has_lines, both, 2))
    uid = cluster.call("GET", f"{PODS}/leashless").ok()["metadata"]["uid"]
    for pid in marked(CONTAINER_MARK, f"{uid}/c"):
        if b"leash.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    until(lambda: not marked(CONTAINER_MARK, f"{uid}/c"))
    go.touch()
    codes = [
        item["state"]["terminated"]["exitCode"]
        for item in ended_pod(cluster, "leashless")["status"]["containerStatuses"]
    ]
    assert codes == [137, 0]


def test_a_second_server_on_the_same_state_is_refused(state: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with running_cluster(state) as first:
        port = int(first.url.rpartition(":")[2])
        assert serve(Settings(state), said.append) == 1 and "already runs on" in said[-1]
        assert serve(Settings(tmp_path / "other", port), said.append) == 1
        assert f"port {port} of 127.0.0.1 is taken" in said[-1]
        assert serve(Settings(tmp_path / "third", manifests=(tmp_path / "none",)), said.append) == 1
        assert f"{tmp_path}/none cannot be applied" in said[-1]
        assert first.call("GET", CONFIGMAPS).code == 200


def test_the_management_command_is_the_same_program(state: Path) -> None:
    """And SIGINT ends it even when it was inherited as ignored."""
    root = Path(__file__).parents[3]
    argv = [sys.executable, str(root / "manage.py"), "cluster", "--state", str(state), "--no-jobs"]
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    finally:
        signal.signal(signal.SIGINT, old)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("cluster ready at https://127.0.0.1:")
        assert (state / "kubeconfig").exists()
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait(15)
        process.stdout.close()
