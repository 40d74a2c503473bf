"""Everything that `make up` starts, as real processes."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.onebox.running import Running
from tests.world import until

# What tells each process's command line from the others'.
COMMANDS = {
    "store": "--unixsocket",
    "cluster": "coordui.onebox.cluster",
    "worker": "worker@",
    "submitter": "submitter@",
    "gatekeeper": "manage.py\0gatekeeper",
    "web": "uvicorn",
}


def command_lines(running: Running) -> dict[int, str]:
    found = {}
    for pid in running.left():
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
        except OSError:
            continue
    return found


def mains(running: Running) -> dict[str, int]:
    """The main process of each part: the lowest pid, since a worker's children have its command line too."""
    found: dict[str, int] = {}
    for pid, line in sorted(command_lines(running).items()):
        for name, mark in COMMANDS.items():
            if (mark in line or (name == "store" and "valkey" in line)) and "leash.py" not in line:
                found.setdefault(name, pid)
    return found


def health(address: str) -> int:
    try:
        with urllib.request.urlopen(f"{address}healthz", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


@pytest.fixture
def whole(up: Callable[..., Running], tmp_path: Path) -> Running:
    running = up("--port", "0", "--state", str(tmp_path / "s"))
    running.says("all is ready", within=60)
    return running


def test_every_process_is_started_again_after_sigkill_and_none_survives_the_supervisor(whole: Running) -> None:
    address = whole.address()
    assert health(address) == 200
    assert "/signin/" in whole.says("/signin/")

    first = mains(whole)
    assert first.keys() == COMMANDS.keys()
    for pid in first.values():
        os.kill(pid, signal.SIGKILL)

    until(lambda: whole.output().count("all is ready") == 2, within=60)
    again = mains(whole)
    assert again.keys() == COMMANDS.keys()
    assert not set(again.values()) & set(first.values())
    assert health(address) == 200

    whole.process.kill()
    until(lambda: not whole.left(), within=15)
    assert health(address) == 0


def test_it_stops_in_order_within_its_grace(whole: Running) -> None:
    assert whole.stop(within=40) == 0
    assert whole.left() == []
    assert "could not be ended" not in whole.said
