"""The line, S0-S2: whose turn it is, and why each of the others waits. One per party, over one set of watches.

    S0  a ticket is POSTed once and DELETEd once; its order is etcd's own revision
    S1  a ticket acts when the gate is open, a place is free (its own run's markers left out), the controls allow its
        party, and it is the first, or has been skipped

Nobody judges whether a party lives. Every line measures for how long gate and place have been open without the first
ticket acting, and goes past it: a dead or stuck party costs the line ten seconds once, then one second a ticket.
The guarantee: first come, first served among the tickets that act. The limit: two lines measure by their own clocks,
so two tickets may act at once; the gate and the count behind it let one through.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from submits.gates.counting import occupied
from submits.gates.objects import Controls, Gate, Ticket
from submits.gates.ports import Object, Rules
from submits.states import Reason


@dataclass(frozen=True)
class Sight:
    """Everything the line sees at one moment. `date` is the API server's clock."""

    gate: Gate
    tickets: tuple[Ticket, ...]
    jobs: tuple[Object, ...]
    controls: Controls
    date: datetime
    rules: Rules
    gate_seen_for: float = 0.0  # seconds, on our monotonic clock, that we have seen the gate at this version

    @cached_property
    def queue(self) -> tuple[Ticket, ...]:
        return tuple(sorted((t for t in self.tickets if not t.is_dead(self.date)), key=lambda t: t.order))

    @cached_property
    def places(self) -> dict[str, list[Object]]:
        return occupied(list(self.jobs), self.date, self.rules.knobs.finalizer_grace)

    @cached_property
    def gate_open(self) -> bool:
        return self.gate.is_open(self.date, self.rules, self.gate_seen_for)

    @property
    def ceiling(self) -> int:
        return self.controls.ceiling_of(self.rules)

    @property
    def full(self) -> bool:
        return len(self.places) >= self.ceiling

    def full_for(self, ticket: Ticket) -> bool:
        return len(self.places) - (ticket.run_id in self.places) >= self.ceiling

    def open_for(self, ticket: Ticket) -> bool:
        return self.gate_open and not self.full_for(ticket) and not self.controls.stop(ticket.party)

    @property
    def word(self) -> str:
        """What every door calls it; both shut is A_busy, the first one a search meets."""
        if not self.gate_open:
            return "A_busy"
        return "B_full" if self.full else "open"


@dataclass(frozen=True)
class Memory:
    """What a line remembers between two looks; times are seconds on its own monotonic clock."""

    measured: str = ""  # uid of the ticket that is measured
    opened: float | None = None  # since when it could have acted, without a break
    unused: float = 0.0  # what earlier openings add
    skipped: frozenset[str] = frozenset()  # uids; for good
    slow: frozenset[str] = frozenset()  # parties whose next tickets are skipped sooner


@dataclass(frozen=True)
class Standing:
    ticket: Ticket
    position: int
    turn: bool
    skipped: bool
    reason: Reason


def first(sight: Sight, memory: Memory) -> Ticket | None:
    """The smallest revision that is neither skipped nor of a party the controls stop."""
    return next(
        (t for t in sight.queue if t.uid not in memory.skipped and not sight.controls.stop(t.party)),
        None,
    )


def advance(memory: Memory, sight: Sight, now: float) -> Memory:
    """Measure one more look at `now`; skip whoever has not acted for too long."""
    here = {ticket.uid for ticket in sight.queue}
    admitted = frozenset() if sight.gate_open else frozenset({sight.gate.party})
    memory = replace(memory, skipped=memory.skipped & here, slow=memory.slow - admitted)
    for _ in range(len(sight.queue) + 1):
        ticket = first(sight, memory)
        memory = _measure(memory, sight, ticket, now)
        if ticket is None or not _too_long(memory, sight, ticket, now):
            return memory
        memory = replace(
            memory, skipped=memory.skipped | {ticket.uid}, slow=memory.slow | {ticket.party}, measured="", opened=None
        )
    return memory


def _measure(memory: Memory, sight: Sight, ticket: Ticket | None, now: float) -> Memory:
    if ticket is None:
        return replace(memory, measured="", opened=None, unused=0.0)
    if ticket.uid != memory.measured:
        memory = replace(memory, measured=ticket.uid, opened=None, unused=0.0)
    if not sight.gate_open and sight.gate.run_id == ticket.run_id:
        return replace(memory, opened=None, unused=0.0)  # it acts
    if sight.open_for(ticket):
        return memory if memory.opened is not None else replace(memory, opened=now)
    if memory.opened is None:
        return memory
    # An opening that somebody else ended counts at least a second, or a quick poller would hide a dead first for ever.
    least = 0.0 if sight.gate_open else sight.rules.times.skip_again
    return replace(memory, opened=None, unused=memory.unused + max(least, now - memory.opened))


def _too_long(memory: Memory, sight: Sight, ticket: Ticket, now: float) -> bool:
    running = 0.0 if memory.opened is None else now - memory.opened
    times = sight.rules.times
    return memory.unused + running >= (times.skip_again if ticket.party in memory.slow else times.skip_after)


def standings(sight: Sight, memory: Memory) -> list[Standing]:
    """Every ticket in line, first one first, with whether it is its turn and, if not, what it waits for."""
    head = first(sight, memory)
    return [
        Standing(
            ticket=ticket,
            position=place,
            turn=sight.open_for(ticket) and (ticket == head or ticket.uid in memory.skipped),
            skipped=ticket.uid in memory.skipped,
            reason=why(sight, ticket),
        )
        for place, ticket in enumerate(sight.queue, start=1)
    ]


def why(sight: Sight, ticket: Ticket) -> Reason:
    """What a ticket waits for, the first obstacle it would meet."""
    if sight.controls.drained:
        return Reason.DRAINED
    if sight.controls.stop(ticket.party):
        return Reason.PATH_PAUSED
    if not sight.gate_open:
        return Reason.WAITING_FOR_SUBMIT_SLOT
    if sight.full_for(ticket):
        return Reason.WAITING_FOR_CAPACITY
    return Reason.WAITING_IN_LINE


def wait_over(sight: Sight, place: Standing, since: datetime, moved: datetime, until: datetime) -> Reason | None:
    """Whether a wait has ended, and as what.

    It ends when it has lasted its knob *and* for the knob no finalizer has appeared or ended (`moved`): a line in
    which searches start or end never times out. Or at `until`. Not while the controls stop it, nor when it is its turn.
    """
    if sight.controls.stop(place.ticket.party) or place.turn:
        return None
    knobs = sight.rules.knobs
    reason = Reason.CAPACITY_TIMEOUT if sight.full else Reason.SUBMIT_SLOT_TIMEOUT
    knob = knobs.capacity_wait_max if sight.full else knobs.submit_wait_max
    waited = (sight.date - since).total_seconds()
    still = (sight.date - moved).total_seconds()
    return reason if sight.date >= until or (waited >= knob and still >= knob) else None
