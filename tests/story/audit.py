"""Independent witnesses: a watch of Jobs that checks every revision, and the file in which submits sign in and out."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from submits.cluster import Connection, connect
from submits.gates.ports import ClusterError, Expired, Object


def is_ended(job: Object) -> bool:
    """By the conditions alone, in words of its own: a witness does not borrow the gates' judgement."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


class Audit(threading.Thread):
    """Follows every revision of the Jobs and keeps the most live runs and how many finalizers each run ever had."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        super().__init__(daemon=True)
        self.cluster = connect(Connection(str(kubeconfig), namespace))
        self.jobs: dict[str, Object] = {}
        self.most_live = 0
        self.most_counted = 0
        self.revisions = 0
        self.finalizers: dict[str, set[str]] = {}
        self.gaps: list[str] = []
        self.stopping = threading.Event()
        listing = self.cluster.list("jobs")
        self.version = listing.version
        for job in listing.items:
            self.take("ADDED", job)

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                for change in self.cluster.watch("jobs", self.version, seconds=5):
                    self.version = change.object["metadata"]["resourceVersion"]
                    self.take(change.type, change.object)
            except Expired:
                self.gaps.append("a revision was compacted away before it was seen")
                return
            except ClusterError:
                # The server was killed: go on from the last revision seen, so that none is missed.
                self.stopping.wait(0.1)

    def take(self, kind: str, job: Object) -> None:
        self.revisions += 1
        meta = job["metadata"]
        if kind == "DELETED":
            self.jobs.pop(meta["name"], None)
        else:
            self.jobs[meta["name"]] = job
        labels = meta.get("labels", {})
        if labels.get("app") == "finalizer" and "elb-job-id" in labels:
            self.finalizers.setdefault(labels["elb-job-id"], set()).add(meta["uid"])
        live = {
            job["metadata"]["labels"]["elb-job-id"]
            for job in self.jobs.values()
            if job["metadata"].get("labels", {}).get("app") in ("finalizer", "submit", "blast")
            and "elb-job-id" in job["metadata"]["labels"]
            and not is_ended(job)
        }
        self.most_live = max(self.most_live, len(live))

    def seen_to(self, version: str, within: float = 10) -> None:
        """Wait until the watch has come as far as `version`, then stop it."""
        end = time.monotonic() + within
        while int(self.version) < int(version) and time.monotonic() < end:
            time.sleep(0.05)
        self.stopping.set()


@contextmanager
def audited(kubeconfig: Path) -> Iterator[Audit]:
    audit = Audit(kubeconfig)
    audit.start()
    try:
        yield audit
    finally:
        audit.stopping.set()
        audit.join(10)


def overlaps(journal: Path) -> list[str]:
    """Pairs of submits that ran at once, by the journal's own order; one that never signed out ends with its pid's
    next appearance or the file."""
    inside: dict[str, str] = {}
    found = []
    for line in journal.read_text().splitlines():
        word, run, pid, _ = line.split()
        if word == "end":
            inside.pop(pid, None)
            continue
        inside = {other: its for other, its in inside.items() if alive(other)}
        found += [f"{run} while {its}" for its in inside.values()]
        inside[pid] = run
    return found


def alive(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


def submits(journal: Path) -> Counter[str]:
    """How often each run's submit was started."""
    return Counter(line.split()[1] for line in journal.read_text().splitlines() if line.startswith("start"))
