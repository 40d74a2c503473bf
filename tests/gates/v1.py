"""An older door, v1, as PROTOCOL describes it: it polls, judges by its own clock, never renews and never announces.

1. GET the gate. Free, or `now > renewTime + leaseDurationSeconds + 30` by its own clock: POST it, or PUT it with the
   resourceVersion and nothing but the four spec fields, which erases every annotation on it. 409: busy.
2. LIST the Jobs, count distinct `elb-job-id` of finalizers that have not ended. One that is older than 300 s and has no
   live submit or blast Job of its id is dropped; one without an `elb-job-id` counts at any age.
3. At or above the ceiling: release, and wait.
4. Else run the submit, and release: GET, and PUT with an empty holder.

It uses no uid, no patch and no server's clock, and any error between 1 and 4 just ends its try.
"""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from submits.gates.ports import (
    AlreadyExists,
    Answer,
    Clock,
    ClusterError,
    Conflict,
    Kind,
    Listing,
    NotFound,
    Object,
    Unanswered,
)

JOBS = "app in (finalizer,blast,submit)"
TTL = 900  # seconds; what it writes, and what it waits for
SKEW = 30
GRACE = 300
POLL = 5.0


def stamp(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def has_ended(job: Object) -> bool:
    status = job.get("status") or {}
    conditions = status.get("conditions") or []
    ended = any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)
    return bool(status.get("succeeded") or status.get("completionTime") or ended)


def counted(jobs: Iterable[Object], now: datetime) -> list[Object]:
    """The finalizers that hold a place in its eyes."""
    live = [job for job in jobs if not has_ended(job)]

    def label(job: Object, name: str) -> str:
        return str((job["metadata"].get("labels") or {}).get(name, ""))

    companions = {label(job, "elb-job-id") for job in live if label(job, "app") in ("submit", "blast")}

    def holds(job: Object) -> bool:
        run = label(job, "elb-job-id")
        age = (now - datetime.fromisoformat(job["metadata"]["creationTimestamp"])).total_seconds()
        return label(job, "app") == "finalizer" and (not run or run in companions or age <= GRACE)

    return [job for job in live if holds(job)]


def places(jobs: Iterable[Object], now: datetime) -> int:
    return len(
        {(j["metadata"].get("labels") or {}).get("elb-job-id") or j["metadata"]["uid"] for j in counted(jobs, now)}
    )


class Verbs(Protocol):
    """The part of the `Cluster` port that an older door uses."""

    @property
    def namespace(self) -> str: ...

    def get(self, kind: Kind, name: str) -> Answer: ...
    def list(self, kind: Kind, labels: str = "", fields: str = "") -> Listing: ...
    def create(self, kind: Kind, body: Object) -> Answer: ...
    def replace(self, kind: Kind, name: str, body: Object) -> Answer: ...


