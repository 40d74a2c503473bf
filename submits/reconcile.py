"""Rows against the cluster: what a row says and nobody is doing any more. At start and on a timer, in the gatekeeper.

Every mend is a compare-and-set, so two of them are harmless. It starts no search. What the watches have shown may be
old: before a row ends by what is *not* there, the cluster is asked afresh.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from submits import cancel, rowclock
from submits.ending import by_outcome, fail
from submits.engine.diagnosis import HeldUp
from submits.engine.external.markers import READER
from submits.engine.external.settings import read_handed
from submits.engine.outcome import has_outcome
from submits.engine.progress import state_of
from submits.engine.stage import Stage, facts_of, stage_of
from submits.gates import naming
from submits.gates.counting import is_terminal
from submits.gates.line import Sight
from submits.gates.objects import notes_of, parse_time
from submits.gates.ports import Cluster, ClusterError, Object
from submits.live import say
from submits.models import Cluster as Scope
from submits.models import Submission
from submits.scopes import rules, store
from submits.states import Phase, Reason, Status
from submits.work import Unstored

log = logging.getLogger(__name__)
VANISHED_AFTER = timedelta(seconds=15)  # seconds after its submit before a run can be missed at all
PREPARATIONS = 5  # that may lose their workers
OUTCOME_AFTER = timedelta(seconds=30)


def deserted(submission: Submission, now: datetime) -> bool:
    """Its claimant has given no sign of life for longer than a leash: whatever it started is dead."""
    times = rules().times
    patience = timedelta(seconds=times.leash + times.kill + times.heartbeat)
    return submission.beat_at is None or now - submission.beat_at > patience


def desert_preparations(scope: Scope) -> None:
    """A preparation whose worker died is done again: its files are the same files. It ends when they die of it."""
    for submission in Submission.objects.filter(scope=scope, status=Status.PREPARING):
        if not deserted(submission, rowclock.now()):
            continue
        lost = submission.events.filter(status=Status.QUEUED, reason=Reason.WORKER_LOST).count() + 1
        if lost >= PREPARATIONS:
            fail(submission, Reason.PREPARATION_FAILED, f"{lost} times the worker that prepared it was lost")
            continue
        Submission.objects.move(submission, Status.QUEUED, phase=Phase.RECEIVED, reason=Reason.WORKER_LOST)
        say(submission)


def desert_admissions(scope: Scope, sight: Sight) -> None:
    """An admission whose worker died: the cluster tells what became of it.

    1. Its finalizer, or when that has been removed since its outcome, is there: it was submitted.
    2. A reservation is kept for it: its submit succeeded, and its search is nowhere to be seen.
    3. Its hold or its reservation is still there: the repair is not done; later.
    4. Nothing is there: it stands in line again.
    """
    for submission in Submission.objects.filter(scope=scope, status=Status.SUBMITTING):
        if not deserted(submission, rowclock.now()):
            continue
        of_run = sight.of_run(submission.run_id)
        try:
            submitted = has_finalizer(of_run) or has_outcome(store(), submission.run_id)
        except OSError as error:  # its outcome may be there, so nothing is said of it yet
            log.warning("submission=%s cannot be looked up: %s", submission.key, error)
            continue
        if submitted:
            running(submission)
        elif any(notes_of(job).get(naming.KEEP) == Reason.MARKER_MISSING for job in of_run):
            fail(submission, Reason.MARKER_MISSING, f"{naming.ELB_JOB_ID}={submission.run_id} is not in the namespace")
        elif not left_in_cluster(submission, sight, of_run):
            detail = f"the process {submission.worker} that submitted it is gone; nothing of it is in the cluster"
            Submission.objects.move(
                submission, Status.WAITING, phase=Phase.IN_LINE, reason=Reason.WORKER_LOST, detail=detail
            )
            log.warning("submission=%s worker_lost worker=%s", submission.key, submission.worker)
            say(submission)


def has_finalizer(of_run: Iterable[Object]) -> bool:
    return stage_of(of_run).finalizer != "absent"


def left_in_cluster(submission: Submission, sight: Sight, of_run: list[Object]) -> bool:
    """Whether anything of it is alive: what has ended is looked up, and swept, by the next attempt.

    Nobody gives back the expired hold of a holder without a leash; whoever comes next takes it over.
    """
    alive = any(not is_terminal(job) for job in of_run)
    return alive or (naming.parent(sight.gate.run_id) == submission.run_id and not sight.gate_open)


def running(submission: Submission) -> None:
    now = rowclock.now()
    Submission.objects.move(submission, Status.RUNNING, phase=Phase.STARTING, submitted_at=now, next_try_at=None)
    say(submission)


def find_submitted(waiting: Iterable[Submission], sight: Sight) -> None:
    """A waiting row whose finalizer is in the cluster was submitted by an attempt that could not record it.

    One that has an outcome but no finalizer any more is found by its next attempt: nobody asks the work store for all
    that stand in line.
    """
    for submission in waiting:
        if has_finalizer(sight.of_run(submission.run_id)):
            running(submission)


def silence(scope: Scope, words: str, date: datetime) -> None:
    """The cluster does not answer: what is being cancelled waits for it; a wait past its end is over all the same.
    `date`: its clock, as it was last heard and has gone on since."""
    cancel.unanswered(scope, words)
    for row in Submission.objects.filter(scope=scope, status=Status.WAITING, until__lte=date):
        fail(row, Reason.COORDINATION_LOST, words)


def follow(
    scope: Scope, sight: Sight, cluster: Cluster, held: Mapping[str, HeldUp | None] | None = None, after: int = 0
) -> int:
    """Running rows to their end. `completed` is said only when the results can be read. `held`: by run, what its Pods
    are held up by; None: nothing. Of a run that is not among them nothing is known yet.

    Returns the first row (its pk; 0: none) of which an object store did not say how it ended. When it has not answered
    at all, those behind are not asked for within `brisk`, so that row is the last one the next time, by `after`: a file
    that can never be read keeps nobody else's end back. What needs no store is said of all.
    """
    unread = 0
    rows = Submission.objects.filter(scope=scope, status=Status.RUNNING).order_by("pk")
    for submission in sorted(rows, key=lambda row: row.pk <= after):
        try:
            step(submission, sight.of_run(submission.run_id), cluster, sight.date, held or {})
        except ClusterError as error:
            log.warning("submission=%s: %s", submission.key, error)
        except Unstored as error:
            if not unread:
                log.warning("submission=%s is the first that cannot be looked up: %s", submission.key, error)
                unread = submission.pk
        except OSError:
            # A full disk, a directory that is away: this row is looked at again, the others are not kept waiting.
            log.exception("submission=%s cannot be followed", submission.key)
    return unread


def step(
    submission: Submission, of_run: list[Object], cluster: Cluster, date: datetime, held: Mapping[str, HeldUp | None]
) -> None:
    """A row as its run is, with `date`, the API server's clock.

    1. Its finalizer is at work: how far it is, and what holds it up.
    2. It has an outcome: it ends by it.
    3. It waits while the run may be there unseen, a Job still reads its results, or one that wrote the outcome has just
       ended: a shared directory may show a file to this side a moment later.
    4. A Job that ended between 2 and 3 had written its outcome by then: it is asked for once more.
    5. Nobody is left to write one: it has failed.
    """
    how_far = stage_of(of_run)
    if how_far.finalizer == "live":
        facts = facts_of(how_far) | held_facts(submission, held)
        moved = any(getattr(submission, name) != value for name, value in facts.items())
        if moved or submission.phase != how_far.phase:
            Submission.objects.move(submission, Status.RUNNING, phase=how_far.phase, **facts)
            say(submission)
        return
    if by_outcome(submission):
        return
    if how_far.finalizer == "absent":
        since = submission.submitted_at or submission.updated_at
        if rowclock.now() - since < VANISHED_AFTER or still_there(submission, cluster):
            return
        ended = Reason.RUN_LOST, f"no finalizer with elb-job-id={submission.run_id} and no outcome"
    else:
        ended = Reason.SEARCH_FAILED, how_far.message or "the search ended without a result"
    # Beside elastic-blast's finalizer, which may be gone before, a Job of ours makes the outcome.
    reading = readers(submission, cluster)
    if any(state_of(job)[0] == "alive" for job in reading):
        return
    if just_ended([*(of_run if how_far.finalizer == "complete" else ()), *reading], date) or by_outcome(submission):
        return
    fail(submission, *(results_unread(submission, how_far, reading) or ended))


def held_facts(submission: Submission, held: Mapping[str, HeldUp | None]) -> dict[str, str]:
    """That it is held up, with the cluster's words; no more of it once it is not. What is not known leaves it said."""
    known = held.get(submission.run_id)
    if known is not None:
        return {"reason": known.reason, "detail": known.words}
    over = submission.run_id in held or not submission.reason
    return {"reason": Reason.NONE, "detail": ""} if over else {"reason": submission.reason, "detail": submission.detail}


