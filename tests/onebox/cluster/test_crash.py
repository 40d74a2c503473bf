"""Death and return: nothing acknowledged is lost, nothing runs on, nothing runs twice at once."""

from __future__ import annotations

import concurrent.futures
import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from coordui.onebox.cluster.runner.leftovers import POD_MARK, marked
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, Client, until


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


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_a_running_job_runs_on_after_a_restart(state: Path, tmp_path: Path, sig: signal.Signals) -> None:
    """Its process goes with the server; a new Pod takes its place, and no failure is counted."""
    lines, go = tmp_path / "lines", tmp_path / "go"
    script = f"echo start >> {lines}; trap 'exit 0' TERM; until test -e {go}; do sleep 0.02; done; echo end >> {lines}"
    with program(state) as cluster:
        cluster.job("on", "sh", "-c", script, backoffLimit=0)
        until(lambda: beats(lines) == ["start"])
        (first,) = uids(cluster, "on")
        address = cluster.url
        code = cluster.end(sig)
        assert code == (0 if sig == signal.SIGTERM else -sig)
        until(lambda: not marked(POD_MARK, first))
    with program(state) as cluster:
        assert cluster.url == address
        until(lambda: beats(lines) == ["start", "start"])
        job = cluster.call("GET", f"{JOBS}/on").ok()
        assert job["status"].get("failed", 0) == 0
        go.touch()
        job = cluster.job_condition("on", "Complete", "Failed")
        assert job["status"]["succeeded"] == 1 and job["status"].get("failed", 0) == 0
        old = next(pod for pod in cluster.pods_of("on") if pod["metadata"]["uid"] == first)
        assert old["status"]["phase"] == "Failed" and old["status"]["reason"] == "Terminated"
    assert beats(lines) == ["start", "start", "end"]


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


def test_a_killed_leash_leaves_nothing(state: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with program(state) as cluster:
        cluster.job("leashless", "sh", "-c", f"sleep 63.2 & echo $! >> {pids}; wait", backoffLimit=0)
        until(lambda: len(beats(pids)) == 1)
        (uid,) = uids(cluster, "leashless")
        for pid in marked(POD_MARK, uid):
            if b"leash.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
        cluster.job_condition("leashless", "Failed")
        until(lambda: not marked(POD_MARK, uid))


def test_sigint_too_even_when_it_was_inherited_as_ignored(state: Path) -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with program(state) as cluster:
            assert cluster.end(signal.SIGINT) == 0
    finally:
        signal.signal(signal.SIGINT, old)


def test_a_second_server_on_the_same_state_is_refused(state: Path) -> None:
    with program(state) as first:
        argv = [sys.executable, "-m", "coordui.onebox.cluster", "--state"]
        second = subprocess.run([*argv, str(state)], capture_output=True, text=True, timeout=20, check=False)
        assert second.returncode == 1 and "already runs on" in second.stdout
        port = first.url.rpartition(":")[2]
        words = [*argv, str(state.parent / "other"), "--port", port]
        taken = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
        assert taken.returncode == 1 and f"port {port} of 127.0.0.1 is taken" in taken.stdout
        assert first.call("GET", CONFIGMAPS).code == 200


def test_the_management_command_is_the_same_program(state: Path) -> None:
    root = Path(__file__).parents[3]
    argv = [sys.executable, str(root / "manage.py"), "cluster", "--state", str(state), "--no-jobs"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("cluster ready at https://127.0.0.1:")
        assert (state / "kubeconfig").exists()
        process.terminate()
        assert process.wait(15) == 0
    finally:
        process.kill()
        process.wait(15)
        process.stdout.close()
