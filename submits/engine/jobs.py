"""The Jobs of a search as plain data: pure builders, every policy in sight, nothing of a user's text in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from submits.blast.facts import DatabaseFacts
from submits.engine.settings import Settings
from submits.gates import naming

Body = dict[str, Any]
BATCHES = "coordui/batches"
BATCH = "coordui/batch"
FORMAT = "coordui/format"
FORMATS = "coordui/formats-of"
_PROGRAM = "coordui-engine"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a run's Jobs; each at most 63 characters, whatever the id."""

    run_id: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.run_id.encode()).hexdigest()[:12]

    @property
    def finalizer(self) -> str:
        """By the last 8 characters of the id: the gates look it up under this name."""
        return naming.finalizer(self.run_id)

    @property
    def submit(self) -> str:
        return f"elb-submit-{self.hash}"

    def blast(self, batch: int) -> str:
        """Batch `batch`, counted from 1."""
        return f"elb-blast-{self.hash}-{batch:04d}"

    def formatting(self, name: str, attempt: int) -> str:
        return f"elb-format-{self.hash}-{hashlib.sha256(name.encode()).hexdigest()[:12]}-{attempt}"


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory of the node, mounted where it lies, so that a path means the same on both sides."""

    name: str
    path: Path
    read_only: bool = False


def finalizer(run_id: str, batches: int, settings: Settings, work: Path) -> Body:
    """Waits for the batches, merges them, writes the outcome.

    It may be started again, because a lost node must not lose a search; a search that has failed for good takes its
    further tries away itself (see `finalize`).
    """
    return _job(
        run_id, "finalizer", Names(run_id).finalizer, settings,
        command=[_PROGRAM, "finalize", "--work", settings.work_url, "--run", run_id],
        mounts=[Mount("work", work)], retries=3, deadline=settings.deadline, ttl=settings.ttl,
        annotations={BATCHES: str(batches)}, token=True, cpu="100m", memory="128Mi",
    )  # fmt: skip


def submit(run_id: str, batches: int, settings: Settings, work: Path) -> Body:
    """Creates the batches' Jobs and ends: alive, it is the finalizer's companion until every one of them exists."""
    return _job(
        run_id, "submit", Names(run_id).submit, settings,
        command=[_PROGRAM, "launch", "--work", settings.work_url, "--run", run_id],
        mounts=[Mount("work", work)], retries=3, deadline=3_600, ttl=settings.blast_ttl,
        annotations={BATCHES: str(batches)}, token=True, cpu="100m", memory="128Mi",
    )  # fmt: skip


def blast(run_id: str, batch: int, database: DatabaseFacts, settings: Settings, work: Path) -> Body:
    """Searches one batch. It has no use for the Kubernetes API, so it gets no token; the database is read-only."""
    return _job(
        run_id, "blast", Names(run_id).blast(batch), settings,
        command=[_PROGRAM, "batch", "--work", settings.work_url, "--run", run_id, "--batch", str(batch)],
        mounts=[Mount("work", work), Mount("database", Path(database.path).parent, read_only=True)],
        retries=settings.blast_retries, deadline=settings.blast_deadline, ttl=settings.blast_ttl,
        annotations={BATCH: str(batch)}, token=False,
        cpu=str(settings.threads), memory=f"{memory_mib(database, settings)}Mi",
    )  # fmt: skip


def formatting(run_id: str, name: str, attempt: int, database: DatabaseFacts, settings: Settings, work: Path) -> Body:
    """Makes one format of a finished search's results. No gate counts it: its labels are not theirs."""
    return _job(
        run_id, "format", Names(run_id).formatting(name, attempt), settings,
        command=[_PROGRAM, "format", "--work", settings.work_url, "--run", run_id, "--format", name],
        mounts=[Mount("work", work), Mount("database", Path(database.path).parent, read_only=True)],
        retries=0, deadline=settings.blast_deadline, ttl=3_600, annotations={FORMAT: name}, token=False,
        cpu="100m", memory=f"{memory_mib(database, settings)}Mi", labels={"app": "format", FORMATS: run_id},
    )  # fmt: skip


def memory_mib(database: DatabaseFacts, settings: Settings) -> int:
    """What a batch asks for, in MiB: the database mapped whole (four bases or one residue a byte) and a tenth more.

    A column of a profile has 28 scores of 4 bytes.
    """
    held = database.letters * {"nucl": 0.25, "prot": 1, "rps": 1 + 28 * 4}[database.molecule]
    return settings.memory_mib + round(held * 1.1 / 2**20)


def _job(
    run_id: str,
    app: str,
    name: str,
    settings: Settings,
    *,
    command: list[str],
    mounts: list[Mount],
    retries: int,
    deadline: int,
    ttl: int,
    annotations: dict[str, str],
    token: bool,
    cpu: str,
    memory: str,
    labels: dict[str, str] | None = None,
) -> Body:
    labels = labels or {"app": app, naming.ELB_JOB_ID: run_id}
    container: Body = {
        "name": app,
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": mount.name, "mountPath": str(mount.path), "readOnly": mount.read_only} for mount in mounts
        ],
    }
    pod: Body = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": token,
        "containers": [container],
        "volumes": [
            {"name": mount.name, "hostPath": {"path": str(mount.path), "type": "Directory"}} for mount in mounts
        ],
    }
    if token and settings.service_account:
        pod["serviceAccountName"] = settings.service_account
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "backoffLimit": retries,
            "activeDeadlineSeconds": deadline,
            "ttlSecondsAfterFinished": ttl,
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }
