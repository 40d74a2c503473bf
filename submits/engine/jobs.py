"""The Jobs of a search as plain data: pure builders, every policy in sight, nothing of a user's text in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from submits.blast.facts import DatabaseFacts, is_stored
from submits.engine import volumes
from submits.engine.settings import Settings
from submits.gates import naming
from submits.work import run_key

Body = dict[str, Any]
BATCHES = "coordui/batches"
BATCH = "coordui/batch"
FORMAT = "coordui/format"
FORMATS = "coordui/formats-of"
DATABASES = "databases"  # the key below which what is found of databases lies in the work store
_PROGRAM = "coordui-engine"
# A thread asks for less than a processor, so that every processor of a node can have one beside what leads the runs
# (and beside what a real node keeps for itself): three runs and two batches fit on two processors.
_THREAD_CPU, _LEADER_CPU = 900, "50m"


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


def finalizer(run_id: str, batches: int, settings: Settings, work: Path | None) -> Body:
    """Waits for the batches, merges them, writes the outcome.

    It may be started again, because a lost node must not lose a search; a search that has failed for good takes its
    further tries away itself (see `finalize`).
    """
    return _job(
        run_id, "finalizer", Names(run_id).finalizer, settings,
        command=[_PROGRAM, "finalize", "--work", settings.work_url, "--run", run_id],
        work=work, retries=3, deadline=settings.deadline, ttl=settings.ttl,
        annotations={BATCHES: str(batches)}, token=True, cpu=_LEADER_CPU, memory="128Mi",
    )  # fmt: skip


def submit(run_id: str, batches: int, settings: Settings, work: Path | None) -> Body:
    """Creates the batches' Jobs and ends: alive, it is the finalizer's companion until every one of them exists."""
    return _job(
        run_id, "submit", Names(run_id).submit, settings,
        command=[_PROGRAM, "launch", "--work", settings.work_url, "--run", run_id],
        work=work, retries=3, deadline=3_600, ttl=settings.blast_ttl,
        annotations={BATCHES: str(batches)}, token=True, cpu=_LEADER_CPU, memory="128Mi",
    )  # fmt: skip


def blast(run_id: str, batch: int, database: DatabaseFacts, settings: Settings, work: Path | None) -> Body:
    """Searches one batch. It has no use for the Kubernetes API, so it gets no token; the database is read-only."""
    return _job(
        run_id, "blast", Names(run_id).blast(batch), settings,
        command=[_PROGRAM, "batch", "--work", settings.work_url, "--run", run_id, "--batch", str(batch)],
        work=work, database=database,
        retries=settings.blast_retries, deadline=settings.blast_deadline, ttl=settings.blast_ttl,
        annotations={BATCH: str(batch)}, token=False,
        cpu=f"{_THREAD_CPU * settings.threads}m", memory=f"{memory_mib(database, settings)}Mi",
    )  # fmt: skip


def formatting(
    run_id: str, name: str, attempt: int, database: DatabaseFacts, settings: Settings, work: Path | None
) -> Body:
    """Makes one format of a finished search's results. No gate counts it: its labels are not theirs."""
    return _job(
        run_id, "format", Names(run_id).formatting(name, attempt), settings,
        command=[_PROGRAM, "format", "--work", settings.work_url, "--run", run_id, "--format", name],
        work=work, database=database,
        retries=0, deadline=settings.blast_deadline, ttl=3_600, annotations={FORMAT: name}, token=False,
        cpu="100m", memory=f"{memory_mib(database, settings)}Mi", labels={"app": "format", FORMATS: run_id},
    )  # fmt: skip


def scan(settings: Settings, work: Path | None) -> Body:
    """Looks at all databases of `database_root` and says what it has found. One name for one place of one work store,
    so that there is one at a time. No gate counts it, and it has no token."""
    of = hashlib.sha256(f"{settings.work_url}\n{settings.database_root}".encode()).hexdigest()[:12]
    return _job(
        "", "scan", f"elb-scan-{of}", settings,
        command=[_PROGRAM, "scan", "--work", settings.work_url, "--databases", settings.database_root],
        work=work, work_key=DATABASES, mounted=volumes.databases(Path(settings.database_root), settings),
        retries=0, deadline=3_600, ttl=3_600, annotations={}, token=False,
        cpu="100m", memory=f"{settings.memory_mib}Mi", labels={"app": "scan"},
    )  # fmt: skip


def memory_mib(database: DatabaseFacts, settings: Settings) -> int:
    """What a batch asks for, in MiB: the database mapped whole (four bases or one residue a byte) and a tenth more.

    A column of a profile has 28 scores of 4 bytes.
    """
    held = database.letters * {"nucl": 0.25, "prot": 1, "rps": 1 + 28 * 4}[database.molecule]
    return settings.memory_mib + round(held * 1.1 / 2**20)


def never_fits(database: DatabaseFacts, settings: Settings, largest: int) -> str:
    """Why no node can ever run a batch of this database, "" if one can; `largest`: the largest node's memory in MiB."""
    needed = memory_mib(database, settings)
    if needed <= largest:
        return ""
    return (
        f"“{database.title}” can never fit: a batch needs {_size(needed)} of memory, and the largest node has "
        f"{_size(largest)}. Choose a smaller database, or ask an operator for a larger node."
    )


def _size(mib: int) -> str:
    return f"{mib:,} MiB" if mib < 2048 else f"{mib / 1024:,.0f} GiB"


def _job(
    run_id: str,
    app: str,
    name: str,
    settings: Settings,
    *,
    command: list[str],
    work: Path | None,
    retries: int,
    deadline: int,
    ttl: int,
    annotations: dict[str, str],
    token: bool,
    cpu: str,
    memory: str,
    work_key: str = "",
    database: DatabaseFacts | None = None,
    mounted: volumes.Mount | None = None,
    labels: dict[str, str] | None = None,
) -> Body:
    labels = labels or {"app": app, naming.ELB_JOB_ID: run_id}
    fetches = database is not None and is_stored(database.path)
    if database is not None:
        mounted = volumes.database(database, settings, name)
        command = [*command, *(["--fetch", str(mounted.path)] if fetches else [])]
    mounts = [volumes.work(work_key or run_key(run_id), work, settings, name), *([mounted] if mounted else [])]
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
        "volumeMounts": [mount.mount for mount in mounts],
        **volumes.identity(work, settings, name, fetches=fetches),
    }
    pod: Body = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": token,
        "enableServiceLinks": False,  # a Service's name becomes a variable, and might be one that is read
        "securityContext": volumes.user(work, settings),
        "containers": [container],
        "volumes": [mount.volume for mount in mounts],
    }
    if account := volumes.account(work, settings, token=token, fetches=fetches):
        pod["serviceAccountName"] = account
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
