"""From a checked search to a row, once: however often the same form arrives, and whoever receives it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Any, BinaryIO

from django.conf import settings
from django.db import IntegrityError, transaction

from submits import rowclock
from submits.blast.intake import DatabaseFacts, Limits, Search
from submits.gates import naming
from submits.models import Cluster, Database, Event, Submission, new_key
from submits.scopes import store
from submits.states import SubmitsError
from submits.work import run_key


class AlreadySent(SubmitsError):
    """This form was received before, with something else in it. `earlier` is the search that it made then."""

    def __init__(self, earlier: Submission) -> None:
        super().__init__(f"this form has already made the search {earlier.key}, with something else in it")
        self.earlier = earlier


def facts_of(database: Database) -> DatabaseFacts:
    """The row as the biology knows it."""
    names = ("key", "title", "path", "molecule", "sequences", "letters", "formatted", "taxonomy")
    return DatabaseFacts(**{name: getattr(database, name) for name in names})


def limits() -> Limits:
    """The most that one search may bring, as it is configured."""
    return Limits(bytes=settings.COORDUI_MAX_QUERY_BYTES, letters=settings.COORDUI_MAX_QUERY_BYTES)


def receive(
    *,
    owner: Any,
    scope: Cluster,
    search: Search,
    text: BinaryIO,
    database: Database,
    title: str,
    form_key: str,
    digest: str = "",
) -> Submission:
    """A checked search becomes a row, and its query a file.

    1. The same form pressed twice is one submission: the one it made before is the answer.
    2. The query's file before the row: a row without it could never be prepared. It goes when there is no row.
    3. The row; of two that arrive at once the database lets one in, and the other answers as in 1.

    `digest` is of all that the form held. Raises AlreadySent for a form that was received with something else in it.
    """
    if (earlier := sent_before(owner, form_key, digest)) is not None:
        return earlier
    key, now = new_key(), rowclock.now()
    submission = Submission(
        key=key,
        run_id=naming.run_id(key),
        owner=owner,
        scope=scope,
        form_key=form_key,
        form_digest=digest,
        title=title[:200],
        program=search.program,
        database=database,
        options=search.options.text(),
        queries=len(search.queries),
        letters=search.letters,
        created_at=now,
        updated_at=now,
    )
    text.seek(0)
    with store().writing(run_key(submission.run_id, "query.fa")) as file:
        shutil.copyfileobj(text, file)
    try:
        with transaction.atomic():
            submission.save()
            Event.record(submission, submission.created_at)
    except Exception as error:
        with suppress(OSError):  # what could not be removed harms nobody, and the error is what is to be heard of
            store().remove(run_key(submission.run_id))
        if isinstance(error, IntegrityError) and (earlier := sent_before(owner, form_key, digest)) is not None:
            return earlier
        raise
    return submission


def sent_before(owner: Any, form_key: str, digest: str) -> Submission | None:
    """Raises AlreadySent."""
    earlier = Submission.objects.filter(owner=owner, form_key=form_key).first() if form_key else None
    if earlier is not None and earlier.form_digest != digest:
        raise AlreadySent(earlier)
    return earlier
