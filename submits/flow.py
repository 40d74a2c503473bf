"""One submission's story: prepared once, led through the gates, recorded.

Every step begins with a claim on the row, so a message that comes twice, late or from two workers does nothing, and a
row never depends on a message: the gatekeeper looks at rows, a message only makes it quicker.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from submits import rowclock
from submits.cluster.clock import SystemClock
from submits.engine.errors import Exit
from submits.engine.leashed import tail
from submits.engine.outcome import has_outcome
from submits.gates import naming
from submits.gates.admission import road_of
from submits.gates.objects import Unchanged, created, ticket_body
from submits.gates.ports import AlreadyExists, Cluster, ClusterError, NotFound
from submits.gates.verdicts import Means, Outcome, Run, Verdict
from submits.live import read, say
from submits.models import Submission
from submits.preparing import NotOurs, prepare_run
from submits.scopes import PARTY, admitter, backend, connect, leashed_submit, rules, store
from submits.states import Phase, Reason, Status
from submits.stoppable import Stoppable

log = logging.getLogger(__name__)
DatabaseErrors = (DatabaseError, InterfaceError)
TRIES = 3  # submits that may end without a search
OUTAGES = 12  # tries in a row that the cluster, or the work store, need not answer
GROWS = 5  # outages up to which the pause before the next try grows
CLUSTER_TAKES = 3  # as after so many outages, 2 minutes and then 4: a cluster of the cloud starts or ends
HOPELESS = {1, 2}  # the engine's exit statuses for its input and its database: another try would not change them
RECORD_FOR = 30.0  # seconds a verdict is held on to while the database does not take it


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def pause(outages: int) -> timedelta:
    """Before the next try after so many that had no answer."""
    return timedelta(seconds=min(300, 15 * 2 ** min(outages, GROWS)) * rules().times.back_off / 5)


def run(pk: int) -> None:
    """Whatever the submission's row says is next. Returns at once when somebody else is at it."""
    status = Submission.objects.values_list("status", flat=True).filter(pk=pk).first()
    if status == Status.QUEUED:
        prepare(pk)
    elif status == Status.WAITING:
        lead_through(pk)


# Preparation ----------------------------------------------------------------------------------------------------------


def prepare(pk: int) -> None:
    """Check, split and store, once; then take a place in line.

    1. claim QUEUED → PREPARING          2. read the query again, as the form did
    3. write the batches and the plan    4. S0: POST the ticket; a gatekeeper does it later when the cluster is away
    5. PREPARING → WAITING; back to QUEUED while the work store does not answer or the database is away

    Raises DatabaseErrors: the row stays PREPARING, and is done again as one whose worker died.
    """
    submission = Submission.objects.claim(
        pk, expected=Status.QUEUED, status=Status.PREPARING, phase=Phase.PREPARING, worker=worker_name()
    )
    if submission is None:
        return
    say(submission)
    try:
        trouble = prepare_run(submission)
    except NotOurs as error:
        log.info("%s", error)
        return  # it takes no place in line
    except OSError as error:
        log.warning("submission=%s cannot be prepared yet: %s", submission.key, error)
        status, phase, facts = put_off(submission, Status.QUEUED, Phase.RECEIVED)
        settle(submission, status, phase=phase, detail=str(error), **facts)
        return
    except DatabaseErrors:  # it says nothing of the query
        connection.close()
        raise
    except Exception as error:  # whatever it is, the row must not stay "preparing": it says so and the log has the rest
        log.exception("submission=%s cannot be prepared", submission.key)
        trouble = (Reason.PREPARATION_FAILED, f"{type(error).__name__}: {error}")
    if trouble is not None:
        reason, detail = trouble
        waits = reason is Reason.DATABASE_AWAY
        status, phase = (Status.QUEUED, Phase.RECEIVED) if waits else (Status.FAILED, Phase.ENDED)
        settle(submission, status, phase=phase, reason=reason, detail=detail)
        return
    longest = timedelta(seconds=rules().times.until)
    since = rowclock.now()  # where the API server does not tell its own time
    until = submission.until or since + longest
    status, phase, reason, detail = Status.WAITING, Phase.IN_LINE, Reason.WAITING_IN_LINE, ""
    cluster = None
    try:
        cluster = connect(submission.scope)
        until = submission.until or server_date(cluster) + longest
        since = stand_in_line(cluster, submission, until)
    except ClusterError as error:
        log.warning("submission=%s has no ticket yet: %s", submission.key, error)
        outcome, reason = road_of(error)
        detail = str(error)
        if outcome is Outcome.REFUSED:
            status, phase = Status.FAILED, Phase.ENDED
    facts = {"ticket_at": since, "until": until, "moved_at": since, "outages": 0, "next_try_at": None}
    if not settle(submission, status, phase=phase, reason=reason, detail=detail, **facts) and cluster is not None:
        leave_line(cluster, submission)


