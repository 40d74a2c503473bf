"""From a free slot to the next admission, with so many searches in line: ours, and an older door's polling beside it.

The ceiling is one. The one search that runs is ended, and the clock runs from before that is *sent* until the next
submit is started, after the last proof that the gate is held (S7). A submit is one request here, so that only the gates
are measured. Half of the waiters stand in line for one door of ours and half for another, each a process.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from submits.gates import naming
from tests.bench.cluster import ALONE, program
from tests.bench.measures import Measure
from tests.gates.processes.door import Log, Plan
from tests.gates.processes.site import Doors
from tests.gates.processes.witness import end_job
from tests.gates.v1 import POLL
from tests.onebox.cluster.fixtures import JOBS, LEASES, Client
from tests.world import REPOSITORY, until

WAITERS = (1, 5, 20, 50)
ROUNDS, OLDER_ROUNDS = 60, 10  # of so many the 99th percentile is the longest
SETTLE = 0.15  # seconds at most between a quiet line and the end of the search that runs; polling has all of a poll
GATE = f"{LEASES}/{naming.gate('default')}"
TICKETS = f"{LEASES}?labelSelector={naming.TICKETS.replace('/', '%2F')}"
LIVE = f"{JOBS}?labelSelector=elb-job-id&fieldSelector=status.successful%3D0"


@dataclass(frozen=True)
class Seen:
    """`delays`: milliseconds; the others are a mean per admission."""

    delays: list[float]
    requests: float
    overtakes: float

    def at(self, share: float) -> float:
        ordered = sorted(self.delays)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measures() -> Iterator[Measure]:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as folder:
        for waiters in WAITERS:
            place = Path(folder) / str(waiters)
            place.mkdir()
            ours, older = one_line(place / "ours", waiters, ours=True), one_line(place / "older", waiters, ours=False)
            what = f"slot free → admitted, {waiters:>2} in line"
            yield Measure(f"{what}, p50", ours.at(0.5), "ms", 50, f"{older.at(0.5):.0f} ms: v1, polling every 5 s")
            yield Measure(f"{what}, p99", ours.at(0.99), "ms", 300, f"{older.at(0.99):.0f} ms: v1")
            yield Measure(
                f"requests per admission, {waiters:>2} in line", ours.requests, "", 12, f"{older.requests:.0f}: v1"
            )
            beside = f"{older.overtakes:.1f}: v1"
            yield Measure(f"overtakes per admission, {waiters:>2} in line", ours.overtakes, "", 0, beside)


def one_line(folder: Path, waiters: int, *, ours: bool) -> Seen:
    folder.mkdir()
    with program(folder / "state", ALONE) as (_, client):
        client.job("plug", parallelism=0, labels={"app": "finalizer", "elb-job-id": "job-plug"})
        parties = ["dashboard", "openapi"][: min(2, waiters)] if ours else ["older"]
        shares = [waiters // len(parties) + (index < waiters % len(parties)) for index in range(len(parties))]
        plans = [plan(folder, party, share) for party, share in zip(parties, shares, strict=True)]
        with doors(plans, folder, ours=ours):
            tickets, settle, rounds = (waiters, SETTLE, ROUNDS) if ours else (0, POLL, OLDER_ROUNDS)
            freed = [free(client, tickets, settle) for _ in range(rounds)]
            until(lambda: len(said(plans, "started")) >= len(freed), 60)
            until(lambda: is_quiet(client, tickets), 30)
        return seen(plans, freed, waiters)


def plan(folder: Path, party: str, at_once: int) -> Plan:
    kubeconfig = str(folder / "state" / "kubeconfig")
    return Plan(kubeconfig, "default", party, str(folder), 10_000, at_once, 1, 1.0, [])


@contextmanager
def doors(plans: list[Plan], folder: Path, *, ours: bool) -> Iterator[None]:
    if ours:
        mother = Doors(folder / "said")
        try:
            pids = [mother.open(one) for one in plans]
            yield
        finally:
            mother.close(kill=pids)
        return
    words = [sys.executable, "-m", "tests.bench.gates.older", json.dumps(vars(plans[0]))]
    with subprocess.Popen(words, cwd=REPOSITORY) as process:
        try:
            time.sleep(7)  # until each has begun to poll
            yield
        finally:
            process.kill()


def is_quiet(client: Client, tickets: int) -> bool:
    """A search runs, nobody holds the gate, and so many stand in line again."""
    gate = client.call("GET", GATE)
    if gate.code == 200 and gate.body["spec"].get("holderIdentity"):
        return False
    return bool(live(client)) and len(client.call("GET", TICKETS).ok()["items"]) >= tickets


def live(client: Client) -> list[str]:
    return [job["metadata"]["name"] for job in client.call("GET", LIVE).ok()["items"]]


def free(client: Client, tickets: int, settle: float) -> float:
    """End the search that runs once all is quiet. When that was sent."""
    until(lambda: is_quiet(client, tickets), 60)
    time.sleep(random.uniform(SETTLE / 3, settle))
    (name,) = live(client)
    return until(lambda: end_job(client, name)) or 0.0


def said(plans: list[Plan], what: str) -> list[dict[str, Any]]:
    found = [line for one in plans for line in Log(one.log).lines() if line["what"] == what]
    return sorted(found, key=lambda line: float(line["at"]))


def seen(plans: list[Plan], freed: list[float], waiters: int) -> Seen:
    """The ceiling is one, so the n-th start belongs to the n-th end."""
    started = said(plans, "started")[: len(freed)]
    delays = [(line["at"] - at) * 1000 for line, at in zip(started, freed, strict=True)]
    assert min(delays) > 0, "a search was admitted beside another"
    orders = {line["run"]: line["order"] for line in said(plans, "ticket")}
    ended = [line for line in said(plans, "verdict") if line["outcome"] == "submitted"]
    if "sent" in ended[0]:
        sent = sum(max([line["sent"] for line in Log(one.log).lines() if "sent" in line], default=0) for one in plans)
        requests = (sent - waiters) / len(ended)  # who still stands in line has sent one
    else:
        requests = sum(line["requests"] for line in ended) / len(ended)
    return Seen(delays, requests, overtakes([orders[line["run"]] for line in started]) / len(started))


def overtakes(orders: list[int]) -> int:
    """Pairs of which the one that came later was admitted first."""
    return sum(later > order for index, order in enumerate(orders) for later in orders[:index])
