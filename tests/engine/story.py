"""A search on the embedded cluster, from preparation to outcome, with the real programs."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search, read_search
from submits.blast.split import Rule
from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.transport import HttpTransport
from submits.engine import settings
from submits.engine.jobs import Names
from submits.engine.outcome import Outcome, read_outcome
from submits.engine.prepare import prepare
from submits.engine.settings import Settings
from submits.work import WorkStore, identity
from tests.onebox.cluster.fixtures import RunningCluster, until

BIN = Path(sys.executable).parent


def read(text: str, database: DatabaseFacts, **options: str) -> Search:
    search = read_search(text, program=None, database=database, options=options)
    assert isinstance(search, Search), search
    return search


def new_id() -> str:
    return f"job-{secrets.token_hex(16)}"


@dataclass
class Stage:
    cluster: RunningCluster
    store: WorkStore
    directory: Path
    ids: list[str] = field(default_factory=list)

    @cached_property
    def api(self) -> ApiCluster:
        return connect(Connection(str(self.cluster.kubeconfig), "default"))

    def prepared(self, text: str, database: DatabaseFacts, letters: int = 10**6, **options: str) -> str:
        run_id = new_id()
        prepare(self.store, read(text, database, **options), database, run_id, rule=Rule(letters))
        self.ids.append(run_id)
        return run_id

    def command(self, run_id: str, **limits: Any) -> tuple[list[str], dict[str, str]]:
        cfg = self.directory / f"{run_id}.ini"
        cfg.write_text(settings.write(Settings(work_url=self.store.url, **limits)))
        argv = [str(BIN / "coordui-engine"), "submit", "--cfg", str(cfg), "--idempotency-key", run_id]
        environment = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "COORDUI_SUBMIT_JOURNAL": str(self.directory / "journal"),
            **identity(self.store.url, os.environ),
        }
        return argv, environment

    def submit(self, run_id: str, **limits: Any) -> subprocess.CompletedProcess[str]:
        argv, environment = self.command(run_id, **limits)
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=30, check=False)

    def outcome(self, run_id: str, seconds: float = 90) -> Outcome:
        found: Outcome | None = until(lambda: read_outcome(self.store, run_id), seconds)
        assert found is not None
        return found

    def jobs(self, run_id: str, app: str = "finalizer,submit,blast") -> dict[str, dict[str, Any]]:
        items = self.api.list("jobs", labels=f"elb-job-id={run_id},app in ({app})").items
        return {item["metadata"]["name"]: item for item in items}

    def finalizer(self, run_id: str, condition: str, seconds: float = 60) -> Any:
        return self.cluster.job_condition(Names(run_id).finalizer, condition, seconds=seconds)

    def processes(self, *words: str) -> list[int]:
        """Living programs of ours whose command line holds all of these words, the leashes above them left out."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    argv = (entry / "cmdline").read_bytes().decode().split("\0")
                except OSError:
                    continue
                if set(words) <= set(argv) and "--" not in argv:
                    found.append(int(entry.name))
        return found

    def kill(self, *words: str) -> None:
        found = until(lambda: self.processes(*words))
        for pid in found:
            os.kill(pid, signal.SIGKILL)

    def clear(self) -> None:
        self.cluster.faults.clear()
        for run_id in self.ids:
            for name in self.jobs(run_id, "finalizer,submit,blast,read"):
                self.api.delete("jobs", name)
        # An idle connection of ours would keep the server waiting when it stops.
        transport = self.api.transport
        assert isinstance(transport, HttpTransport)
        transport.pool.clear()