def settle(submission: Submission, status: Status, **facts: Any) -> bool:
    """What a claim ends with. When another has moved the row meanwhile, that stands, and hears that we have stopped."""
    moved = Submission.objects.move(submission, status, **facts)
    if not moved:
        Submission.objects.let_go(submission)
    say(submission)
    return moved


def server_date(cluster: Cluster) -> datetime:
    """The API server's clock, by which waits end. Raises ClusterError."""
    try:
        return cluster.get("configmaps", naming.CONTROLS).date
    except NotFound as error:
        return error.date or rowclock.now()


def stand_in_line(cluster: Cluster, submission: Submission, until: datetime) -> datetime:
    """S0. When the place was taken, by the API server's clock. A ticket that is there already is this one's."""
    if backend().in_store:
        return rowclock.now()  # there is no line to stand in
    body = ticket_body(submission.key, submission.run_id, PARTY, until)
    try:
        ticket = cluster.create("leases", body).object
    except AlreadyExists:
        ticket = cluster.get("leases", body["metadata"]["name"]).object
    return created(ticket) or rowclock.now()


# The gates ------------------------------------------------------------------------------------------------------------


class Recorder:
    """The admission's `report`: each step into the row, and a sign of life with each heartbeat."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission

    def __call__(self, phase: Phase, **facts: Any) -> bool | None:
        try:
            return self.write(phase, **facts)
        except DatabaseErrors:
            connection.close()  # so that the next step finds a fresh one
            raise

    def write(self, phase: Phase, **facts: Any) -> bool | None:
        """False once the row shows that the claim is another's; else None, also for a step that was not recorded."""
        submission = self.submission
        if not Submission.objects.beat(submission):
            return False
        if facts.get("token", submission.token) < submission.token:
            look_again(submission, facts["token"])
            return False
        kept = {name: facts[name] for name in ("token", "holder") if name in facts}
        if not Submission.objects.move(submission, Status.SUBMITTING, phase=phase, **kept):
            # Moved just now: the next report knows by whom.
            log.warning("submission=%s was moved by another; step %s not recorded", submission.key, phase)
        say(submission)
        return None


def look_again(submission: Submission, token: int) -> None:
    """Revisions only grow, so a cluster that gives a smaller one has been put back to an earlier state.

    What is remembered of it is worth nothing then: the search stands in line again, and its run is looked up first.
    """
    detail = f"the gate was taken with token {token}, and before that with {submission.token}"
    log.error("submission=%s cluster_restored: %s", submission.key, detail)
    later = rowclock.now() + timedelta(seconds=rules().times.back_off)
    Submission.objects.move(
        submission,
        Status.WAITING,
        phase=Phase.IN_LINE,
        reason=Reason.CLUSTER_RESTORED,
        detail=detail,
        token=0,
        next_try_at=later,
    )
    say(submission)


def is_cancelled(submission: Submission) -> bool:
    """Whether the row says so; False when the database does not say."""
    try:
        return Submission.objects.filter(pk=submission.pk, status=Status.CANCELLING).exists()
    except DatabaseErrors:
        connection.close()
        return False


def lead_through(pk: int) -> None:
    """One try at the gates: claim WAITING → SUBMITTING, admit, record the verdict."""
    submission = Submission.objects.claim(
        pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker=worker_name()
    )
    if submission is None:
        return
    hold_on_to(submission, tried(submission))


def tried(submission: Submission) -> Verdict:
    try:
        if has_outcome(store(), submission.run_id):
            # It has run to its end, and an attempt that died could not say so; its Jobs may be gone already.
            return Verdict(Outcome.SUBMITTED)
    except OSError as error:
        return Verdict(Outcome.BACK, Reason.WORK_STORE_UNAVAILABLE, str(error))
    try:
        cluster, submit = connect(submission.scope), leashed_submit(submission.scope)
    except ClusterError as error:
        return Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, str(error))
    unchanged = Unchanged(*read(submission.scope)[0]["unchanged"])
    stoppable = Stoppable(submit, lambda: is_cancelled(submission), rules().times.grace)
    means = Means(cluster, SystemClock(), stoppable, rules(), Recorder(submission), unchanged)
    return admitter(submission.scope)(Run(submission.key, submission.run_id, PARTY), means)


def hold_on_to(submission: Submission, verdict: Verdict) -> None:
    """Record a verdict although the database may be away: it broke during the submit, or is being restarted."""
    end = time.monotonic() + RECORD_FOR
    while True:
        try:
            return record(submission, verdict)
        except DatabaseErrors:
            if time.monotonic() > end:
                raise
            log.exception("submission=%s verdict=%s not recorded yet", submission.key, verdict.outcome)
            connection.close()  # Django itself drops a broken connection only between tasks
            time.sleep(1.0)