@dataclass
class OlderDoor:
    """One v1 party. `submit` runs one search's submit to its end; what it did is not looked at."""

    cluster: Verbs
    clock: Clock
    ceiling: int
    source: str = "openapi"
    poll: float = POLL

    @property
    def gate(self) -> str:
        return f"elb-blast-submit-{self.cluster.namespace}"

    def lead_through(self, job: str, submit: Callable[[str], object], tries: int) -> bool:
        """Poll until the submit of `job` has run; False when it gave up after so many tries."""
        self.announce(job, "submitting")
        for _ in range(tries):
            if self.try_once(job, submit):
                self.say(job, "submitted")
                return True
            self.clock.wait(self.poll)
        self.say(job, "failed")
        return False

    def try_once(self, job: str, submit: Callable[[str], object]) -> bool:
        holder = f"{self.source}-{uuid.uuid4().hex}"
        try:
            if not self.acquire(holder):
                return False
            jobs = self.cluster.list("jobs", JOBS).items
        except ClusterError:
            # A ghost: if the lost answer was to a write that arrived, the gate stays shut until it expires.
            return False
        room = places(jobs, self.clock.wall()) < self.ceiling
        if room:
            submit(job)
        self.release(holder)
        return room

    def acquire(self, holder: str) -> bool:
        now = self.clock.wall()
        spec: Object = {
            "holderIdentity": holder,
            "leaseDurationSeconds": TTL,
            "acquireTime": stamp(now),
            "renewTime": stamp(now),
        }
        body: Object = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.gate, "namespace": self.cluster.namespace},
            "spec": spec,
        }
        try:
            lease = self.cluster.get("leases", self.gate).object
        except NotFound:
            lease = None
        try:
            if lease is None:
                self.cluster.create("leases", body)
                return True
            if not self.is_free(lease, now):
                return False
            body["metadata"]["resourceVersion"] = lease["metadata"]["resourceVersion"]
            self.cluster.replace("leases", self.gate, body)
        except (AlreadyExists, Conflict, NotFound):
            return False
        return True

    def is_free(self, lease: Object, now: datetime) -> bool:
        spec = lease.get("spec") or {}
        if not spec.get("holderIdentity") or not spec.get("renewTime"):
            return True
        renewed = datetime.fromisoformat(spec["renewTime"])
        return now > renewed + timedelta(seconds=(spec.get("leaseDurationSeconds") or TTL) + SKEW)

    def release(self, holder: str) -> None:
        """Best effort, twice: what fails stays held until it expires."""
        for _ in range(2):
            try:
                lease = self.cluster.get("leases", self.gate).object
                if lease["spec"].get("holderIdentity") != holder:
                    return
                kept = {name: lease["metadata"][name] for name in ("name", "namespace", "resourceVersion")}
                spec = {**lease["spec"], "holderIdentity": ""}
                body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": kept, "spec": spec}
                self.cluster.replace("leases", self.gate, body)
                return
            except ClusterError:
                continue

    # Its queue, which anybody may read -------------------------------------------------------------------------------

    def announce(self, job: str, status: str) -> None:
        labels = {"elb-job": "true", "status": status}
        data = {"job": json.dumps({"id": job, "created_at": stamp(self.clock.wall())})}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"elb-job-{job}", "labels": labels},
            "data": data,
        }
        try:
            self.cluster.create("configmaps", body)
        except ClusterError:
            return

    def say(self, job: str, status: str) -> None:
        try:
            told = self.cluster.get("configmaps", f"elb-job-{job}").object
            told["metadata"]["labels"]["status"] = status
            self.cluster.replace("configmaps", f"elb-job-{job}", told)
        except ClusterError:
            return


class Kubectl:
    """The verbs that an older door uses, through `kubectl` as a subprocess, as the real one does it."""

    def __init__(self, kubeconfig: Path, namespace: str = "default") -> None:
        self.kubeconfig, self._namespace = kubeconfig, namespace

    @property
    def namespace(self) -> str:
        return self._namespace

    def run(self, *words: str, body: Object | None = None) -> Object:
        command = ["kubectl", f"--kubeconfig={self.kubeconfig}", f"--namespace={self._namespace}", *words, "-o", "json"]
        told = None if body is None else json.dumps(body)
        done = subprocess.run(command, input=told, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode:
            raise self.error(done.stderr)
        answer: Object = json.loads(done.stdout)
        return answer

    @staticmethod
    def error(words: str) -> ClusterError:
        if "(NotFound)" in words:
            return NotFound(words)
        if "(AlreadyExists)" in words:
            return AlreadyExists(words)
        return (Conflict if "(Conflict)" in words else Unanswered)(words)

    def answer(self, *words: str, body: Object | None = None) -> Answer:
        return Answer(self.run(*words, body=body), datetime.now(UTC))

    def get(self, kind: Kind, name: str) -> Answer:
        return self.answer("get", kind, name)

    def list(self, kind: Kind, labels: str = "", fields: str = "") -> Listing:
        found = self.run("get", kind, f"--selector={labels}", f"--field-selector={fields}")
        return Listing(tuple(found["items"]), "", datetime.now(UTC))

    def create(self, kind: Kind, body: Object) -> Answer:
        return self.answer("create", "-f", "-", body=body)

    def replace(self, kind: Kind, name: str, body: Object) -> Answer:
        return self.answer("replace", "-f", "-", body=body)