def still_there(submission: Submission, cluster: Cluster) -> bool:
    """Asked of the cluster itself: a watch that has gone quiet shows nothing of a run that is alive."""
    found = cluster.list("jobs", f"{naming.ELB_JOB_ID}={submission.run_id}").items
    return has_finalizer(found)


def readers(submission: Submission, cluster: Cluster) -> tuple[Object, ...]:
    """The Jobs that read the results, one a try: no gate counts them, and so no watch shows them."""
    return cluster.list("jobs", f"{naming.of_run(submission.run_id)},{naming.APP}={READER}").items


def results_unread(submission: Submission, how_far: Stage, reading: Iterable[Object]) -> tuple[Reason, str] | None:
    """Of a search that was handed to elastic-blast and has no outcome: it may have ended well, unless the Job that
    follows it (the finalizer, or one beside it) found nothing to follow. None: that is so, or it is another engine's.
    """
    try:
        handed = read_handed(store(), submission.run_id)
    except (ValueError, TypeError):
        return None
    if handed is None:
        return None
    state, words = how_far.finalizer, how_far.message
    if handed.markers == "cli":
        ours = (job for job in reading if job["metadata"]["name"].endswith(handed.attempt))
        state, reason, message = next(map(state_of, ours), ("absent", "", ""))
        words = message or reason
    if state in ("complete", "done"):
        return None
    follower = f"has failed: {words}" if state == "failed" else "is gone."
    detail = f"Its results, if there are any, are at {handed.results}. The Job that follows it {follower}"
    return Reason.RESULTS_UNREAD, detail


def just_ended(of_run: list[Object], date: datetime) -> bool:
    ended = (parse_time((job.get("status") or {}).get("completionTime")) for job in of_run)
    newest = max((when for when in ended if when), default=None)
    return newest is not None and date - newest < OUTCOME_AFTER
