"""The completion indexes of an Indexed Job: as `status.completedIndexes` writes them ("0,2-4"), and what comes next.

They are kept as runs, never one by one: a Job may have two thousand million of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from ..storage.objects import Obj, clone, meta

KEY = "batch.kubernetes.io/job-completion-index"  # annotation and label of a Pod
VARIABLE = "JOB_COMPLETION_INDEX"
_PART = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)
Run = tuple[int, int]  # first and last


def index_of(pod: Obj) -> int | None:
    text = (meta(pod).get("annotations") or {}).get(KEY, "")
    return int(text) if _PART.fullmatch(text) and "-" not in text else None


def joined(runs: Iterable[Run]) -> list[Run]:
    """In order, and as few as there can be."""
    found: list[Run] = []
    for first, last in sorted(runs):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def read(text: str) -> list[Run]:
    """What cannot be read is left out, as a real controller does."""
    parts = [match for part in text.split(",") if (match := _PART.fullmatch(part))]
    runs = [(int(match[1]), int(match[2] or match[1])) for match in parts]
    return joined(run for run in runs if run[0] <= run[1])


def count(runs: Iterable[Run]) -> int:
    return sum(last - first + 1 for first, last in runs)


def write(runs: Iterable[Run]) -> str:
    """Three in a row and more are told as a range, two are not."""
    parts = []
    for first, last in joined(runs):
        parts.append(f"{first}-{last}" if last > first + 1 else f"{first},{last}" if last > first else str(first))
    return ",".join(parts)


def wanted(completions: int, done: Iterable[Run], running: Collection[int], number: int) -> list[int]:
    """The lowest `number` indexes that are neither done nor running."""
    return list(islice((index for index in _left(completions, done) if index not in running), max(0, number)))


def _left(completions: int, done: Iterable[Run]) -> Iterator[int]:
    start = 0
    for first, last in done:
        yield from range(start, min(first, completions))
        start = last + 1
    yield from range(start, completions)


def template(spec: Obj, metadata: Obj, job: str, index: int) -> Obj:
    """The Pod of one index: it knows it by an annotation, a label, a variable and its host name."""
    spec = clone(spec)
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{KEY}']"}}
    for part in ("initContainers", "containers"):
        for container in spec.get(part, ()):
            container.setdefault("env", []).append({"name": VARIABLE, "valueFrom": source})
    spec.setdefault("hostname", f"{job}-{index}")
    for key in ("annotations", "labels"):
        metadata[key] = {**metadata.get(key, {}), KEY: str(index)}
    return {"metadata": {**metadata, "generateName": f"{job[:50]}-{index}-"}, "spec": spec}
