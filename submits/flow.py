"""One submission's story: received, prepared once, led through the gates, recorded.

Every step begins with a claim on the row, so a message that comes twice, late or from two workers does nothing, and a
row never depends on a message: the gatekeeper looks at rows, a message only makes it quicker.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.utils import timezone

from submits.blast.intake import DatabaseFacts, Findings, Search, read_search
from submits.cluster.clock import SystemClock
from submits.engine.leashed import tail
from submits.engine.outcome import has_outcome
from submits.engine.prepare import prepare as prepare_files
from submits.gates import naming
from submits.gates.admission import admit, road_of
from submits.gates.objects import created, ticket_body
from submits.gates.ports import AlreadyExists, Cluster, ClusterError
from submits.gates.verdicts import Outcome, Run, Verdict
from submits.live import hint
from submits.models import Cluster as Scope
from submits.models import Database, Event, Submission, new_key
from submits.scopes import PARTY, connect, leashed_submit, rules, store
from submits.states import Phase, Reason, Status
from submits.work import Missing, run_key

log = logging.getLogger(__name__)
DatabaseErrors = (DatabaseError, InterfaceError)
TRIES = 3  # submits that may end without a search
HOPELESS = {1, 2}  # the engine's exit statuses for its input and its database: another try would not change them
RECORD_FOR = 30.0  # seconds a verdict is held on to while the database does not take it


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def facts_of(database: Database) -> DatabaseFacts:
    """The row as the biology knows it."""
    names = ("key", "title", "path", "molecule", "sequences", "letters", "formatted")
    return DatabaseFacts(**{name: getattr(database, name) for name in names})


def receive(
    *, owner: Any, scope: Scope, search: Search, text: bytes, database: Database, title: str, form_key: str
) -> Submission:
    """A checked search becomes a row, and its query a file; the same form pressed twice is one submission."""
    earlier = Submission.objects.filter(owner=owner, form_key=form_key).first() if form_key else None
    if earlier is not None:
        return earlier
    key = new_key()
    submission = Submission(
        key=key,
        run_id=naming.run_id(key),
        owner=owner,
        scope=scope,
        form_key=form_key,
        title=title[:200],
        program=search.program,
        database=database,
        options=search.options.text(),
        queries=len(search.queries),
        letters=search.letters,
    )
    # The file before the row: a row without its query could never be prepared.
    store().put(run_key(submission.run_id, "query.fa"), text)
    try:
        with transaction.atomic():
            submission.save()
            Event.record(submission, submission.created_at)
    except IntegrityError:
        store().remove(run_key(submission.run_id))
        return Submission.objects.get(owner=owner, form_key=form_key)
    return submission


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
    5. PREPARING → WAITING
    """
    submission = Submission.objects.claim(
        pk, expected=Status.QUEUED, status=Status.PREPARING, phase=Phase.PREPARING, worker=worker_name()
    )
    if submission is None:
        return
    say(submission)
    try:
        failure = prepare_run(submission)
    except Exception as error:  # whatever it is, the row must not stay "preparing": it says so and the log has the rest
        log.exception("submission=%s cannot be prepared", submission.key)
        failure = (Reason.PREPARATION_FAILED, f"{type(error).__name__}: {error}")
    if failure is not None:
        Submission.objects.move(submission, Status.FAILED, phase=Phase.ENDED, reason=failure[0], detail=failure[1])
        say(submission)
        return
    now = timezone.now()
    until = now + timedelta(seconds=rules().times.until)
    facts: dict[str, Any] = {"ticket_at": now, "until": until, "moved_at": now}
    status, phase, reason, detail = Status.WAITING, Phase.IN_LINE, Reason.WAITING_IN_LINE, ""
    try:
        facts["ticket_at"] = stand_in_line(connect(submission.scope), submission, until)
    except ClusterError as error:
        log.warning("submission=%s has no ticket yet: %s", submission.key, error)
        outcome, reason = road_of(error)
        detail = str(error)
        if outcome is Outcome.REFUSED:
            status, phase = Status.FAILED, Phase.ENDED
    Submission.objects.move(submission, status, phase=phase, reason=reason, detail=detail, **facts)
    say(submission)


def prepare_run(submission: Submission) -> tuple[Reason, str] | None:
    """Write the run's files. None when all is well, else why it can never be."""
    if not submission.database.ready:
        return Reason.DATABASE_GONE, f"{submission.database.title} is no longer offered"
    database = facts_of(submission.database)
    try:
        text = store().get(run_key(submission.run_id, "query.fa"))
    except Missing as error:
        return Reason.PREPARATION_FAILED, str(error)
    search = read_search(text, program=submission.program, database=database, options=submission.options)
    if isinstance(search, Findings):
        return Reason.BAD_QUERY, " ".join(str(finding) for finding in search)
    plan = prepare_files(store(), search, database, submission.run_id)
    submission.batches = plan.batches
    Submission.objects.filter(pk=submission.pk).update(batches=plan.batches)
    return None


