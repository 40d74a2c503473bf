"""Celery's way into the flow: a primary key in, nothing out. A message is a hint that a row is worth a look."""

from __future__ import annotations

import logging

from celery import Task, shared_task
from kombu.exceptions import OperationalError

from submits import catalogue, flow
from submits.engine import formatjob
from submits.gates.ports import ClusterError
from submits.models import Submission
from submits.scopes import connect, default_scope, store
from submits.work import Missing

log = logging.getLogger(__name__)
Refused = (OperationalError, OSError)  # what a broker that is down, or going down, raises


@shared_task
def prepare(pk: int) -> None:
    flow.prepare(pk)


@shared_task
def search(pk: int) -> None:
    flow.lead_through(pk)


@shared_task
def look_at_format(pk: int, name: str) -> None:
    """One look at a format that somebody waits for; what the cluster does not answer now is asked at the next look."""
    submission = Submission.objects.select_related("scope").filter(pk=pk).first()
    if submission is None:
        return
    try:
        formatjob.look(connect(submission.scope), store(), submission.run_id, name)
    except (ClusterError, Missing) as error:
        log.warning("submission=%s format=%s: %s", submission.key, name, error)


@shared_task
def look_for_databases() -> None:
    look(begin=True)


@shared_task
def look_at_scan() -> None:
    """Whether a look that was begun in the cluster has ended."""
    look(begin=False)


def look(*, begin: bool) -> None:
    """What cannot be looked at now is looked at the next time."""
    try:
        catalogue.look_again(default_scope(), begin=begin)
    except (ClusterError, OSError) as error:
        log.warning("databases: %s", error)


def send(task: Task[..., None], *what: object) -> bool:
    """Send the hint; False when the broker refuses it. Nothing is lost: the gatekeeper looks at rows, and the page of a
    format sends another."""
    try:
        task.delay(*what)
    except Refused as error:
        log.warning("the broker refuses %s%s: %s", task.name, what, error)
        return False
    return True
