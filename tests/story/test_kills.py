"""SIGKILL of each process in turn in the middle of a search: it still finishes, and exactly once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest

from submits.gates import naming
from tests.onebox.running import Running
from tests.story.audit import audited, overlaps
from tests.story.installation import command_lines, completed_events, long_query, parent_of, start
from tests.story.visitor import Visitor
from tests.world import SCALE, until

# Words of a command line, and whether the process is the first of its kind or a child of it.
PARTS = {
    "store": ("valkey", "main"),
    "cluster": ("coordui.onebox.cluster", "main"),
    "worker": ("worker@", "main"),
    "submitter": ("submitter@", "main"),
    "submitter's child": ("submitter@", "child"),
    "gatekeeper": ("manage.py\0gatekeeper", "main"),
    "web": ("uvicorn", "main"),
}
WHILE_SUBMITTING = {
    **{name: PARTS[name] for name in ("cluster", "submitter", "submitter's child", "gatekeeper")},
    "submit": ("slow-engine\0submit", "main"),
    "leash of the submit": ("slow-engine\0submit", "leash"),
}
WHILE_RUNNING = {
    **PARTS,
    "finalizer": ("coordui-engine\0finalize", "main"),
    "batch": ("coordui-engine\0batch", "main"),
    "blast": ("blastp\0", "main"),
}


def find(running: Running, words: str, which: str) -> int | None:
    lines = {pid: line for pid, line in sorted(command_lines(running).items()) if words in line}
    leashes = {pid for pid, line in lines.items() if "leash.py" in line}
    if which == "leash":
        return next(iter(leashes), None)
    others = [pid for pid in lines if pid not in leashes]
    try:
        mains = [pid for pid in others if parent_of(pid) not in others]
        children = [pid for pid in others if parent_of(pid) in others]
    except OSError:
        return None
    return next(iter(mains if which == "main" else children), None)


def kill(running: Running, words: str, which: str) -> None:
    os.kill(until(lambda: find(running, words, which) or 0, 30), signal.SIGKILL)


@pytest.mark.timeout(500 * SCALE)
@pytest.mark.parametrize("round_", range(SCALE))
def test_each_process_is_killed_in_the_middle_of_a_search(
    up: Callable[..., Running], note: Callable[[str, object], None], tmp_path: Path, round_: int
) -> None:
    state, journal = tmp_path / "s", tmp_path / "journal"
    environment = {
        "COORDUI_SUBMIT_JOURNAL": str(journal),
        "COORDUI_PROTOCOL_SCALE": "0.1",
        "COORDUI_ENGINE": str(slow_engine(tmp_path)),
    }
    running, visitor = start(up, state, **environment)
    keys: dict[str, str] = {}
    with audited(state / "kubeconfig") as audit:
        # Two kills a search: one while it is submitted, one while it runs.
        for first, second in zip_longest(WHILE_SUBMITTING, WHILE_RUNNING):
            begun = time.monotonic()
            keys[f"{first}, then {second}"] = throw_in_and_kill(running, visitor, first, second)
            note(f"killed: {first or '-'}, then {second}", f"completed once, {time.monotonic() - begun:.0f} s")
    done = completed_events(state)
    assert {what: done[key] for what, key in keys.items()} == dict.fromkeys(keys, 1)
    assert audit.gaps == []
    assert audit.most_live <= 3
    runs = {naming.run_id(key) for key in keys.values()}
    assert {run: len(audit.finalizers.get(run, ())) for run in runs} == dict.fromkeys(runs, 1)
    assert overlaps(journal) == []
    assert running.stop(within=60) == 0
    assert running.left() == []


def slow_engine(directory: Path) -> Path:
    """The engine, a second later: time enough to find a submit and kill it."""
    script = directory / "slow-engine"
    script.write_text('#!/bin/sh\nsleep 1\nexec coordui-engine "$@"\n')
    script.chmod(0o755)
    return script


def throw_in_and_kill(running: Running, visitor: Visitor, first: str | None, second: str) -> str:
    key = visitor.search(long_query(), "globins", evalue="1000", max_target_seqs="500")
    if first is not None:
        until(lambda: find(running, "slow-engine\0submit", "main"), 30)
        kill(running, *WHILE_SUBMITTING[first])
    visitor.reaches(key, "running", within=90)
    until(lambda: find(running, "blastp\0", "main"), 30)
    kill(running, *WHILE_RUNNING[second])
    ended = visitor.reaches(key, "completed", "failed", within=90)
    assert ended["status"] == "completed", (first, second, ended)
    return key
