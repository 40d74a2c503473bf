"""Cancelling a search, and the proof that nothing of it is left.

`ask` is the web's part: the row says CANCELLING, by whom and why. That supersedes whatever a worker has claimed: a
preparation takes no place in line, an admission stops before its submit, a submit is killed. `step` is the
gatekeeper's, repeated until the row has ended:

C1  DELETE the ticket                                it leaves the line whatever else is known
C2  nobody submits for it any more                   else later: its claimant has let go, or has been silent for so long
                                                     that its submit and the requests it sent are dead; door A is not
                                                     held for it
C3  its outcome is there, nothing was taken yet      it had ended before: completed or failed
C4  suspend the finalizer; DELETE setup, submit and  it goes on holding the place, and takes nothing that is missing
    blast Jobs                                       for a failure. Later, until they and their Pods are gone
C5  DELETE the finalizer and what pins it            later, until none of its Jobs and Pods is left
C6  DELETE the markers that name it                  later, while one may belong to an attempt that died: its requests
                                                     may be in flight, and the repair knows when they are not
C7  LIST Jobs, markers and Pods once more            none: cancelled (or completed, if its results were whole by then)

The guarantee: `cancelled` is said only after LISTs that went to the API server, not to a watch, showed no Job with its
id, no marker that names it and no Pod of it; until then a marker keeps its place. Every act is a DELETE with uid and
background propagation or may be said twice, so any process may die between two of them, and two gatekeepers do no harm.
What the cluster refuses, or the cluster or the work store does not answer, keeps the row CANCELLING with their words,
and is tried again.

The limit: a Pod is known by its label `elb-job-id`; of a search that gives its Pods no such label only the Jobs are
proved gone. A node that is lost keeps its Pods in the list, and the row CANCELLING, until somebody removes the node.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError

from submits import rowclock
from submits.cluster.brisk import NotAsked
from submits.ending import by_outcome, has_results
from submits.engine.partial import done_batches
from submits.flow import pause
from submits.gates import naming
from submits.gates.counting import is_finalizer, role, run_of
from submits.gates.objects import Gate, notes_of
from submits.gates.ports import Cluster, ClusterError, Conflict, Forbidden, Invalid, NamespaceMissing, NotFound, Object
from submits.live import say
from submits.models import Cluster as Scope
from submits.models import Submission
from submits.scopes import rules, store
from submits.states import Phase, Reason, Status

log = logging.getLogger(__name__)
MARKERS = f"{naming.ROLE} in (reservation,guard)"
AGAIN = 0.5  # seconds between two steps of one row


def ask(key: str, by: str, why: str = "") -> bool:
    """Whether it is being cancelled now, or is already. False: it had ended. Whoever asked first stays named."""
    while True:
        submission = Submission.objects.get(key=key)
        if submission.ended or submission.status == Status.CANCELLING:
            return not submission.ended
        facts: dict[str, Any] = {"cancel_by": by, "cancel_why": why[:200], "cancel_at": rowclock.now()}
        facts |= {"outages": 0, "next_try_at": None, "reason": Reason.CANCEL_ASKED, "detail": who(by, why)}
        if submission.status != Status.SUBMITTING:
            facts["worker"] = ""  # nobody is at it who could have Jobs made
        if Submission.objects.move(submission, Status.CANCELLING, phase=Phase.STOPPING, **facts):
            say(submission)
            return True


def who(by: str, why: str) -> str:
    return f"asked for by {by}" + (f": {why}" if why else "")


class Canceller:
    """All rows of a scope that are being cancelled, one after the other; one that fails keeps nobody else waiting."""

    def __init__(self) -> None:
        self.looked: dict[int, float] = {}  # by row: when, in the seconds of `turn`'s `now`

    def turn(self, scope: Scope, cluster: Cluster, now: float) -> None:
        rows = list(Submission.objects.filter(scope=scope, status=Status.CANCELLING))
        self.looked = {row.pk: self.looked.get(row.pk, now - AGAIN) for row in rows}
        for row in rows:
            early = row.next_try_at is not None and row.next_try_at > rowclock.now()
            if early or now - self.looked[row.pk] < AGAIN:
                continue
            self.looked[row.pk] = now
            try:
                attempt(row, cluster)
            except NotAsked:
                return
            except (DatabaseError, InterfaceError):
                raise
            except Exception:  # one row in a shape nobody foresaw keeps no other waiting
                log.exception("submission=%s cannot be cancelled", row.key)


def unanswered(scope: Scope, words: str) -> None:
    """The cluster is silent: what is being cancelled waits for it."""
    for row in Submission.objects.filter(scope=scope, status=Status.CANCELLING):
        if row.reason != Reason.COORDINATION_UNAVAILABLE:
            later(row, Phase(row.phase), Reason.COORDINATION_UNAVAILABLE, words)


def attempt(submission: Submission, cluster: Cluster) -> None:
    """One step; a refusal or an outage is recorded, and tried again later each time. Raises NotAsked."""
    try:
        step(submission, cluster)
    except NotAsked:
        raise
    except (ClusterError, OSError) as error:
        again = rowclock.now() + pause(submission.outages)
        Submission.objects.move(
            submission,
            Status.CANCELLING,
            phase=Phase(submission.phase),
            reason=reason_of(error),
            detail=str(error),
            outages=submission.outages + 1,
            next_try_at=again,
        )
        say(submission)


def reason_of(error: ClusterError | OSError) -> Reason:
    match error:
        case OSError():
            return Reason.WORK_STORE_UNAVAILABLE
        case Forbidden() | Invalid() | NamespaceMissing():
            return Reason.CANCEL_REFUSED
    return Reason.COORDINATION_UNAVAILABLE


def step(submission: Submission, cluster: Cluster) -> None:
    """As far as it goes at this moment. Raises ClusterError, and OSError for the work store."""
    cluster.delete("leases", naming.ticket(submission.key))  # C1
    if still_submitted(submission, cluster):  # C2
        later(submission, Phase.STOPPING, Reason.CANCEL_WAITS_FOR_SUBMIT)
        return
    if submission.phase == Phase.STOPPING and by_outcome(submission):  # C3
        return
    jobs = jobs_of(submission, cluster)
    # Recorded before the first DELETE: an outcome that says "failed" from now on is our own doing.
    begins = bool(jobs) and submission.phase == Phase.STOPPING
    if begins and not later(submission, Phase.CLEARING, Reason.CANCEL_CLEARS):
        return
    left = clear(submission, jobs, cluster)  # C4, C5
    left = left or drop_markers(submission, cluster)  # C6
    left = left or names(everything(submission, cluster))  # C7
    if left:
        later(submission, Phase.CLEARING, Reason.CANCEL_CLEARS, f"still there: {', '.join(left)}")
    else:
        cancelled(submission)


def still_submitted(submission: Submission, cluster: Cluster) -> bool:
    """C2."""
    times = rules().times
    patience = timedelta(seconds=times.heartbeat + times.leash + times.kill + times.quiet_after_kill)
    alive = submission.beat_at is not None and rowclock.now() - submission.beat_at < patience
    if submission.worker and alive:
        return True
    try:
        answer = cluster.get("leases", naming.gate(cluster.namespace))
    except NotFound:
        return False
    gate = Gate.read(answer.object)
    return naming.parent(gate.run_id) == submission.run_id and not gate.is_open(answer.date, rules())


def jobs_of(submission: Submission, cluster: Cluster) -> list[Object]:
    """Whatever carries its id, of any kind; a pin goes with its finalizer."""
    return list(cluster.list("jobs", naming.of_run(submission.run_id)).items)


def pods_of(submission: Submission, cluster: Cluster) -> list[Object]:
    return list(cluster.list("pods", naming.of_run(submission.run_id)).items)


def markers_of(submission: Submission, cluster: Cluster) -> list[Object]:
    return [job for job in cluster.list("jobs", MARKERS).items if run_of(job) == submission.run_id]


def everything(submission: Submission, cluster: Cluster) -> list[Object]:
    return jobs_of(submission, cluster) + markers_of(submission, cluster) + pods_of(submission, cluster)


def names(objects: list[Object]) -> list[str]:
    told = [str(obj["metadata"]["name"]) for obj in objects]
    return told if len(told) <= 5 else [*told[:4], f"{len(told) - 4} more"]


def at_work(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def clear(submission: Submission, jobs: list[Object], cluster: Cluster) -> list[str]:
    """C4 and C5: the names of what is still there after this step."""
    finalizers = [job for job in jobs if is_finalizer(job)]
    pins = [job for job in jobs if role(job) == "pin"]
    for job in finalizers:
        suspend(job, cluster)
    working = [job for job in jobs if job not in finalizers and job not in pins]
    for job in working:
        cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
    if not jobs:
        return names(pods_of(submission, cluster))
    # A Pod of a Job that is gone may have made another Job before it ended: so Pods first, then the Jobs again.
    busy = [pod for pod in pods_of(submission, cluster) if at_work(pod)]
    fresh = [job for job in jobs_of(submission, cluster) if not is_finalizer(job) and role(job) != "pin"]
    if busy or fresh:
        return names(fresh + busy)
    for job in finalizers + pins:
        cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
    return names(jobs_of(submission, cluster) + pods_of(submission, cluster))


def suspend(job: Object, cluster: Cluster) -> None:
    """Its Pods end and the Job stays, counted by every door."""
    if (job.get("spec") or {}).get("suspend"):
        return
    meta = job["metadata"]
    same = {"op": "test", "path": "/metadata/uid", "value": meta["uid"]}
    try:
        cluster.patch("jobs", meta["name"], [same, {"op": "add", "path": "/spec/suspend", "value": True}])
    except (NotFound, Conflict, Invalid) as error:
        log.info("submission's finalizer %s not suspended: %s", meta["name"], error)  # it has ended, or is another


def drop_markers(submission: Submission, cluster: Cluster) -> list[str]:
    """C6. A reservation goes when its submit is known to have ended: its search was seen running, or it says so."""
    left = []
    for job in markers_of(submission, cluster):
        ended = submission.submitted_at is not None or notes_of(job).get(naming.KEEP) == Reason.MARKER_MISSING
        if role(job) == "reservation" and not ended:
            left.append(job)
        else:
            cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
    return names(left)


def later(submission: Submission, phase: Phase, reason: Reason, detail: str = "") -> bool:
    """What it waits for; False when another has moved it."""
    version = submission.version
    detail = detail or who(submission.cancel_by, submission.cancel_why)
    facts: dict[str, Any] = {"reason": reason, "detail": detail, "outages": 0, "next_try_at": None}
    moved = Submission.objects.move(submission, Status.CANCELLING, phase=phase, **facts)
    if submission.version != version:
        say(submission)
    return moved


def cancelled(submission: Submission) -> None:
    """C7: proved."""
    if has_results(submission) and by_outcome(submission):
        return
    own = submission.cancel_by == submission.owner.get_username()
    Submission.objects.move(
        submission,
        Status.CANCELLED,
        phase=Phase.ENDED,
        reason=Reason.CANCELLED_BY_OWNER if own else Reason.CANCELLED_BY_OPERATOR,
        detail="" if own else who(submission.cancel_by, submission.cancel_why),
        batches_done=len(done_batches(store(), submission.run_id)),
        next_try_at=None,
    )
    say(submission)
