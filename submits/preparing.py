"""Preparation's files: a query is read again as the form read it, and becomes batches and a plan.

That takes as long as the query is long and the work store is slow, so a worker says again and again that it is at it.
"""

from __future__ import annotations

import io
import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import F, Q

from submits import rowclock
from submits.blast.encoding import PIECE
from submits.blast.intake import Findings, read_search
from submits.engine.prepare import prepare
from submits.models import Database, Submission
from submits.receiving import facts_of, limits
from submits.scopes import rules, store
from submits.states import Reason, SubmitsError
from submits.work import Missing, run_key

log = logging.getLogger(__name__)


class NotOurs(SubmitsError):
    """The claim is another's by now, or the search is being cancelled: what is done here counts for nothing."""


class Alive:
    """A claimant's signs of life: called often, it beats as often as a leash wants, `every` so many seconds."""

    def __init__(self, submission: Submission, every: float) -> None:
        self.submission, self.every = submission, every
        self.due = time.monotonic() + every

    def __call__(self) -> None:
        """Raises NotOurs."""
        if time.monotonic() >= self.due:
            self.beat()

    def beat(self) -> None:
        """Raises NotOurs. A database that does not answer now may answer the next time."""
        self.due = time.monotonic() + self.every
        try:
            ours = Submission.objects.beat(self.submission)
        except (DatabaseError, InterfaceError) as error:
            log.warning("submission=%s gave no sign of life: %s", self.submission.key, error)
            connection.close()  # so that the next one finds a fresh one
            return
        if not ours:
            raise NotOurs(f"{self.submission.key} is not this worker's any more")


class Heard(io.BufferedRandom):
    """A file of which each piece that is read is heard of."""

    def __init__(self, raw: io.FileIO, told: Callable[[], None]) -> None:
        super().__init__(raw)
        self.told = told

    def read(self, size: int | None = -1, /) -> bytes:
        self.told()
        return super().read(size)


def prepare_run(submission: Submission) -> tuple[Reason, str] | None:
    """Write the run's files. None when all is well, else why it cannot be, now or ever; may be repeated.

    Raises OSError, and NotOurs as soon as it is known that another has the claim.
    """
    longest = timedelta(seconds=rules().times.until)
    if why := unoffered(submission.database, submission.created_at + longest, rowclock.now()):
        return why
    database, alive = facts_of(submission.database), Alive(submission, rules().times.heartbeat)
    try:
        with query_of(submission, alive) as text:
            search = read_search(
                text, program=submission.program, database=database, options=submission.options, limits=limits()
            )
            if isinstance(search, Findings):
                return Reason.BAD_QUERY, " ".join(str(finding) for finding in search)
            plan = prepare(store(), search, database, submission.run_id, alive=alive)
    except Missing as error:
        return Reason.PREPARATION_FAILED, str(error)
    alive.beat()
    submission.batches = plan.batches
    Submission.objects.filter(pk=submission.pk).update(batches=plan.batches)
    return None


def unoffered(database: Database, until: datetime, now: datetime) -> tuple[Reason, str] | None:
    """Why a search cannot be prepared for its database's sake, None if it can: one that a look has taken out of offer
    may be back before `until`, one that an administrator has taken out may not. Pure."""
    if database.ready:
        return None
    if not database.trouble:
        return Reason.DATABASE_GONE, f"An operator has taken “{database.title}” out of offer."
    since = f" since {_minute(database.trouble_since)}" if database.trouble_since else ""
    away = f"“{database.title}” is not offered{since}: {database.trouble}"
    if now >= until:
        return Reason.DATABASE_GONE, f"{away}\nIt was waited for until {_minute(until)}."
    return Reason.DATABASE_AWAY, f"{away}\nIt is waited for until {_minute(until)}."


def _minute(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def still_unoffered(now: datetime) -> Q:
    """The rows that have been told to wait for their database and would be told the same again."""
    waited = now - timedelta(seconds=rules().times.until)
    away = Q(database__ready=False, reason=Reason.DATABASE_AWAY, created_at__gt=waited)
    return away & ~Q(database__trouble="") & Q(detail__contains=F("database__trouble"))


@contextmanager
def query_of(submission: Submission, alive: Alive) -> Iterator[Heard]:
    """What was given to search with, on this machine: it is read four times. Raises Missing and OSError."""
    with (
        store().open(run_key(submission.run_id, "query.fa")) as there,
        tempfile.TemporaryFile(buffering=0) as raw,
        Heard(raw, alive) as here,
    ):
        while piece := there.read(PIECE):
            alive()
            here.write(piece)
        yield here
