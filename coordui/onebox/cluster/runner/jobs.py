"""The Job controller: makes and removes Pods until a Job's counts say that it has ended.

Every look at a Job is one transaction: counting its ended Pods, taking their finalizers off, and the new status. So a
Pod is counted exactly once, whenever this server dies. A Pod that went down with its node is replaced and not counted
as a failure: a real cluster's Pods outlive its API server. A Pod that somebody deleted is a failure, as on a real one.

A look costs what is still open of a Job, not what it has done: it reads the Pods that run or wait, or are not counted
yet, and there are never more than MOST_PODS of those however many the Job asks for. Where looks take long, they get
rarer, so that one Job leaves the server time for all else.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta

from ..authors import Author, Write
from ..clock import parse
from ..core import Core
from ..errors import ApiError
from ..storage.objects import Obj, clone, is_true, meta, spec_of, status_of
from ..storage.resources import JOBS, PODS
from ..storage.store import Event
from ..storage.workqueue import WorkQueue
from ..writes.deletion import BACKGROUND, JOB_TRACKING
from . import indexes, jobstatus, podstatus
from .recorder import Recorder

_MANAGER = "kube-controller-manager"
_COMPONENT = "job-controller"
_AUTHOR = Author(_MANAGER, "Update", "status")
_CREATE_AGAIN = 5  # times the first delay, after a Pod was refused: by a quota, for example
_LONGEST = 10**9  # seconds; dates end in the year 9999
MOST_PODS = 500  # of one Job at once
_STEP = 50  # Pods made or deleted in one look; their events bring the next one, and requests get their turn before it
_PAGE = 500
_LONG = 0.01  # seconds of the processor, for a look at one Job
_PAUSE = 4  # times as long as such a look took, the next look at that Job waits
Key = tuple[str, str]


@dataclass
class _Failures:
    """Of one Job since its last success. Forgotten with the server, as a real controller does."""

    count: int = 0
    retry_at: float = 0.0  # the loop's time before which no new Pod is made; 0: none


class JobController:
    def __init__(self, core: Core, recorder: Recorder, first_retry: float) -> None:
        self.core, self.recorder = core, recorder
        self._first_retry = first_retry  # seconds until a failed Pod is tried again; doubles with every failure
        self._failures: dict[str, _Failures] = {}
        self._pauses: dict[Key, float] = {}  # the loop's time before which a Job is not looked at
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        """Jobs that are over are left alone, but for the time when they have to go."""
        place: tuple[str, str] | None = None
        while rows := self.core.store.select(JOBS, limit=_PAGE, after=place):
            place = (rows[-1].namespace, rows[-1].name)
            for row in rows:
                job, key = row.object, (row.namespace, row.name)
                if jobstatus.finished(status_of(job)):
                    self._wake(key, job)
                else:
                    self.queue.add(key)
        self.core.store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        if event.resource is JOBS:
            self.queue.add((event.namespace, event.name))
            if event.type == "DELETED":
                self._failures.pop(meta(event.object)["uid"], None)
                self._pauses.pop((event.namespace, event.name), None)
        elif event.resource is PODS:
            for owner in meta(event.object).get("ownerReferences", ()):
                if owner.get("controller") and owner.get("kind") == "Job":
                    self.queue.add((event.namespace, owner["name"]))

    def _sync(self, key: Key) -> None:
        now, started = asyncio.get_running_loop().time(), time.thread_time()
        if (until := self._pauses.pop(key, 0.0)) > now:
            self._pauses[key] = until
            self.queue.add_after(key, until - now)
            return
        self._look(key)
        if (took := time.thread_time() - started) > _LONG:
            self._pauses[key] = asyncio.get_running_loop().time() + took * _PAUSE

    def _look(self, key: Key) -> None:
        job = self.core.store.get(JOBS, *key)
        self.queue.forget(key)
        if job is None or "deletionTimestamp" in meta(job):
            return
        with self.core.store.transaction():
            status, pods = clone(status_of(job)), self._pods(job)
            ended = jobstatus.finished(status)
            self._count(job, status, pods, ended is not None)
            if ended is None:
                jobstatus.count_pods(status, self._decide(job, status, pods))
            job = self.core.registry.amend(JOBS, job, {**clone(job), "status": status}, _AUTHOR)
        self._wake(key, job)

    def _pods(self, job: Obj) -> list[Obj]:
        """Those that are not over and counted."""
        uid = meta(job)["uid"]
        return [
            pod
            for resource, pod in self.core.store.owned_by(uid, settled=False)
            if resource is PODS
            and any(owner.get("controller") and owner.get("uid") == uid for owner in meta(pod)["ownerReferences"])
        ]

    def _count(self, job: Obj, status: Obj, pods: list[Obj], job_ended: bool) -> None:
        """Add newly ended Pods to the counts; each loses its finalizer in the same transaction."""
        spec, uid = spec_of(job), meta(job)["uid"]
        indexed = spec["completionMode"] == "Indexed"
        done = indexes.read(status.get("completedIndexes", ""))
        for pod in pods:
            failed = jobstatus.failed(pod, spec["podReplacementPolicy"])
            if JOB_TRACKING not in meta(pod).get("finalizers", ()) or not (failed or podstatus.ended(pod)):
                continue
            if not job_ended and not failed:
                self._failures.pop(uid, None)
                status["succeeded"] = status.get("succeeded", 0) + 1
                if indexed and (index := indexes.index_of(pod)) is not None:
                    done.append((index, index))
            elif not job_ended and (jobstatus.given(status) or not is_true(pod, "DisruptionTarget")):
                status["failed"] = status.get("failed", 0) + 1
                failures = self._failures.setdefault(uid, _Failures())
                failures.count += 1
                delay = jobstatus.retry_delay(failures.count, self._first_retry)
                failures.retry_at = asyncio.get_running_loop().time() + delay
            self.core.deleter.release(PODS, pod, JOB_TRACKING)
        if done:
            done = indexes.joined(done)
            status |= {"completedIndexes": indexes.write(done), "succeeded": indexes.count(done)}

    def _decide(self, job: Obj, status: Obj, pods: list[Obj]) -> list[Obj]:
        """The Pods as they are then."""
        now = self.core.clock.stamp()
        if spec_of(job).get("suspend") and jobstatus.given(status) is None:
            return self._suspend(job, status, pods, now)
        if "startTime" not in status:
            status["startTime"] = now
        if jobstatus.holds(status, "Suspended"):
            jobstatus.set_condition(status, "Suspended", False, now, reason="JobResumed", message="Job resumed")
            self.recorder.note(JOBS, job, "Resumed", "Job resumed", _COMPONENT)
            status["startTime"] = now
        verdict = jobstatus.verdict(job, status, pods, overdue=self._left(job, status) <= timedelta(0))
        if verdict is None:
            return self._fill(job, status, pods)
        jobstatus.set_condition(status, verdict.kind, True, now, reason=verdict.reason, message=verdict.message)
        pods = self._without(job, pods, jobstatus.staying(pods), counted=True)
        if not jobstatus.alive(pods):
            self._conclude(job, status, verdict, now)
        return pods

    def _conclude(self, job: Obj, status: Obj, verdict: jobstatus.Verdict, now: str) -> None:
        jobstatus.set_condition(status, verdict.final, True, now, reason=verdict.reason, message=verdict.message)
        if verdict.final == "Complete":
            status["completionTime"] = now
            self.recorder.note(JOBS, job, "Completed", "Job completed", _COMPONENT)
        else:
            self.recorder.note(JOBS, job, verdict.reason, verdict.message, _COMPONENT, warning=True)

    def _suspend(self, job: Obj, status: Obj, pods: list[Obj], now: str) -> list[Obj]:
        pods = self._without(job, pods, jobstatus.staying(pods), counted=False)
        status.pop("startTime", None)
        if not jobstatus.holds(status, "Suspended"):
            jobstatus.set_condition(status, "Suspended", True, now, reason="JobSuspended", message="Job suspended")
            self.recorder.note(JOBS, job, "Suspended", "Job suspended", _COMPONENT)
        return pods

    def _fill(self, job: Obj, status: Obj, pods: list[Obj]) -> list[Obj]:
        """As many Pods as the spec wants."""
        spec, succeeded = spec_of(job), status.get("succeeded", 0)
        staying, completions = jobstatus.staying(pods), spec.get("completions")
        if completions is not None:
            wanted = min(spec["parallelism"], completions - succeeded)
        else:
            wanted = 0 if succeeded else spec["parallelism"]
            wanted = max(wanted, len(staying) if succeeded else 0)
        wanted = max(0, min(wanted, MOST_PODS))
        if len(staying) > wanted:
            return self._without(job, pods, staying[wanted:], counted=False)
        if failures := self._failures.get(meta(job)["uid"]):
            if failures.retry_at > asyncio.get_running_loop().time():
                return pods
            failures.retry_at = 0.0
        # One that is still ending takes its place only if the policy says so.
        taking = jobstatus.alive(pods) if spec["podReplacementPolicy"] == "Failed" else staying
        missing = min(wanted - len(taking), _STEP)
        if spec["completionMode"] == "Indexed":
            done = indexes.read(status.get("completedIndexes", ""))
            running = {index for pod in taking if (index := indexes.index_of(pod)) is not None}
            chosen: list[int | None] = [*indexes.wanted(completions or 0, done, running, missing)]
        else:
            chosen = [None] * missing
        try:
            for index in chosen:
                self._create(job, index)
        except ApiError as why:
            self.recorder.note(JOBS, job, "FailedCreate", f"Error creating: {why}", _COMPONENT, warning=True)
            failures = self._failures.setdefault(meta(job)["uid"], _Failures())
            failures.retry_at = asyncio.get_running_loop().time() + self._first_retry * _CREATE_AGAIN
        return self._pods(job) if chosen else pods

    def _create(self, job: Obj, index: int | None) -> None:
        name, template = meta(job)["name"], clone(spec_of(job)["template"])
        own = template.get("metadata") or {}
        owner = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": name, "uid": meta(job)["uid"]}
        metadata = {key: own[key] for key in ("labels", "annotations") if key in own} | {
            "generateName": f"{name[:52]}-",
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
            "finalizers": [JOB_TRACKING],
        }
        body = {"metadata": metadata, "spec": template["spec"]}
        if index is not None:
            body = indexes.template(template["spec"], metadata, name, index)
        pod = self.core.registry.create(PODS, meta(job)["namespace"], body, Write(_MANAGER))
        self.recorder.note(JOBS, job, "SuccessfulCreate", f"Created pod: {meta(pod)['name']}", _COMPONENT)

    def _without(self, job: Obj, pods: list[Obj], going: list[Obj], *, counted: bool) -> list[Obj]:
        """Delete some of the Pods, at most _STEP of them. Those that are not to count as failures are tracked no more
        before they go. One that runs nothing goes at once; a running one ends first."""
        for pod in going[:_STEP]:
            if not counted or not spec_of(pod).get("nodeName"):
                self.core.deleter.release(PODS, pod, JOB_TRACKING)
            self.core.deleter.delete(PODS, meta(pod)["namespace"], meta(pod)["name"], BACKGROUND)
            self.recorder.note(JOBS, job, "SuccessfulDelete", f"Deleted pod: {meta(pod)['name']}", _COMPONENT)
        return self._pods(job) if going else pods

    def _left(self, job: Obj, status: Obj) -> timedelta:
        """Time until the deadline."""
        limit = spec_of(job).get("activeDeadlineSeconds")
        if limit is None or "startTime" not in status:
            return timedelta.max
        limit = min(limit, _LONGEST)
        # startTime has whole seconds, cut off: a second more, so that no Job gets less than its time.
        return timedelta(seconds=limit + 1) - (self.core.clock.now() - parse(status["startTime"]))

    def _wake(self, key: Key, job: Obj) -> None:
        """See to it that the Job is looked at when its next time comes: retry, deadline, or removal."""
        status, spec, loop = status_of(job), spec_of(job), asyncio.get_running_loop()
        if ended := jobstatus.finished(status):
            ttl, since = spec.get("ttlSecondsAfterFinished"), ended.get("lastTransitionTime")
            if ttl is not None and since:  # a client that wrote the condition may have left its time out
                left = min(ttl, _LONGEST) - (self.core.clock.now() - parse(since)).total_seconds()
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
        if (failures := self._failures.get(meta(job)["uid"])) and failures.retry_at:
            times.append(failures.retry_at - loop.time())
        if times:
            self.queue.add_after(key, max(0.001, min(times)))
