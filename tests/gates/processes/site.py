"""A cluster in a process of its own (or any other), doors in processes of their own, and everything they started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.gates.processes import slow_submit
from tests.gates.processes.door import Log, Plan
from tests.gates.processes.slow_submit import born
from tests.gates.processes.witness import Ender, Witness
from tests.onebox.cluster.remote import RemoteCluster, remote_cluster
from tests.world import REPOSITORY, processes_with, until


class Program:
    """The embedded cluster: killed, and started again on what it has kept."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.start()

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    def start(self) -> None:
        command = [sys.executable, "-m", "coordui.onebox.cluster", "--state", str(self.state), "--faults"]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("cluster ready at ")

    def kill(self) -> None:
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


class Doors:
    """Where doors come from; see `door`."""

    def __init__(self, said: Path) -> None:
        with said.open("ab") as errors:
            words = [sys.executable, "-m", "tests.gates.processes.door"]
            self.process = subprocess.Popen(
                words, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )

    def open(self, plan: Plan) -> int:
        """Its pid."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(vars(plan)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self, kill: Iterable[int] = ()) -> None:
        """Doors that are open stay open, but for these."""
        for pid in kill:
            os.kill(pid, signal.SIGKILL)
        self.process.communicate(timeout=10)


class Site:
    """One namespace for one test. Each door's plan may be changed before it is opened."""

    def __init__(self, kubeconfig: Path, doors: Doors, client: RemoteCluster, folder: Path) -> None:
        self.kubeconfig, self.doors, self.client, self.folder = kubeconfig, doors, client, folder
        self.journal_path = folder / "journal"
        self.pids: dict[str, int] = {}
        self.plans: dict[str, Plan] = {}
        self.witness = Witness(kubeconfig, client.namespace)
        self.ender = Ender(client, self.witness, lasts=0.3)

    # Doors ------------------------------------------------------------------------------------------------------------

    def plan(self, party: str, searches: int, *, factor: float, ceiling: int = 2, lasts: float = 0.2) -> Plan:
        submit = [sys.executable, "-I", "-S", slow_submit.__file__, str(self.journal_path), str(lasts)]
        # Killing a family takes as long as the machine needs, whatever the protocol's times are scaled to.
        return Plan(
            str(self.kubeconfig), self.client.namespace, party, str(self.folder), searches, min(2, searches),
            ceiling, factor, submit, {"kill": 5.0},
        )  # fmt: skip

    def open(self, plan: Plan) -> None:
        self.plans[plan.party] = plan
        self.start(plan.party)

    def start(self, party: str) -> None:
        self.pids[party] = self.doors.open(self.plans[party])

    def kill(self, party: str) -> float:
        """When, in seconds of the logs' clock."""
        at = self.signal(party, signal.SIGKILL)
        until(lambda: not born(self.pids[party]))
        return at

    def signal(self, party: str, number: signal.Signals) -> float:
        at = time.monotonic()
        os.kill(self.pids[party], number)
        return at

    def started_after(self, at: float) -> list[float]:
        """When submits were started since then."""
        return [line["at"] for line in self.logs("started") if line["at"] > at]

    def log(self, party: str, what: str) -> list[dict[str, Any]]:
        return [line for line in Log(self.plans[party].log).lines() if line["what"] == what]

    def logs(self, what: str) -> list[dict[str, Any]]:
        """Of all doors, in the order in which it was said."""
        found = [line for party in self.plans for line in self.log(party, what)]
        return sorted(found, key=lambda line: float(line["at"]))

    def in_line(self, party: str) -> None:
        until(lambda: self.log(party, "ticket"), 30)

    def submitted(self, party: str) -> set[str]:
        return {line["run"] for line in self.log(party, "verdict") if line["outcome"] == "submitted"}

    def all_submitted(self, within: float) -> None:
        def all_of_them() -> bool:
            return all(len(self.submitted(party)) >= plan.searches for party, plan in self.plans.items())

        until(all_of_them, within)

    # Submits ----------------------------------------------------------------------------------------------------------

    def journal(self, word: str) -> list[list[str]]:
        """Lines without their first word; a line that is being written is left for the next look."""
        text = self.journal_path.read_text() if self.journal_path.exists() else ""
        lines = [line.split() for line in text.split("\n")[:-1]]
        return [rest for first, *rest in lines if first == word]

    def another_start(self) -> None:
        before = len(self.journal("start"))
        until(lambda: len(self.journal("start")) > before, 30)

    def hold(self, run: str) -> Path:
        """While this file is there, the run's submit does not come to its end."""
        path = Path(f"{self.journal_path}.hold-{run}")
        path.touch()
        return path

    def submits_of(self, run: str, members: int = 3) -> list[int]:
        """The run's submit, once so many of its family have signed in: processes of the leash's, the leash not."""

        def family() -> list[int]:
            signed = [int(pid) for one, pid, _ in self.journal("start") + self.journal("child") if one == run]
            return signed if len(signed) >= members else []

        return until(family, 30)

    def below_leashes(self) -> list[int]:
        """Every leash and everything below one."""
        return processes_with("COORDUI_NOBODY", "", self.folder)

    def is_empty(self) -> bool:
        """Kills what is left. A leash may be starting its submit while it is looked for, so once is not enough."""
        left = self.below_leashes()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    def close(self) -> None:
        self.ender.stopping.set()
        for party, pid in self.pids.items():
            if born(pid):
                self.kill(party)
        self.witness.stopping.set()
        until(self.is_empty)
        if self.ender.is_alive():
            self.ender.join(10)


@contextmanager
def open_site(kubeconfig: Path, doors: Doors, folder: Path) -> Iterator[Site]:
    with remote_cluster(kubeconfig) as client:
        site = Site(kubeconfig, doors, client, folder)
        site.witness.start()
        site.ender.start()
        try:
            yield site
        finally:
            site.close()