def stand_in_line(cluster: Cluster, submission: Submission, until: Any) -> Any:
    """S0. When the place was taken, by the API server's clock. A ticket that is there already is this one's."""
    body = ticket_body(submission.key, submission.run_id, PARTY, until)
    try:
        ticket = cluster.create("leases", body).object
    except AlreadyExists:
        ticket = cluster.get("leases", body["metadata"]["name"]).object
    return created(ticket) or timezone.now()


# The gates ------------------------------------------------------------------------------------------------------------


class Recorder:
    """The admission's `report`: each step into the row, and a sign of life with each heartbeat."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission

    def __call__(self, phase: Phase, **facts: Any) -> None:
        try:
            self.write(phase, **facts)
        except DatabaseErrors:
            connection.close()  # so that the next step finds a fresh one
            raise

    def write(self, phase: Phase, **facts: Any) -> None:
        submission = self.submission
        Submission.objects.beat(submission)
        kept = {name: facts[name] for name in ("token", "holder") if name in facts}
        if not Submission.objects.move(submission, Status.SUBMITTING, phase=phase, **kept):
            log.warning("submission=%s was moved by another; step %s not recorded", submission.key, phase)
        say(submission)


def lead_through(pk: int) -> None:
    """One try at the gates: claim WAITING → SUBMITTING, admit, record the verdict."""
    submission = Submission.objects.claim(
        pk, expected=Status.WAITING, status=Status.SUBMITTING, phase=Phase.IN_LINE, worker=worker_name()
    )
    if submission is None:
        return
    what = Run(submission.key, submission.run_id, PARTY)
    if has_outcome(store(), submission.run_id):
        # It has run to its end, and an attempt that died could not say so; its Jobs may be gone already.
        hold_on_to(submission, Verdict(Outcome.SUBMITTED))
        return
    try:
        cluster, submit = connect(submission.scope), leashed_submit(submission.scope)
    except ClusterError as error:
        verdict = Verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, str(error))
    else:
        verdict = admit(what, cluster, SystemClock(), submit, rules(), Recorder(submission))
    hold_on_to(submission, verdict)


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
    status, phase, facts = next_state(submission, verdict)
    detail = verdict.detail
    if verdict.outcome is Outcome.NOTHING:
        detail = tail(store(), submission.run_id) or detail
    reason = facts.pop("reason", verdict.reason)
    # A try that took the gate has a token; one that did not must not write a smaller one.
    if verdict.token > submission.token:
        facts |= {"token": verdict.token, "holder": verdict.holder}
    moved = Submission.objects.move(submission, status, phase=phase, reason=reason, detail=detail, **facts)
    log.info(
        "submission=%s verdict=%s status=%s reason=%s lease_holder=%s recorded=%s",
        submission.key, verdict.outcome, status, reason or "-", verdict.holder, moved,
    )  # fmt: skip
    say(submission)


def next_state(submission: Submission, verdict: Verdict) -> tuple[Status, Phase, dict[str, Any]]:
    """What follows from a verdict. Being shut out costs nothing; a submit that did nothing costs one of three tries."""
    now = timezone.now()
    times = rules().times
    later = {"next_try_at": now + timedelta(seconds=times.back_off)}
    match verdict.outcome:
        case Outcome.SUBMITTED:
            return Status.RUNNING, Phase.STARTING, {"submitted_at": now, "outages": 0, "next_try_at": None}
        case Outcome.SHUT:
            # Full although the line saw room: its view lags, so give it a moment instead of taking the gate again.
            pause = now + timedelta(seconds=times.back_off / 5)
            full = verdict.reason is Reason.WAITING_FOR_CAPACITY
            return Status.WAITING, Phase.IN_LINE, {"outages": 0, "next_try_at": pause if full else None}
        case Outcome.BACK:
            return Status.WAITING, Phase.IN_LINE, later
        case Outcome.UNKNOWN:
            outages = submission.outages + 1
            wait = min(300, 15 * 2 ** min(outages - 1, 5)) * times.back_off / 5
            return Status.WAITING, Phase.IN_LINE, {"outages": outages, "next_try_at": now + timedelta(seconds=wait)}
        case Outcome.NOTHING:
            tries = submission.tries + 1
            if tries >= TRIES or verdict.exit_code in HOPELESS:
                return Status.FAILED, Phase.ENDED, {"tries": tries, "reason": Reason.SUBMIT_FAILED}
            return Status.WAITING, Phase.IN_LINE, {"tries": tries, **later}
        case Outcome.REFUSED:
            return Status.FAILED, Phase.ENDED, {}


def fail_waiting(cluster: Cluster, submission: Submission, reason: Reason, detail: str = "") -> None:
    """A wait that is over: the row ends, then its ticket goes. The gatekeeper drops the ticket if this cannot."""
    if Submission.objects.move(submission, Status.FAILED, phase=Phase.ENDED, reason=reason, detail=detail):
        say(submission)
        try:
            cluster.delete("leases", naming.ticket(submission.key))
        except ClusterError as error:
            log.warning("submission=%s: its ticket stands: %s", submission.key, error)


def say(submission: Submission) -> None:
    """Tell the scope's pages that this row has changed."""
    hint(submission.scope_id, submission.version)
