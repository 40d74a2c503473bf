"""A Job's status: conditions in the real order, verdicts, counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ..objects import Obj, meta, spec_of, status_of
from . import podstatus

FINAL = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


@dataclass(frozen=True)
class Verdict:
    """How a Job ends: `kind` is the condition that says so before its Pods are gone."""

    kind: str
    reason: str
    message: str

    @property
    def final(self) -> str:
        return FINAL[self.kind]


def find(status: Obj, kind: str) -> Obj | None:
    found: list[Obj] = [item for item in status.get("conditions", ()) if item["type"] == kind]
    return found[0] if found else None


def holds(status: Obj, kind: str) -> bool:
    found = find(status, kind)
    return found is not None and found["status"] == "True"


def finished(status: Obj) -> Obj | None:
    """The condition that ended the Job."""
    for kind in FINAL.values():
        if holds(status, kind):
            return find(status, kind)
    return None


def given(status: Obj) -> Verdict | None:
    """A verdict that was given before; it never changes."""
    for kind in FINAL:
        if (found := find(status, kind)) is not None and found["status"] == "True":
            return Verdict(kind, found.get("reason", ""), found.get("message", ""))
    return None


def set_condition(status: Obj, kind: str, value: bool, now: str, *, reason: str, message: str) -> None:
    old = find(status, kind)
    if old is not None and old["status"] == str(value):
        return
    new = {"type": kind, "status": str(value), "lastProbeTime": now, "lastTransitionTime": now}
    new |= {"reason": reason, "message": message}
    conditions = status.setdefault("conditions", [])
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new


def count_pods(status: Obj, pods: list[Obj]) -> None:
    """active, ready and terminating, as they are now."""
    alive = [pod for pod in pods if not podstatus.ended(pod)]
    staying = [pod for pod in alive if "deletionTimestamp" not in meta(pod)]
    active = len(staying)
    ready = sum(1 for pod in staying if status_of(pod).get("phase") == "Running")
    status |= {"active": active, "ready": ready, "terminating": len(alive) - active}
    if not active:
        del status["active"]


def verdict(job: Obj, status: Obj, pods: list[Obj], *, overdue: bool) -> Verdict | None:
    """Whether the Job has to end, given its counts."""
    if old := given(status):
        return old
    spec, succeeded = spec_of(job), status.get("succeeded", 0)
    for pod in pods:
        if status_of(pod).get("reason") == podstatus.CANNOT_RUN:
            return Verdict("FailureTarget", podstatus.CANNOT_RUN, status_of(pod).get("message", ""))
    if status.get("failed", 0) > spec["backoffLimit"]:
        return Verdict("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if overdue:
        return Verdict("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    completions = spec.get("completions")
    if completions is not None:
        done = succeeded >= completions
    else:
        done = succeeded > 0 and all(podstatus.ended(pod) for pod in pods)
    if done:
        return Verdict("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
    return None
