"""Jobs as a watch tells of them, by name and by run, changed in place. Pure.

A namespace keeps its finished Jobs for days, so what is asked at every look must not cost more when there are more of
them: only the runs of which something lives are looked at; of the others one is found by its name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from submits.gates import naming
from submits.gates.counting import is_terminal, key_of, role
from submits.gates.objects import labels, last_written, micro_time, notes_of
from submits.gates.ports import Object

META = ("name", "uid", "resourceVersion", "creationTimestamp")
LABELS = (naming.APP, naming.ELB_JOB_ID, naming.ROLE)
ENDED = ("succeeded", "failed", "completionTime")
CONDITION = ("type", "status", "reason", "message")


def slim(job: Object) -> Object:
    """Of a Job that has ended, only what is asked of one; any other as it is. Not to be changed: parts are shared."""
    if not is_terminal(job):
        return job
    meta, status, written = only(META, job["metadata"]), only(ENDED, job["status"]), last_written(job)
    meta["labels"] = shared(only(LABELS, labels(job)))
    # Others' may be as big as the Job itself: kubectl writes down there what it has applied.
    if notes := {name: note for name, note in notes_of(job).items() if name.startswith(naming.OURS)}:
        meta["annotations"] = shared(notes)
    if written:
        meta["managedFields"] = shared([{"time": micro_time(written)}])
    if conditions := job["status"].get("conditions"):
        status["conditions"] = shared([only(CONDITION, condition) for condition in conditions])
    return {"metadata": meta, "status": status}


def only(names: Iterable[str], of: Mapping[str, Any]) -> dict[str, Any]:
    return {name: of[name] for name in names if name in of}


def shared(part: Any) -> Any:
    """The same for all that are equal: very many Jobs say very much alike."""
    return _part(json.dumps(part))


@lru_cache(maxsize=1024)
def _part(text: str) -> Any:
    return json.loads(text)


class Runs:
    """Every Job once. A run acts while one of its Jobs lives or is a marker or a pin: then all its Jobs are looked at,
    ended ones too, because they tell whether its finalizer is a phantom."""

    def __init__(self, jobs: Iterable[Object] = ()) -> None:
        self.named: dict[str, Object] = {}
        self._acting: dict[str, dict[str, Object]] = {}  # by key, then by name
        self._ended: dict[str, dict[str, Object]] = {}
        self._alive: Counter[str] = Counter()  # by key: its Jobs that make it act
        for job in jobs:
            self.put(job)

    def put(self, job: Object) -> Object | None:
        """The one that it replaces, if any."""
        name = job["metadata"]["name"]
        before = self.drop(name)
        key = key_of(job)
        self.named[name] = job
        self._alive[key] += acts(job)
        jobs = self._of(key)
        jobs[name] = job
        self._settle(key, jobs)
        return before

    def drop(self, name: str) -> Object | None:
        job = self.named.pop(name, None)
        if job is not None:
            key = key_of(job)
            self._alive[key] -= acts(job)
            jobs = self._of(key)
            del jobs[name]
            self._settle(key, jobs)
        return job

    def of(self, key: str) -> Iterable[Object]:
        return self._of(key).values()

    def acting(self) -> tuple[Object, ...]:
        """All Jobs of the runs that act."""
        return tuple(job for jobs in self._acting.values() for job in jobs.values())

    @property
    def ended(self) -> Mapping[str, Mapping[str, Object]]:
        """The Jobs of all other runs, by key and name; a view, good until the next change."""
        return MappingProxyType(self._ended)

    def _of(self, key: str) -> dict[str, Object]:
        return self._acting.get(key) or self._ended.get(key) or {}

    def _settle(self, key: str, jobs: dict[str, Object]) -> None:
        self._acting.pop(key, None)
        self._ended.pop(key, None)
        if jobs:
            (self._acting if self._alive[key] else self._ended)[key] = jobs
        if not self._alive[key]:
            del self._alive[key]


def acts(job: Object) -> bool:
    return not is_terminal(job) or bool(role(job))
