from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.engine import cli
from submits.engine.errors import EngineError, Exit, Interrupted, status_of
from submits.gates.ports import ClusterError, Conflict, Forbidden, Throttled, Unanswered
from submits.states import Reason
from submits.work import Missing, WorkError
from tests.engine.story import BIN, Stage, new_id


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EngineError(Exit.BLASTDB, ""), 2),
        (Forbidden("", Reason.GATE_FORBIDDEN), 6),
        (Forbidden("", Reason.POLICY_DENIED), 6),
        (Forbidden("", Reason.QUOTA_FULL), 10),
        (Throttled("", 1), 10),
        (Unanswered(""), 10),
        (Conflict(""), 8),
        (ClusterError(""), 8),
        (Missing(""), 1),
        (WorkError(""), 7),
        (OSError(""), 7),
        (Interrupted(), 9),
        (ValueError(""), 255),
    ],
)
def test_every_error_has_its_exit_status(error: Exception, status: int) -> None:
    assert status_of(error) == status


def engine(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    argv = [str(BIN / "coordui-engine"), *words]
    known = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(argv, env=known, capture_output=True, text=True, timeout=30, check=False)


def test_bad_input_is_one_line_and_status_1(tmp_path: Path) -> None:
    done = engine("submit", "--cfg", str(tmp_path / "none.ini"), "--idempotency-key", "job-1; rm -rf /")
    assert done.returncode == 1 and done.stderr.startswith("coordui-engine: 'job-1; rm -rf /' is not a run id")
    done = engine("submit", "--cfg", str(tmp_path / "none.ini"), "--idempotency-key", new_id())
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "cannot be read" in done.stderr
    done = engine("batch", "--work", str(tmp_path), "--run", new_id(), "--batch", "1")
    assert done.returncode == 1 and "plan.json" in done.stderr


def test_no_cluster_is_a_missing_dependency(tmp_path: Path) -> None:
    cfg = tmp_path / "cfg.ini"
    cfg.write_text("[work]\nurl = /nowhere\n")
    for environment in ({}, {"KUBECONFIG": str(tmp_path / "none")}):
        done = engine("submit", "--cfg", str(cfg), "--idempotency-key", new_id(), **environment)
        assert done.returncode == Exit.DEPENDENCY, done.stderr


def test_a_signal_ends_the_work_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        cli._on_signals(cli._interrupt)
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def test_a_run_that_was_not_prepared_creates_nothing(stage: Stage) -> None:
    run_id = new_id()
    done = stage.submit(run_id)
    assert done.returncode == 1 and "was not prepared" in done.stderr
    assert stage.jobs(run_id) == {}


def test_a_missing_namespace_is_the_clusters_fault(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"])
    done = stage.submit(run_id, namespace="nowhere")
    assert done.returncode == Exit.CLUSTER and "nowhere" in done.stderr
    lines = (stage.directory / "journal").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["start", run_id], ["end", run_id]]
