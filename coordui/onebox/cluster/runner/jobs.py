"""The Job controller: makes and removes Pods until a Job's counts say that it has ended.

Every look at a Job is one transaction: counting its ended Pods, taking their finalizers off, and the new status. So a
Pod is counted exactly once, whenever this server dies. A Pod that went down with its node, or was deleted, is replaced
and not counted as a failure.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from ..clock import parse
from ..core import Core
from ..deletion import BACKGROUND, JOB_TRACKING
from ..managed import Author
from ..objects import Obj, clone, is_true, meta, spec_of, status_of
from ..registry import Write
from ..resources import JOBS, PODS
from ..store import Event
from ..workqueue import WorkQueue
from . import jobstatus, podstatus
from .recorder import Recorder

_MANAGER = "kube-controller-manager"
_AUTHOR = Author(_MANAGER, "Update", "status")
_SLOWEST_RETRY = 60.0
_LONGEST = 10**9  # seconds; dates end in the year 9999
Key = tuple[str, str]


class JobController:
    def __init__(self, core: Core, recorder: Recorder, first_retry: float) -> None:
        self.core, self.recorder = core, recorder
        self._first_retry = first_retry  # seconds until a failed Pod is tried again; doubles with every failure
        self._retry_at: dict[str, float] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        for row in self.core.store.select(JOBS):
            self.queue.add((row.namespace, row.name))
        self.core.store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        if event.resource is JOBS:
            self.queue.add((event.namespace, event.name))
            if event.type == "DELETED":
                self._retry_at.pop(meta(event.object)["uid"], None)
        elif event.resource is PODS:
            for owner in meta(event.object).get("ownerReferences", ()):
                if owner.get("controller") and owner.get("kind") == "Job":
                    self.queue.add((event.namespace, owner["name"]))

    def _sync(self, key: Key) -> None:
        job = self.core.store.get(JOBS, *key)
        self.queue.forget(key)
        if job is None or "deletionTimestamp" in meta(job):
            return
        with self.core.store.transaction():
            status = clone(status_of(job))
            ended = jobstatus.finished(status)
            self._count(job, status, ended is not None)
            if ended is None:
                self._decide(job, status)
                jobstatus.count_pods(status, self._pods(job))
            job = self.core.registry.amend(JOBS, job, {**clone(job), "status": status}, _AUTHOR)
        self._wake(key, job)

    def _pods(self, job: Obj) -> list[Obj]:
        uid = meta(job)["uid"]
        return [
            pod
            for resource, pod in self.core.store.owned_by(uid)
            if resource is PODS
            and any(owner.get("controller") and owner.get("uid") == uid for owner in meta(pod)["ownerReferences"])
        ]

    def _count(self, job: Obj, status: Obj, job_ended: bool) -> None:
        """Add newly ended Pods to the counts; each loses its finalizer in the same transaction."""
        ending = jobstatus.given(status) is not None
        for pod in self._pods(job):
            if not podstatus.ended(pod) or JOB_TRACKING not in meta(pod).get("finalizers", ()):
                continue
            disrupted = "deletionTimestamp" in meta(pod) or is_true(pod, "DisruptionTarget")
            if job_ended:
                pass
            elif status_of(pod)["phase"] == "Succeeded":
                status["succeeded"] = status.get("succeeded", 0) + 1
            elif ending or not disrupted:
                failed = status["failed"] = status.get("failed", 0) + 1
                delay = min(_SLOWEST_RETRY, self._first_retry * 2 ** min(failed - 1, 20))
                self._retry_at[meta(job)["uid"]] = asyncio.get_running_loop().time() + delay
            self.core.deleter.release(PODS, pod, JOB_TRACKING)

    def _decide(self, job: Obj, status: Obj) -> None:
        now, pods = self.core.clock.stamp(), self._pods(job)
        suspended = spec_of(job).get("suspend") and jobstatus.given(status) is None
        if suspended:
            self._suspend(job, status, pods, now)
            return
        if "startTime" not in status:
            status["startTime"] = now
        if jobstatus.holds(status, "Suspended"):
            jobstatus.set_condition(status, "Suspended", False, now, reason="JobResumed", message="Job resumed")
            self.recorder.note(JOBS, job, "Resumed", "Job resumed", "job-controller")
            status["startTime"] = now
        verdict = jobstatus.verdict(job, status, pods, overdue=self._left(job, status) <= timedelta(0))
        if verdict is None:
            self._fill(job, status, pods)
            return
        jobstatus.set_condition(status, verdict.kind, True, now, reason=verdict.reason, message=verdict.message)
        self._delete([pod for pod in pods if not podstatus.ended(pod)])
        if all(podstatus.ended(pod) for pod in self._pods(job)):
            self._conclude(job, status, verdict, now)

    def _conclude(self, job: Obj, status: Obj, verdict: jobstatus.Verdict, now: str) -> None:
        jobstatus.set_condition(status, verdict.final, True, now, reason=verdict.reason, message=verdict.message)
        if verdict.final == "Complete":
            status["completionTime"] = now
            self.recorder.note(JOBS, job, "Completed", "Job completed", "job-controller")
        else:
            self.recorder.note(JOBS, job, verdict.reason, verdict.message, "job-controller", warning=True)

    def _suspend(self, job: Obj, status: Obj, pods: list[Obj], now: str) -> None:
        self._delete([pod for pod in pods if not podstatus.ended(pod)])
        status.pop("startTime", None)
        if not jobstatus.holds(status, "Suspended"):
            jobstatus.set_condition(status, "Suspended", True, now, reason="JobSuspended", message="Job suspended")
            self.recorder.note(JOBS, job, "Suspended", "Job suspended", "job-controller")

    def _fill(self, job: Obj, status: Obj, pods: list[Obj]) -> None:
        """As many Pods as the spec wants; one that is still ending takes its place until it has ended."""
        spec, succeeded = spec_of(job), status.get("succeeded", 0)
        alive = [pod for pod in pods if not podstatus.ended(pod)]
        staying = [pod for pod in alive if "deletionTimestamp" not in meta(pod)]
        completions = spec.get("completions")
        if completions is not None:
            wanted = min(spec["parallelism"], completions - succeeded)
        else:
            wanted = 0 if succeeded else spec["parallelism"]
            wanted = max(wanted, len(staying) if succeeded else 0)
        if len(staying) > wanted:
            self._delete(staying[wanted:])
        elif self._retry_at.get(meta(job)["uid"], 0.0) <= asyncio.get_running_loop().time():
            self._retry_at.pop(meta(job)["uid"], None)
            for _ in range(wanted - len(alive)):
                self._create(job)

    def _create(self, job: Obj) -> None:
        name, template = meta(job)["name"], spec_of(job)["template"]
        own = template.get("metadata") or {}
        owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": name, "uid": meta(job)["uid"]}
        metadata = {key: own[key] for key in ("labels", "annotations") if key in own} | {
            "generateName": f"{name[:52]}-",
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
            "finalizers": [JOB_TRACKING],
        }
        body = clone({"metadata": metadata, "spec": template["spec"]})
        pod = self.core.registry.create(PODS, meta(job)["namespace"], body, Write(_MANAGER))
        self.recorder.note(JOBS, job, "SuccessfulCreate", f"Created pod: {meta(pod)['name']}", "job-controller")

    def _delete(self, pods: list[Obj]) -> None:
        """A Pod that runs nothing goes at once, tracked by nobody; a running one ends first and is counted then."""
        for pod in pods:
            if "deletionTimestamp" in meta(pod):
                continue
            if not spec_of(pod).get("nodeName"):
                self.core.deleter.release(PODS, pod, JOB_TRACKING)
            self.core.deleter.delete(PODS, meta(pod)["namespace"], meta(pod)["name"], BACKGROUND)

    def _left(self, job: Obj, status: Obj) -> timedelta:
        """Time until the deadline."""
        limit = spec_of(job).get("activeDeadlineSeconds")
        if limit is None or "startTime" not in status:
            return timedelta.max
        limit = min(limit, _LONGEST)
        # startTime has whole seconds, cut off: a second more, so that no Job gets less than its time.
        return parse(status["startTime"]) + timedelta(seconds=limit + 1) - self.core.clock.now()

    def _wake(self, key: Key, job: Obj) -> None:
        """See to it that the Job is looked at when its next time comes: retry, deadline, or removal."""
        status, spec, loop = status_of(job), spec_of(job), asyncio.get_running_loop()
        if ended := jobstatus.finished(status):
            if (ttl := spec.get("ttlSecondsAfterFinished")) is not None:
                end = parse(ended["lastTransitionTime"]) + timedelta(seconds=min(ttl, _LONGEST))
                left = (end - self.core.clock.now()).total_seconds()
                if left <= 0:
                    self.core.deleter.delete(JOBS, *key, BACKGROUND)
                else:
                    self.queue.add_after(key, left)
            return
        if spec.get("suspend") or jobstatus.given(status):
            return  # what comes next is an event
        times = []
        if (deadline := self._left(job, status)) != timedelta.max:
            times.append(deadline.total_seconds())
        # Also when it has passed since _fill() looked: only _fill() takes it away.
        if (retry := self._retry_at.get(meta(job)["uid"])) is not None:
            times.append(retry - loop.time())
        if times:
            self.queue.add_after(key, max(0.001, min(times)))
