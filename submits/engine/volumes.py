"""What a run's Pods see of the work store and of the databases, and who they are to an object store. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from submits.blast.facts import DatabaseFacts, is_stored
from submits.engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Mount:
    """A directory of the node, mounted where it lies, so that a path means the same on both sides; with a `claim`, the
    directory `below` that volume claim's root. `fresh` is an empty one that goes with the Pod."""

    name: str
    path: Path
    read_only: bool = False
    claim: str = ""
    below: str = ""
    fresh: bool = False

    @property
    def volume(self) -> dict[str, Any]:
        if self.fresh:
            return {"name": self.name, "emptyDir": {}}
        if self.claim:
            claim = {"claimName": self.claim, "readOnly": self.read_only}
            return {"name": self.name, "persistentVolumeClaim": claim}
        return {"name": self.name, "hostPath": {"path": str(self.path), "type": "Directory"}}

    @property
    def mount(self) -> dict[str, Any]:
        mounted = {"name": self.name, "mountPath": str(self.path), "readOnly": self.read_only}
        return mounted | ({"subPath": self.below} if self.claim and self.below else {})


def work(key: str, directory: Path | None, settings: Settings, job: str) -> Mount:
    """The `directory` of one key of the work store, a run's own and no other's; from an object store (`directory` is
    None) what a Pod fetches and makes lies in a directory of its own, whose path no other Job has."""
    if directory is None:
        return Mount("scratch", scratch(job), fresh=True)
    claim, _, inside = settings.work_claim.partition("/")
    return Mount("work", directory, claim=claim, below="/".join(filter(None, (inside.strip("/"), key))))


def scratch(job: str) -> Path:
    return Path("/tmp") / job  # noqa: S108 (in the Pod, where it is a volume)


def database(facts: DatabaseFacts, settings: Settings, job: str) -> Mount:
    """The directory of its files, which are only read; an empty one into which a Pod fetches one of an object store."""
    if is_stored(facts.path):
        return Mount("database", scratch(f"{job}-database"), fresh=True)
    return databases(Path(facts.path).parent, settings)


def databases(place: Path, settings: Settings) -> Mount:
    """A directory of databases. The claim's root, or the directory in it, is the scanned one."""
    claim, _, inside = settings.database_claim.partition("/")
    if not claim or not place.is_relative_to(settings.database_root):
        return Mount("database", place, read_only=True)
    below = os.path.normpath(Path(inside.strip("/"), place.relative_to(settings.database_root)))
    return Mount("database", place, read_only=True, claim=claim, below="" if below == "." else below)


def identity(directory: Path | None, settings: Settings, job: str, *, fetches: bool = False) -> dict[str, Any]:
    """Of the container: where its temporary files go, and the Secret that says who it is to an object store, of which
    it also `fetches` its database perhaps."""
    known: dict[str, Any] = {}
    if directory is None:
        known["env"] = [{"name": "TMPDIR", "value": str(scratch(job))}]
    if settings.work_secret and (directory is None or fetches):
        known["envFrom"] = [{"secretRef": {"name": settings.work_secret}}]
    return known


def account(directory: Path | None, settings: Settings, *, token: bool, fetches: bool = False) -> str:
    """Whose power a Pod has: the engine's with a token, else none, but for what an object store's cloud gives it."""
    if token:
        return settings.service_account
    return settings.work_account if directory is None or fetches else ""


def user(directory: Path | None, settings: Settings) -> dict[str, Any]:
    """Of the Pod: what a namespace of the level `restricted` asks for. Who it runs as is the image's to say, and never
    root; only a directory of the node's own belongs to whoever made it, root too (and no such namespace takes it)."""
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    owned = directory is not None and not settings.work_claim
    return profile if owned else profile | {"runAsNonRoot": True}