def record(submission: Submission, verdict: Verdict) -> None:
    """A verdict becomes the row's next state. What another has written meanwhile stands: it asked the cluster too."""
    following = next_state(submission, verdict)
    if following is None:
        log.info("submission=%s verdict=%s: the claim is another's", submission.key, verdict.outcome)
        Submission.objects.let_go(submission)
        return
    status, phase, facts = following
    detail = verdict.detail
    if verdict.outcome is Outcome.NOTHING:
        detail = tail(store(), submission.run_id) or detail
    facts.setdefault("reason", verdict.reason)
    # A try that took the gate has a token; one that did not must not write a smaller one.
    if verdict.token > submission.token:
        facts |= {"token": verdict.token, "holder": verdict.holder}
    moved = settle(submission, status, phase=phase, detail=detail, **facts)
    log.info("submission=%s verdict=%s recorded=%s", submission.key, verdict.outcome, moved)


def next_state(submission: Submission, verdict: Verdict) -> tuple[Status, Phase, dict[str, Any]] | None:
    """What follows from a verdict; None: nothing, the row is another's. Being shut out costs nothing; a submit that
    did nothing costs one of three tries, unless there was no room or the work store did not answer it."""
    now = rowclock.now()
    times = rules().times
    later = {"next_try_at": now + timedelta(seconds=times.back_off)}
    match verdict.outcome:
        case Outcome.SUBMITTED:
            return Status.RUNNING, Phase.STARTING, {"submitted_at": now, "outages": 0, "next_try_at": None}
        case Outcome.SHUT:
            # Full although the line saw room: until its view has changed, the gate would be taken in vain again.
            full = verdict.reason is Reason.WAITING_FOR_CAPACITY
            return Status.WAITING, Phase.IN_LINE, {"outages": 0, **(later if full else {"next_try_at": None})}
        case Outcome.UNKNOWN | Outcome.BACK if verdict.reason is Reason.COORDINATION_UNAVAILABLE:
            outages = submission.outages + 1
            # Once a submit has begun nobody may call the search failed before it has been looked up.
            if outages >= OUTAGES and verdict.exit_code is None:
                return Status.FAILED, Phase.ENDED, {"outages": outages, "reason": Reason.COORDINATION_LOST}
            again = now + pause(submission.outages)
            return Status.WAITING, Phase.IN_LINE, {"outages": outages, "next_try_at": again}
        case Outcome.BACK if verdict.reason is Reason.WORK_STORE_UNAVAILABLE:
            return put_off(submission, Status.WAITING, Phase.IN_LINE)
        case Outcome.BACK | Outcome.UNKNOWN:
            return Status.WAITING, Phase.IN_LINE, later
        case Outcome.NOTHING:
            return came_to_nothing(submission, verdict.exit_code)
        case Outcome.REFUSED:
            return Status.FAILED, Phase.ENDED, {}
        case Outcome.SUPERSEDED:
            return None


def came_to_nothing(submission: Submission, exit_code: int | None) -> tuple[Status, Phase, dict[str, Any]]:
    """The submit ended without a search. What would be the same at the next try costs one of three."""
    if exit_code == Exit.UNSTORED:
        return put_off(submission, Status.WAITING, Phase.IN_LINE)
    now = rowclock.now()
    if exit_code == Exit.NOT_READY:
        # Up to `until`, with pauses that grow; it never counts as so many outages that it had failed by them.
        outages, again = min(submission.outages + 1, GROWS), now + pause(submission.outages)
        return Status.WAITING, Phase.IN_LINE, {"outages": outages, "reason": Reason.NO_ROOM, "next_try_at": again}
    tries = submission.tries + 1
    if tries >= TRIES or exit_code in HOPELESS:
        return Status.FAILED, Phase.ENDED, {"tries": tries, "reason": Reason.SUBMIT_FAILED}
    back_off = timedelta(seconds=rules().times.back_off)
    again = now + (pause(CLUSTER_TAKES + submission.tries) if exit_code == Exit.CLUSTER else back_off)
    return Status.WAITING, Phase.IN_LINE, {"tries": tries, "outages": 0, "next_try_at": again}


def put_off(submission: Submission, status: Status, phase: Phase) -> tuple[Status, Phase, dict[str, Any]]:
    """The work store did not answer: it stands so until a later try, and after too many in a row it has failed."""
    outages = submission.outages + 1
    if outages >= OUTAGES:
        return Status.FAILED, Phase.ENDED, {"outages": outages, "reason": Reason.WORK_STORE_LOST}
    again = rowclock.now() + pause(submission.outages)
    return status, phase, {"outages": outages, "reason": Reason.WORK_STORE_UNAVAILABLE, "next_try_at": again}


def missed(submission: Submission, detail: str) -> None:
    """One more try of a waiting one that the cluster did not answer: the same road as an admission's."""
    verdict = Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, detail)
    if (following := next_state(submission, verdict)) is not None:
        status, phase, facts = following
        settle(submission, status, phase=phase, detail=detail, **{"reason": verdict.reason, **facts})


def leave_line(cluster: Cluster, submission: Submission) -> None:
    """The gatekeeper drops the ticket if this cannot."""
    try:
        cluster.delete("leases", naming.ticket(submission.key))
    except ClusterError as error:
        log.warning("submission=%s: its ticket stands: %s", submission.key, error)
