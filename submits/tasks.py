"""Celery's way into the flow: a primary key in, nothing out. A message is a hint that a row is worth a look."""

from __future__ import annotations

import logging

from celery import Task, shared_task
from kombu.exceptions import OperationalError

from submits import flow

log = logging.getLogger(__name__)
Refused = (OperationalError, OSError)  # what a broker that is down, or going down, raises


@shared_task
def prepare(pk: int) -> None:
    flow.prepare(pk)


@shared_task
def search(pk: int) -> None:
    flow.lead_through(pk)


def send(task: Task[[int], None], pk: int) -> bool:
    """Send the hint; False when the broker refuses it. The row is not lost: the gatekeeper looks at rows."""
    try:
        task.delay(pk)
    except Refused as error:
        log.warning("the broker refuses %s(%s): %s", task.name, pk, error)
        return False
    return True
