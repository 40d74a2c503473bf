"""What a client may write into a Job's status: the real server's rules (registry/batch/job, apis/batch/validation).

They keep a Job that has ended from coming to life again, counts from going back, and a running Job's start from moving.
A rule about a field is asked only where that field has changed.
"""

from __future__ import annotations

import re

from ..clock import parse
from ..errors import Cause
from ..storage.objects import Obj, is_true, spec_of, status_of

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_ENDS = ("Failed", "Complete")
_LASTING = ("Failed", "Complete", "FailureTarget")
_INDEXES = re.compile(r"\d{1,10}(-\d{1,10})?(,\d{1,10}(-\d{1,10})?)*", re.ASCII)
_REQUIRED = "FieldValueRequired"


def problems(job: Obj, old: Obj) -> list[Cause]:
    new, was = status_of(job), status_of(old)
    changed = {name for name in {*new, *was} if new.get(name) != was.get(name)}
    found = [
        Cause(f"status.{name}", f"Invalid value: {value}: must be greater than or equal to 0")
        for name in _COUNTS
        if (value := new.get(name, 0)) < 0
    ]
    found += _counts(job, old, new, was)
    found += _conditions(job, old, changed)
    found += _times(job, old, changed)
    if "completedIndexes" in changed and (why := _index_problem(spec_of(job), str(new.get("completedIndexes", "")))):
        found.append(Cause("status.completedIndexes", f'Invalid value: "{new.get("completedIndexes")}": {why}'))
    return found


def _counts(job: Obj, old: Obj, new: Obj, was: Obj) -> list[Cause]:
    found, spec = [], spec_of(job)
    elastic = spec["completionMode"] == "Indexed" and spec.get("completions") == spec["parallelism"]
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        if new.get(name, 0) < was.get(name, 0):
            words = f"Invalid value: {new.get(name, 0)}: cannot decrease the {name} counter"
            found.append(Cause(f"status.{name}", words))
    moved, ready = any(new.get(name) != was.get(name) for name in ("ready", "active")), new.get("ready")
    if moved and ready is not None and ready > new.get("active", 0):
        words = f"Invalid value: {ready}: cannot set more ready pods than active"
        found.append(Cause("status.ready", words))
    for name in ("active", "terminating"):
        moved = _ended(job) != _ended(old) or new.get(name) != was.get(name)
        if moved and _ended(job) and new.get(name, 0) > 0:
            words = f"Invalid value: {new[name]}: {name}>0 is invalid for finished job"
            found.append(Cause(f"status.{name}", words))
    return found


def _conditions(job: Obj, old: Obj, changed: set[str]) -> list[Cause]:
    words = [
        f"cannot disable the terminal {kind}=True condition"
        for kind in _LASTING
        if is_true(old, kind) and not is_true(job, kind)
    ]
    if "conditions" in changed:
        complete, failed = is_true(job, "Complete"), is_true(job, "Failed")
        if complete and failed:
            words.append("cannot set Complete=True and Failed=true conditions")
        if complete and is_true(job, "FailureTarget"):
            words.append("cannot set Complete=True and FailureTarget=true conditions")
        if complete and not is_true(job, "SuccessCriteriaMet"):
            words.append("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
        if failed and not is_true(job, "FailureTarget"):
            words.append("cannot set Failed=True condition without the FailureTarget=true condition")
    return [Cause("status.conditions", f"Invalid value: {why}") for why in words]


def _times(job: Obj, old: Obj, changed: set[str]) -> list[Cause]:
    new, was, found = status_of(job), status_of(old), []
    start, end, complete = new.get("startTime"), new.get("completionTime"), is_true(job, "Complete")
    if "startTime" in changed and was.get("startTime") and not spec_of(job).get("suspend"):
        words = "modified" if start else "removed"
        why = f"Required value: startTime cannot be {words} for unsuspended job"
        found.append(Cause("status.startTime", why, _REQUIRED))
    if not start and _ended(job) and ("startTime" in changed or not _ended(old)):
        found.append(Cause("status.startTime", "Required value: startTime is required for finished job", _REQUIRED))
    if not changed & {"startTime", "completionTime", "conditions"}:
        return found
    if end and not complete:
        why = "cannot set completionTime when there is no Complete=True condition"
        found.append(Cause("status.completionTime", f'Invalid value: "{end}": {why}'))
    if complete and not end:
        why = "Required value: completionTime is required for Complete jobs"
        found.append(Cause("status.completionTime", why, _REQUIRED))
    if start and end and parse(end) < parse(start):
        why = "completionTime cannot be set before startTime"
        found.append(Cause("status.completionTime", f'Invalid value: "{end}": {why}'))
    if end and was.get("completionTime") not in (None, end):
        found.append(Cause("status.completionTime", f'Invalid value: "{end}": field is immutable'))
    return found


def _ended(job: Obj) -> bool:
    return any(is_true(job, kind) for kind in _ENDS)


def _index_problem(spec: Obj, text: str) -> str:
    if not text:
        return ""
    if spec["completionMode"] != "Indexed":
        return "cannot set non-empty completedIndexes when non-indexed completion mode"
    if not _INDEXES.fullmatch(text):
        return "error parsing completed indexes: cannot convert string to integer for index"
    last = -1
    for part in text.split(","):
        first, _, end = part.partition("-")
        if int(first) <= last or (end and int(end) <= int(first)):
            return f'error parsing completed indexes: non-increasing order, previous: {last}, current: "{part}"'
        last = int(end or first)
    if last >= (spec.get("completions") or 0):
        return f'error parsing completed indexes: too large index: "{last}"'
    return ""
