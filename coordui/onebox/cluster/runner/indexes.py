"""The completion indexes of an Indexed Job: as `status.completedIndexes` writes them ("0,2-4"), and what comes next."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..storage.objects import Obj, clone, meta

KEY = "batch.kubernetes.io/job-completion-index"  # annotation and label of a Pod
VARIABLE = "JOB_COMPLETION_INDEX"


def index_of(pod: Obj) -> int | None:
    text = (meta(pod).get("annotations") or {}).get(KEY, "")
    return int(text) if text.isdecimal() else None


def read(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def write(indexes: Iterable[int]) -> str:
    """Three in a row and more are told as a range, two are not."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)


def wanted(completions: int, taken: Collection[int], count: int) -> list[int]:
    """The lowest `count` indexes that are neither done nor running."""
    return [index for index in range(completions) if index not in taken][: max(0, count)]


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
