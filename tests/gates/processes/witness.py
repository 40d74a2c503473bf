"""Who watches the doors and believes none of them: every revision of the Jobs, and what the submits signed."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path

from submits.gates.ports import Object
from tests.onebox.cluster.fixtures import JOBS, MERGE, Client
from tests.story.audit import Audit, is_ended


class Witness(Audit):
    """Beside what every audit keeps: work of a run that began without a finalizer or a reservation for it."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.uncovered: set[str] = set()
        self.born: dict[str, float] = {}  # by run, when its finalizer was first seen
        super().__init__(kubeconfig, namespace)

    def take(self, kind: str, job: Object) -> None:
        super().take(kind, job)
        marked: set[str] = set()
        over: set[str] = set()
        working: set[str] = set()
        for known in list(self.jobs.values()):
            meta = known["metadata"]
            run = meta.get("labels", {}).get("elb-job-id", "")
            if meta.get("labels", {}).get("app") == "finalizer":
                stands_for = run or meta.get("annotations", {}).get("coordui/for", "")
                (over if is_ended(known) else marked).add(stands_for)
                if run:
                    self.born.setdefault(run, time.monotonic())
            elif run and not is_ended(known) and meta["labels"].get("coordui/role") != "pin":
                working.add(run)
        self.uncovered |= working - marked - over

    def ours(self) -> list[str]:
        """The markers that stand: when all has ended there is none."""
        return [name for name, job in self.jobs.items() if "coordui/role" in job["metadata"].get("labels", {})]


class Ender(threading.Thread):
    """The searches themselves: each ends `lasts` seconds after its finalizer was seen, its work first."""

    def __init__(self, client: Client, witness: Witness, lasts: float) -> None:
        super().__init__(name="ender", daemon=True)
        self.client, self.witness, self.lasts = client, witness, lasts
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(0.05):
            now = time.monotonic()
            over = [run for run, born in list(self.witness.born.items()) if now - born > self.lasts]
            names = [name for name, job in list(self.witness.jobs.items()) if self.is_over(job, over)]
            for name in sorted(names, key=lambda name: "finalizer" in name):
                self.end(name)

    @staticmethod
    def is_over(job: Object, over: list[str]) -> bool:
        labels = job["metadata"].get("labels", {})
        return labels.get("elb-job-id") in over and "coordui/role" not in labels and not is_ended(job)

    def end(self, name: str) -> None:
        try:
            end_job(self.client, name)
        except (OSError, HTTPException):
            return  # the server was killed: the next round ends it


def end_job(client: Client, name: str) -> float | None:
    """When it was sent that the Job has succeeded; None when that was refused: its controller has written meanwhile."""
    job = client.call("GET", f"{JOBS}/{name}").body
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    begun = job.get("status", {}).get("startTime", now)  # once it is there it may not change
    done = {"type": "Complete", "status": "True", "lastTransitionTime": now}
    first = {**done, "type": "SuccessCriteriaMet"}
    status = {"succeeded": 1, "startTime": begun, "completionTime": now, "conditions": [first, done]}
    at = time.monotonic()
    return at if client.call("PATCH", f"{JOBS}/{name}/status", {"status": status}, MERGE).code == 200 else None
