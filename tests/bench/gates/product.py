"""From a free slot to the next admission through the whole product: web, gatekeeper, Celery and real searches.

The ceiling is one and every search waits in line from the start. A witness of its own reads the watches: a slot is free
when nothing of the run before is alive any more; the next is admitted with the second write of its hold (S7).
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from submits.cluster import Connection, connect
from submits.gates import naming
from tests.bench.gates.slot import Seen
from tests.bench.measures import Measure
from tests.onebox.running import Running
from tests.story.audit import is_ended
from tests.story.installation import signin_address
from tests.story.visitor import Visitor

SEARCHES = 25
QUERY = ">q\nMVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLG\n"


class Reader(threading.Thread):
    """`freed`: when nothing was alive any more; `admitted`: when a hold was written for the second time."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(daemon=True)
        self.cluster = connect(Connection(str(kubeconfig), "default"))
        self.freed: list[float] = []
        self.admitted: list[float] = []
        self.alive: set[str] = set()
        self.holds: dict[str, int] = {}

    def run(self) -> None:
        threading.Thread(target=self.follow_gate, daemon=True).start()
        version = self.cluster.list("jobs").version
        for change in self.cluster.watch("jobs", version, naming.COUNTED, seconds=3600):
            job, before = change.object, bool(self.alive)
            if "coordui/role" in job["metadata"].get("labels", {}):
                continue  # a marker is no search
            if change.type == "DELETED" or is_ended(job):
                self.alive.discard(job["metadata"]["name"])
            else:
                self.alive.add(job["metadata"]["name"])
            if before and not self.alive:
                self.freed.append(time.monotonic())

    def follow_gate(self) -> None:
        gate = f"metadata.name={naming.gate('default')}"
        version = self.cluster.list("leases", fields=gate).version
        for change in self.cluster.watch("leases", version, fields=gate, seconds=3600):
            holder = change.object["spec"].get("holderIdentity")
            if holder:
                self.holds[holder] = self.holds.get(holder, 0) + 1
                if self.holds[holder] == 2:
                    self.admitted.append(time.monotonic())

    def delays(self) -> list[float]:
        """Milliseconds from each free slot to the first admission after it."""
        pairs = itertools.pairwise([*self.freed, float("inf")])
        found = [[at for at in self.admitted if freed < at < following] for freed, following in pairs]
        return [(ats[0] - freed) * 1000 for freed, ats in zip(self.freed, found, strict=True) if ats]


def measures() -> Iterator[Measure]:
    with tempfile.TemporaryDirectory(prefix="coordui-bench-") as state:
        up = Running(["--port", "0", "--state", state], {"BLAST_MAX_RUN_CONCURRENCY": "1"})
        try:
            visitor = Visitor(signin_address(up))
            reader = Reader(Path(state) / "kubeconfig")
            reader.start()
            keys = [visitor.search(QUERY, "globins", title=f"number {number}") for number in range(SEARCHES)]
            for key in keys:
                visitor.reaches(key, "completed", within=20 * SEARCHES)
            delays = reader.delays()
            up.stop(within=60)
        finally:
            up.kill()
            up.is_gone()
    found = Seen(delays, 0, 0)
    beside = f"{len(delays)} admissions; {SEARCHES} in line at first"
    yield Measure("the same through gatekeeper and Celery, p50", found.at(0.5), "ms", 150, beside)
    yield Measure("the same through gatekeeper and Celery, p99", found.at(0.99), "ms", None, beside)
