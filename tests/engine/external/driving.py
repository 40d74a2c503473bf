"""Submits of elastic-blast on their leash, as a worker starts them, beside the embedded cluster."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from submits.cluster import Connection, pinned_kubeconfig
from submits.engine.external.capabilities import probe
from submits.engine.external.settings import External, Handed, read_handed
from submits.engine.leashed import LeashedSubmit, tail
from submits.engine.settings import Settings, write
from submits.gates.ports import Times
from tests.engine.story import BIN, Stage
from tests.world import REPOSITORY

HERE = Path(__file__).parent


def program(directory: Path, name: str, script: Path, *words: str) -> Path:
    """A command of this name that runs a script of ours."""
    path = directory / name
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{script}" {" ".join(words)} "$@"\n')
    path.chmod(0o755)
    return path


def fork(directory: Path) -> Path:
    return program(directory, "elastic-blast", HERE / "fork.py")


@dataclass
class Driver:
    """`external` is how the program is driven; `seen` what it sees beside that."""

    stage: Stage
    external: External
    seen: dict[str, str]

    def start(self, run_id: str, **changed: Any) -> LeashedSubmit:
        settings = Settings(work_url=self.stage.store.url, patience=5)
        one = LeashedSubmit(
            [str(BIN / "coordui-engine")],
            write(settings) + replace(self.external, **changed).section(),
            pinned_kubeconfig(Connection(str(self.stage.cluster.kubeconfig), "default")),
            {
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "PYTHONPATH": str(REPOSITORY),
                "SECRET_KEY": "ours alone",
                **self.seen,
            },
            store=self.stage.store,
            times=Times(),
            parent=self.stage.directory / "submits",
        )
        one.start(run_id, time.clock_gettime(time.CLOCK_BOOTTIME))
        return one

    def submit(self, run_id: str, **changed: Any) -> int:
        one = self.start(run_id, **changed)
        while (status := one.poll(1.0)) is None:
            one.feed(time.clock_gettime(time.CLOCK_BOOTTIME))
        return status

    def said(self, run_id: str) -> str:
        return tail(self.stage.store, run_id)

    def handed(self, run_id: str) -> Handed:
        found = read_handed(self.stage.store, run_id)
        assert found is not None
        return found

    def results(self, run_id: str) -> Path:
        return Path(self.handed(run_id).results.removeprefix("file://"))

    def program_saw(self, run_id: str) -> Any:
        return json.loads((self.results(run_id) / "seen.json").read_text())


def driven(stage: Stage, program: Path, results: Path, pass_on: dict[str, str]) -> Driver:
    able = probe(str(program), {"PATH": os.environ["PATH"]})
    results.mkdir(exist_ok=True)
    external = External(
        str(program), able.version, " ".join(sorted(able.flags)), "cli", "", f"file://{results}", str(results), "{key}",
        " ".join(pass_on), 30,
    )  # fmt: skip
    return Driver(stage, external, pass_on)
