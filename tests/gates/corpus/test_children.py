"""What a holder has started, as real processes: it ends with its holder, and before anything of it is given back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.ports import KILLED
from submits.gates.verdicts import Outcome
from tests.gates.corpus.holder import leashed
from tests.gates.corpus.seeing import mend_everything, stand_in_line
from tests.gates.wire import Calm, later, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import REPOSITORY, until

# A shell, a stubborn child in a session of its own, and a grandchild whose parent has ended.
FAMILY = """#!/bin/sh
echo $$ >>{0}/pids
setsid sh -c 'trap "" TERM HUP; echo $$ >>{0}/pids; sleep 301; sleep 301' &
(sh -c 'echo $$ >>{0}/pids; exec sleep 301' &)
sleep 301
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    engine = tmp_path / "engine"
    engine.write_text(FAMILY.format(tmp_path))
    engine.chmod(0o755)
    return tmp_path


def family(place: Path) -> list[int]:
    written = place / "pids"
    until(lambda: written.exists() and len(written.read_text().split()) == 3, 20)
    return [int(word) for word in written.read_text().split()]


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]


@pytest.fixture
def worker(server: RunningCluster, place: Path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.gates.corpus.holder", str(server.kubeconfig), str(place)]
        started.append(subprocess.Popen(command, cwd=REPOSITORY))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_task_killed_at_its_hard_limit_takes_its_child_with_it_and_its_search_goes_on(
    cluster: ApiCluster, server: RunningCluster, place: Path, worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """SIGKILL: no `finally` of it runs. Its ticket stands, its gate is taken over, and it is submitted once."""
    one = Calm(cluster)
    stand_in_line(one)
    process = worker()
    children = family(place)
    assert living(children) == children
    process.kill()
    process.wait()
    until(lambda: not living(children))
    assert one.admit().outcome is Outcome.SHUT
    assert one.has_ticket()
    later(server, 66)
    assert one.admit().outcome is Outcome.BACK  # what the dead submit sent may be on its way still
    mend_everything(one)
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.jobs() == [naming.finalizer(one.what.run_id)]


def test_a_supervisor_that_is_stopped_does_not_keep_its_child_alive(
    cluster: ApiCluster, place: Path, worker: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """SIGSTOP: it kills nobody itself. Its leash does, long before anybody may take the gate over."""
    process = worker()
    children = family(place)
    os.kill(process.pid, signal.SIGSTOP)
    until(lambda: not living(children), 15)
    assert Calm(cluster).admit().outcome is Outcome.SHUT


def test_a_place_is_given_back_only_when_the_last_of_its_processes_is_gone(
    cluster: ApiCluster, server: RunningCluster, place: Path
) -> None:
    """Declared dead is not dead: at the moment its reservation is deleted, nothing of the submit is left."""
    watched, wire = wired(server)
    mine = Calm(watched, beat=0.2)
    children: list[int] = []
    alive_at_release: list[list[int]] = []

    def steal() -> None:
        children.extend(family(place))
        cluster.delete("leases", naming.gate("default"))

    wire.before("PATCH leases", steal, skip=1)  # the first renewal once the submit runs
    wire.before("DELETE jobs/elb-resv", lambda: alive_at_release.append(living(children)))
    verdict = mine.admit(leashed(place))  # type: ignore[arg-type]  # the port, and no stand-in for it
    assert (verdict.outcome, verdict.exit_code) == (Outcome.NOTHING, KILLED)
    assert len(children) == 3
    assert alive_at_release == [[]]
