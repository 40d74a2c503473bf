"""Our searches' tickets in line: made again where one is missing, dropped where its search has no place any more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from submits.flow import stand_in_line
from submits.gates import naming
from submits.gates.line import Standing
from submits.gates.ports import Cluster
from submits.models import Submission
from submits.scopes import PARTY
from submits.states import Status
from submits.waiting import is_due, is_past

SHOWN = 2.0  # seconds in which a watch shows a ticket that was made; after them it is made again
PLACELESS = [Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.CANCELLING, Status.CANCELLED]


class Tickets:
    """`now` is CLOCK_BOOTTIME throughout, `date` the API server's clock. What asks the cluster raises ClusterError."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.made: dict[str, float] = {}  # those we asked for, by name, until the watch shows them

    def keep(self, row: Submission, standing: Mapping[str, Standing], date: datetime, now: float) -> None:
        """A waiter whose ticket is gone makes a new one; its wait and its end stay what they were."""
        name = naming.ticket(row.key)
        if row.key in standing:
            self.made.pop(name, None)
        elif is_due(row) and not is_past(row, date) and now - self.made.get(name, -math.inf) > SHOWN:
            self.made[name] = now
            since = stand_in_line(self.cluster, row, row.until or date)
            if row.ticket_at is None:
                Submission.objects.filter(pk=row.pk).update(ticket_at=since)

    def drop(self, standing: Mapping[str, Standing]) -> None:
        """Tickets of our rows that no longer stand in line: submitted by an attempt that died, failed, timed out."""
        keys = [key for key, place in standing.items() if place.ticket.party == PARTY]
        done = Submission.objects.filter(key__in=keys, status__in=PLACELESS)
        for key in done.values_list("key", flat=True):
            ticket = standing[key].ticket
            self.cluster.delete("leases", ticket.name, ticket.uid)

    def forget(self, now: float) -> None:
        """Those that the watch has had its time to show."""
        self.made = {name: at for name, at in self.made.items() if now - at < SHOWN}
