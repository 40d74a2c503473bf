"""Which of a scope's gatekeepers acts: the one whose claim in the database is renewed; the others are spares.

Two at once would be harmless: every act is a compare-and-set. When one dies, the line stands still until its claim has
run out.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import DatabaseError, InterfaceError
from django.db.models import Q

from submits import rowclock
from submits.models import Cluster as Scope
from submits.models import Watch

log = logging.getLogger(__name__)
RENEW = 2.0  # seconds
RUNS_OUT = timedelta(seconds=10)


class Claim:
    def __init__(self, scope: Scope, name: str) -> None:
        self.scope, self.name = scope, name
        self.renewed: float | None = None

    def held(self, now: float) -> bool:
        """Whether it is ours; renewed when that is due. `now`: seconds of the caller's monotonic clock."""
        if self.renewed is not None and now - self.renewed < RENEW:
            return True
        date = rowclock.now()
        Watch.objects.get_or_create(scope=self.scope)
        free = Q(holder=self.name) | Q(renewed_at=None) | Q(renewed_at__lt=date - RUNS_OUT)
        won = bool(Watch.objects.filter(free, scope=self.scope).update(holder=self.name, renewed_at=date))
        self.renewed = now if won else None
        return won

    def give_up(self) -> None:
        """So that a spare, or the next start, need not wait for it to run out."""
        try:
            Watch.objects.filter(scope=self.scope, holder=self.name).update(renewed_at=None)
        except (DatabaseError, InterfaceError) as error:
            log.warning("the claim is left to run out: %s", error)
