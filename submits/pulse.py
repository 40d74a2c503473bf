"""Small questions that a quiet cluster answers too, so that silence means that it is away; and what we may do there."""

from __future__ import annotations

import logging
import queue
import threading
import time
from datetime import UTC, datetime

from submits.cluster import ApiCluster, nodes
from submits.cluster.power import lacking
from submits.cluster.reflector import Heard
from submits.cluster.seen import PULSE
from submits.gates import naming
from submits.gates.ports import ClusterError, Listing, NotFound

log = logging.getLogger(__name__)
EVERY = 4.0  # seconds between two questions
POWER_EVERY = 60.0  # seconds


class Pulse(threading.Thread):
    """Puts what it hears into the loop's queue. `power`: sentences of what we lack; None until that is known.
    `largest`: MiB of memory of the largest node; None if nobody says."""

    def __init__(self, cluster: ApiCluster, heard: queue.Queue[Heard]) -> None:
        super().__init__(name="pulse", daemon=True)
        self.cluster, self.heard = cluster, heard
        self.stopping = threading.Event()
        self.power: list[str] | None = None
        self.power_due = 0.0  # monotonic
        self.largest: int | None = None

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                self.heard.put(Heard(PULSE, self.ask()))
                self.ask_power()
            except Exception as error:  # whatever it is, silence would be taken for a dead cluster
                failed = error if isinstance(error, ClusterError) else ClusterError(f"{type(error).__name__}: {error}")
                self.heard.put(Heard(PULSE, failed))
                self.stopping.wait(1.0)
                continue
            self.stopping.wait(EVERY)

    def ask(self) -> Listing:
        try:
            answer = self.cluster.get("leases", naming.gate(self.cluster.namespace))
        except NotFound as error:
            return Listing((), "", error.date or datetime.now(UTC))  # our own where it is not told, as everywhere
        return Listing((answer.object,), "", answer.date)

    def ask_power(self) -> None:
        """At the start, and every minute: a Role can be changed while we run. Raises ClusterError."""
        if time.monotonic() < self.power_due:
            return
        self.power_due = time.monotonic() + POWER_EVERY  # first: what gets no answer is not asked in each round
        before, self.power = self.power, [str(one) for one in lacking(self.cluster)]
        self.largest = nodes.largest(self.cluster)
        if before is not None and self.power != before:  # what was so at the start has been said
            for sentence in self.power:
                log.error("%s", sentence)
