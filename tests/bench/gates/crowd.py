"""One admission in a namespace of 20,000 finished Jobs, and the memory of who does it: a process that only submits, as
a Celery worker's is, and a door with its line and its watches."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.bench.cluster import ALONE, JOBS_KEPT, fill, idle, job, program
from tests.bench.gates.slot import plan, said
from tests.bench.measures import Measure, resident
from tests.gates.processes.site import Doors
from tests.onebox.cluster.fixtures import JOBS
from tests.world import REPOSITORY, until


def measures() -> Iterator[Measure]:
    among = f"among {JOBS_KEPT:,} finished Jobs"
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        place = Path(folder)
        state = place / "state"
        with program(state, ALONE) as (_, client):
            made = client.call("POST", JOBS, job("pattern")).ok()
            client.call("DELETE", f"{JOBS}/pattern?propagationPolicy=Background").ok()
        fill(state / "cluster" / "cluster.sqlite3", made)
        with program(state, ALONE) as (server, client):
            until(lambda: idle(server.pid), 300)  # at its start the Job controller looks at every Job
            client.call("GET", f"{JOBS}?limit=1").ok()
            words = [sys.executable, "-m", "tests.bench.gates.alone", str(state / "kubeconfig")]
            told = json.loads(subprocess.check_output(words, cwd=REPOSITORY, timeout=120))
            assert told["outcome"] == "submitted"
            yield Measure(f"an admission {among}", told["seconds"], "s", 1)
            beside = f"{told['before']:.0f} MB before it began"
            yield Measure(f"its process's memory {among}", told["after"], "MB", 100, beside)
            mother = Doors(place / "said")
            one = replace(plan(place, "dashboard", 1), searches=1, ceiling=20)
            pid = mother.open(one)
            try:
                until(lambda: said([one], "verdict"), 120)
                begun, ended = (said([one], what)[-1]["at"] for what in ("trying", "verdict"))
                yield Measure(f"the same by a door with its line {among}", ended - begun, "s", 1)
                yield Measure(f"its process's memory {among}", resident(pid), "MB", 100)
            finally:
                mother.close(kill=[pid])
