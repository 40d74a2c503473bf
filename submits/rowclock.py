"""The one clock by which rows are dated and compared: the database's. The clocks of hosts differ, and are set.

What the gates judge (tickets, holds, the ends of waits) is by the API server's clock instead: see `gates.servertime`.
"""

from __future__ import annotations

import time
from datetime import datetime

from django.db import connection
from django.utils import timezone

from submits.gates.servertime import ServerTime

AFRESH = 10.0  # seconds for which an answer is carried on before the database is asked again
_heard: ServerTime | None = None


def now() -> datetime:
    """Aware. Raises DatabaseError where it has to be asked and does not answer."""
    global _heard  # noqa: PLW0603  # one process, one database
    if connection.vendor == "sqlite":
        return timezone.now()  # a file of this machine: its clock is ours
    heard = _heard
    if heard is None or boot() - heard.boot > AFRESH:
        with connection.cursor() as cursor:
            asked = boot()
            # Not now(): in a transaction that stands still.
            cursor.execute("SELECT clock_timestamp()")
            told = cursor.fetchone()[0]
            # It was so somewhere between the question and the answer.
            heard = _heard = ServerTime(told, (asked + boot()) / 2)
    return heard.at(boot())


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
