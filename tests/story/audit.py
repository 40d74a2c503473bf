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


class Journal(threading.Thread):
    """Reads the submits' journal as it grows, and keeps each pair that was inside at once.

    One that signed out tells by its line when it ended; of one that was killed only its process tells, while it is
    looked at.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.inside: dict[str, tuple[str, list[str]]] = {}  # by process id: its run, and those that began since
        self.started: Counter[str] = Counter()
        self.overlaps: set[str] = set()
        self.read = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(0.02):
            self.look()
        self.look()

    def look(self) -> None:
        # Before the file is read: what these have signed is in it.
        dead = {pid for pid in self.inside if not self.lives(pid)}
        text = self.path.read_text()[self.read :] if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        self.read += len(whole)
        for line in whole.splitlines():
            word, run, pid, _ = line.split()
            if word == "end":
                its, since = self.inside.pop(pid, (run, []))
                self.overlaps |= {f"{other} while {its}" for other in since}
            else:
                self.begin(run, pid)
        for pid in dead:
            self.inside.pop(pid, None)

    def begin(self, run: str, pid: str) -> None:
        self.started[run] += 1
        for other, (its, since) in self.inside.items():
            since.append(run)
            if self.lives(other):
                self.overlaps.add(f"{run} while {its}")
        self.inside[pid] = (run, [])

    def lives(self, pid: str) -> bool:
        """A process that nobody has reaped yet writes nothing any more."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False


@contextmanager
def journalled(path: Path) -> Iterator[Journal]:
    journal = Journal(path)
    journal.start()
    try:
        yield journal
    finally:
        journal.stopping.set()
        journal.join(10)
