"""The submit as a real process on its leash: what it sees, how its end is told, and that nothing of it goes on."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from submits.engine.leashed import LeashedSubmit, tail, was_killed
from submits.gates.ports import KILLED, Times
from submits.work import WorkStore
from tests.world import until

RUN = "job-" + "a" * 32


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def submit(tmp_path: Path, script: str) -> LeashedSubmit:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return LeashedSubmit(
        [str(program)],
        "[cluster]\n",
        json.dumps({"current-context": "pinned"}),
        {"PATH": "/usr/bin:/bin"},
        store=WorkStore(str(tmp_path / "work")),
        times=Times().scaled(0.05),
        parent=tmp_path / "submits",
    )


def ended(one: LeashedSubmit, within: float = 10) -> int:
    end = time.monotonic() + within
    while (code := one.poll(0.1)) is None:
        assert time.monotonic() < end
    return code


def test_it_is_called_as_elastic_blast_is_in_a_private_directory_that_goes(tmp_path: Path) -> None:
    one = submit(tmp_path, f'echo "$@"; cat "$3" "$KUBECONFIG"; pwd; env >{tmp_path}/env; exit 5')
    one.start(RUN, boot())
    directory = one.directory
    assert directory is not None
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert ended(one) == 5
    said = tail(one.store, RUN)
    assert f"submit --cfg {directory}/submit.ini --idempotency-key {RUN}" in said
    assert "[cluster]" in said
    assert '"current-context": "pinned"' in said
    assert not directory.exists()
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names <= {"PATH", "KUBECONFIG", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE", "_"}


@pytest.mark.parametrize(
    ("code", "killed"), [(0, False), (7, False), (124, True), (-9, True), (137, True), (255, False)]
)
def test_an_end_by_a_signal_is_told_from_an_end_of_its_own(code: int, killed: bool) -> None:
    assert was_killed(code) is killed


def test_a_command_that_was_killed_was_killed(tmp_path: Path) -> None:
    one = submit(tmp_path, "kill -9 $$")
    one.start(RUN, boot())
    assert ended(one) == KILLED


def test_silence_kills_it_and_its_children(tmp_path: Path) -> None:
    one = submit(tmp_path, f"(sleep 301; echo >{tmp_path}/late) & echo $! >{tmp_path}/pid; sleep 301")
    one.start(RUN, boot())
    pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    assert ended(one) == KILLED  # after 2 s, the scaled leash
    assert not Path(f"/proc/{pid}").exists()


def test_a_kill_waits_until_nothing_is_left(tmp_path: Path) -> None:
    one = submit(tmp_path, f"setsid sleep 302 & echo $! >{tmp_path}/pid; sleep 302")
    one.start(RUN, boot())
    pid = until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
    one.kill()
    assert not Path(f"/proc/{pid}").exists()


def test_it_is_not_started_on_a_heartbeat_that_is_too_old(tmp_path: Path) -> None:
    one = submit(tmp_path, f"echo >{tmp_path}/up")
    one.start(RUN, boot() - 3)
    assert ended(one) == KILLED
    assert not (tmp_path / "up").exists()
