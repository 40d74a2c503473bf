"""The gatekeeper where the gate is in the key-value store: nobody stands in a line that other doors could see.

It asks the store, once a second, who holds the gate, and wakes as many of its own rows as there is room, the oldest
first. What only the Lease and the count need (tickets, pins, guards, takeovers, alarms) is not done.
"""

from __future__ import annotations

import time
from datetime import timedelta

from submits import live, tasks
from submits.board import iso
from submits.cluster import ApiCluster
from submits.cluster.brisk import Brisk
from submits.ending import fail
from submits.gatekeeper import Gatekeeper
from submits.gates import naming
from submits.gates.backends import Backend
from submits.gates.line import Sight, Standing
from submits.gates.monitor import Monitor
from submits.models import Cluster as Scope
from submits.models import Submission
from submits.redisgate import Held, StoreGate, StoreUnanswered
from submits.scopes import PARTY, backend, store_gate
from submits.states import Reason
from submits.waiting import is_due, is_past

ASK_EVERY = 1.0  # seconds
REASONS = {
    "open": Reason.WAITING_IN_LINE,
    "A_busy": Reason.WAITING_FOR_SUBMIT_SLOT,
    "B_full": Reason.WAITING_FOR_CAPACITY,
    "unknown": Reason.COORDINATION_UNAVAILABLE,
}


def keeper(scope: Scope, cluster: ApiCluster, brisk: Brisk | None = None) -> Gatekeeper:
    """The one for this installation's backend."""
    chosen = backend()
    if chosen.in_store:
        return StoreKeeper(scope, cluster, store_gate(chosen, scope.namespace), brisk)
    return Gatekeeper(scope, cluster, brisk)


class Unalarmed(Monitor):
    """Its rules are those of the Lease and the count; a gate in the store keeps others."""

    def breach(self, kind: str, at: object, evidence: str) -> None:
        pass


class StoreKeeper(Gatekeeper):
    def __init__(self, scope: Scope, cluster: ApiCluster, gate: StoreGate, brisk: Brisk | None = None) -> None:
        super().__init__(scope, cluster, brisk)
        self.gate, self.monitor = gate, Unalarmed(self.rules)
        self.held: list[Held] | None = None  # None: the store does not say
        self.why = ""
        self.next_question = 0.0  # monotonic
        self.line: list[Submission] = []

    def turn(self) -> None:
        if time.monotonic() >= self.next_question:
            try:
                self.held = self.gate.held()
            except StoreUnanswered as error:
                self.held, self.why = None, str(error)
            self.next_question = time.monotonic() + ASK_EVERY
        super().turn()

    @property
    def room(self) -> int:
        return 0 if self.held is None else max(0, self.gate.room - len(self.held))

    @property
    def word(self) -> str:
        if self.held is None:
            return "unknown"
        full = "A_busy" if self.gate.backend is Backend.LOCK else "B_full"
        return "open" if self.room else full

    def wake(self, waiting: list[Submission], standing: dict[str, Standing], now: float) -> None:
        self.line = waiting
        due = [row for row in waiting if is_due(row)] if not self.controls.stop(PARTY) else []
        for row in due[: self.room]:
            self.waker.wake(tasks.search, row.pk, now, row.attempt)

    def explain(self, row: Submission, place: Standing | None, sight: Sight, now: float) -> None:
        stopped = sight.controls.stop(PARTY)
        if is_past(row, sight.date) and not stopped:
            full = self.word == "B_full"
            fail(row, Reason.CAPACITY_TIMEOUT if full else Reason.SUBMIT_SLOT_TIMEOUT, "")
        elif is_due(row):
            why = Reason.DRAINED if sight.controls.drained else Reason.PATH_PAUSED
            reason = why if stopped else REASONS[self.word]
            unknown = self.why if self.held is None else ""
            self.waits.settle(row, reason, sight.controls.trouble if stopped else unknown, now)

    def repair(self, sight: Sight, now: float) -> None:
        """Tickets of ours that were made before the backend was changed would only be waited for."""
        for ticket in sight.queue:
            if ticket.party == PARTY:
                self.cluster.delete("leases", ticket.name, ticket.uid)

    def view(self, sight: Sight, places: list[Standing]) -> live.View:
        view = super().view(sight, [])
        view["gate"] = self.word
        view["line"] = [
            live.Place(
                submission=row.key,
                run_id=row.run_id,
                party=PARTY,
                since=iso(row.ticket_at),
                position=number,
                skipped=False,
            )
            for number, row in enumerate(self.line, 1)
        ]
        if self.held:
            last = self.held[-1]
            free_by = iso(sight.date + timedelta(seconds=last.seconds))
            view["lease"] = live.Lease(
                holder=last.holder, source=naming.party_of(last.holder), since=None, renewed=None, free_by=free_by,
                run_id=None, leashed=False,
            )  # fmt: skip
        if self.held is not None and self.gate.backend is Backend.SLOTS:
            view["active"], view["ceiling"] = len(self.held), self.gate.room
        return view
