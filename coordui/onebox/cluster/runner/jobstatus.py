"""A Job's status: conditions in the real order, verdicts, counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ..storage.objects import Obj, is_true, meta, spec_of, status_of
from . import podstatus

SLOWEST_RETRY = 60.0  # times the first delay: a real controller's 10 s and 10 min
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
    found: list[Obj] = [item for item in status.get("conditions", ()) if item.get("type") == kind]
    return found[0] if found else None


def holds(status: Obj, kind: str) -> bool:
    found = find(status, kind)
    return found is not None and found.get("status") == "True"


def finished(status: Obj) -> Obj | None:
    """The condition that ended the Job."""
    for kind in FINAL.values():
        if holds(status, kind):
            return find(status, kind)
    return None


def given(status: Obj) -> Verdict | None:
    """A verdict that was given before; it never changes."""
    for kind in FINAL:
        if (found := find(status, kind)) is not None and found.get("status") == "True":
            return Verdict(kind, found.get("reason", ""), found.get("message", ""))
    return None


def set_condition(status: Obj, kind: str, value: bool, now: str, *, reason: str, message: str) -> None:
    old = find(status, kind)
    if old is not None and old.get("status") == str(value):
        return
    new = {"type": kind, "status": str(value), "lastProbeTime": now, "lastTransitionTime": now}
    new |= {"reason": reason, "message": message}
    conditions = status.setdefault("conditions", [])
    if old is None:
        conditions.append(new)
    else:
        conditions[conditions.index(old)] = new


def alive(pods: list[Obj]) -> list[Obj]:
    return [pod for pod in pods if not podstatus.ended(pod)]


def staying(pods: list[Obj]) -> list[Obj]:
    """Alive, and not marked for deletion."""
    return [pod for pod in alive(pods) if "deletionTimestamp" not in meta(pod)]


def count_pods(status: Obj, pods: list[Obj]) -> None:
    """active, ready and terminating, as they are now. Ended Pods are counted in one transaction with their release,
    so there are never any that wait to be counted."""
    there = staying(pods)
    status |= {"active": len(there), "ready": sum(1 for pod in there if is_true(pod, "Ready"))}
    status |= {"terminating": len(alive(pods)) - len(there), "uncountedTerminatedPods": {}}
    if not there:
        del status["active"]


def retry_delay(failures: int, first: float) -> float:
    """Seconds until a new Pod is made after so many failures since the last success: `first`, doubling."""
    return first * min(SLOWEST_RETRY, 2.0 ** min(failures - 1, 20))


def failed(pod: Obj, replacement: str) -> bool:
    """Whether a Pod counts as failed: a deleted one does at once, unless podReplacementPolicy waits for its end."""
    phase = status_of(pod).get("phase")
    return phase == "Failed" or (replacement != "Failed" and "deletionTimestamp" in meta(pod) and phase != "Succeeded")


def verdict(job: Obj, status: Obj, pods: list[Obj], *, overdue: bool) -> Verdict | None:
    """Whether the Job has to end, given its counts."""
    if old := given(status):
        return old
    spec, succeeded = spec_of(job), status.get("succeeded", 0)
    for pod in pods:
        if status_of(pod).get("reason") == podstatus.CANNOT_RUN:
            return Verdict("FailureTarget", podstatus.CANNOT_RUN, status_of(pod).get("message", ""))
    if status.get("failed", 0) > spec["backoffLimit"] or _restarted_too_often(spec, pods):
        return Verdict("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if overdue:
        return Verdict("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline")
    completions = spec.get("completions")
    done = succeeded >= completions if completions is not None else succeeded > 0 and not staying(pods)
    if done:
        return Verdict("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods")
    return None


def _restarted_too_often(spec: Obj, pods: list[Obj]) -> bool:
    """With restartPolicy OnFailure the restarts inside of living Pods count."""
    if spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        item.get("restartCount", 0)
        for pod in alive(pods)
        for part in ("initContainerStatuses", "containerStatuses")
        for item in status_of(pod).get(part, ())
    )
    return bool(restarts > 0 if spec["backoffLimit"] == 0 else restarts >= spec["backoffLimit"])
