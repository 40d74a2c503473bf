"""The line, S0-S2: whose turn it is, and why each of the others waits. One per party, over one set of watches.

    S0  a ticket is POSTed once and DELETEd once; its order is etcd's own revision
    S1  a ticket acts when the gate is open, a place is free (its own run's markers left out), the controls allow its
        party, and it is the first, or has been skipped; a split's waiting child has the gate's first quarter second
    S2  it gives way, for a few seconds and once, to an older search of a door that has no tickets (`yielding`)

Nobody judges whether a party lives. Every line measures for how long gate and place have been open without the first
ticket acting, and goes past it: a dead or stuck party costs the line ten seconds once, then one second a ticket, until
it is seen to admit something.
The guarantee: first come, first served among the tickets that act. The limit: two lines measure by their own clocks,
so two tickets may act at once; the gate and the count behind it let one through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from submits.gates import naming, yielding
from submits.gates.counting import id_of, is_finalizer, is_terminal, key_of, occupied, role
from submits.gates.objects import Controls, Demand, Gate, Ticket, notes_of
from submits.gates.ports import Object, Rules
from submits.states import Reason


@dataclass(frozen=True)
class Sight:
    """Everything the line sees at one moment. `date` is the API server's clock. `jobs` are all Jobs of every run of
    which something lives; those of the other runs, which only their own rows ask for, are in `ended`, by key and
    name."""

    gate: Gate
    tickets: tuple[Ticket, ...]
    jobs: tuple[Object, ...]
    controls: Controls
    date: datetime
    rules: Rules
    gate_seen_for: float = 0.0  # seconds, on our monotonic clock, that we have seen the gate at this version
    demand: tuple[Demand, ...] = ()  # an older door's jobs that are trying to get in
    holds: tuple[Gate, ...] = ()  # every hold of the gate heard of since the last look, ended ones too
    ended: Mapping[str, Mapping[str, Object]] = field(default_factory=dict)

    @cached_property
    def queue(self) -> tuple[Ticket, ...]:
        grace = self.rules.times.until_grace
        return tuple(sorted((t for t in self.tickets if not t.is_dead(self.date, grace)), key=lambda t: t.order))

    @cached_property
    def places(self) -> dict[str, list[Object]]:
        return occupied(list(self.jobs), self.date, self.rules.knobs.finalizer_grace)

    @cached_property
    def _by_key(self) -> dict[str, list[Object]]:
        found: dict[str, list[Object]] = {}
        for job in self.jobs:
            found.setdefault(key_of(job), []).append(job)
        return found

    def of_run(self, run: str) -> list[Object]:
        """All Jobs of a run, ended or not."""
        return [*self._by_key.get(run, ()), *self.ended.get(run, {}).values()]

    @cached_property
    def gate_open(self) -> bool:
        return self.gate.is_open(self.date, self.rules, self.gate_seen_for)

    @cached_property
    def held(self) -> tuple[Gate, ...]:
        """Who has had the gate since the last look."""
        return self.holds if self.gate_open else (*self.holds, self.gate)

    @cached_property
    def child_waits(self) -> bool:
        """Whether a split's child waits for the gate: its parent's reservation says so."""
        return any(
            role(job) == "reservation" and notes_of(job).get(naming.CHILD_WAITS) and not is_terminal(job)
            for job in self.jobs
        )

    @property
    def ceiling(self) -> int:
        return self.controls.ceiling_of(self.rules)

    @property
    def full(self) -> bool:
        return len(self.places) >= self.ceiling

    def full_for(self, ticket: Ticket) -> bool:
        return len(self.places) - (naming.parent(ticket.run_id) in self.places) >= self.ceiling

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
    unused: Mapping[str, float] = field(default_factory=dict)  # what earlier openings add, by uid, over all breaks
    skipped: frozenset[str] = frozenset()  # uids; for good
    slow: frozenset[str] = frozenset()  # parties whose next tickets are skipped sooner
    runs: Mapping[str, tuple[str, float]] = field(default_factory=dict)  # of slow parties: run → party, kept until
    free_since: float | None = None  # when the gate was first seen open, without a break
    yields: yielding.Yields = field(default_factory=yielding.Yields)
    looked: float = 0.0

    def left_to_child(self, sight: Sight) -> bool:
        since = self.looked if self.free_since is None else self.free_since
        return sight.child_waits and self.looked - since < sight.rules.times.child_first


@dataclass(frozen=True)
class Standing:
    ticket: Ticket
    position: int
    turn: bool
    skipped: bool
    reason: Reason
    detail: str = ""


def first(sight: Sight, memory: Memory) -> Ticket | None:
    """The smallest revision that is neither skipped nor of a party the controls stop."""
    return next(
        (t for t in sight.queue if t.uid not in memory.skipped and not sight.controls.stop(t.party)),
        None,
    )


def advance(memory: Memory, sight: Sight, now: float) -> Memory:
    """Measure one more look at `now`; skip whoever has not acted for too long."""
    here = frozenset(ticket.uid for ticket in sight.queue)
    since = memory.free_since
    if sight.holds:
        since = None
    free_since = (now if since is None else since) if sight.gate_open else None
    unused = {uid: seconds for uid, seconds in memory.unused.items() if uid in here}
    memory = replace(memory, skipped=memory.skipped & here, unused=unused, free_since=free_since, looked=now)
    memory = _forgive(memory, sight, now)
    for _ in range(len(sight.queue) + 1):
        ticket = first(sight, memory)
        memory = _measure(memory, sight, ticket, now)
        if ticket is None or not _too_long(memory, sight, ticket, now):
            break
        memory = replace(
            memory, skipped=memory.skipped | {ticket.uid}, slow=memory.slow | {ticket.party}, measured="", opened=None
        )
    able = _able(sight, memory)
    v1_held = any(hold.v1 for hold in sight.held)
    yields = yielding.advance(memory.yields, sight.demand, here, able, v1_held, sight.date, sight.rules, now)
    return replace(memory, yields=yields)


def _forgive(memory: Memory, sight: Sight, now: float) -> Memory:
    """A slow party is measured in full again once a finalizer appears for a run that stood in line, or held the gate,
    in its name. What it had is kept for a while: the watches tell of ticket and finalizer in any order."""
    kept = now + sight.rules.times.release_for
    runs = {run: known for run, known in memory.runs.items() if known[0] in memory.slow and now < known[1]}
    runs |= {t.run_id: (t.party, kept) for t in sight.queue if t.party in memory.slow}
    runs |= {hold.run_id: (hold.party, kept) for hold in sight.held if hold.run_id and hold.party in memory.slow}
    admitted = {party for run, (party, _) in runs.items() if _was_submitted(sight, run)}
    return replace(memory, runs=runs, slow=memory.slow - admitted)


def _was_submitted(sight: Sight, run: str) -> bool:
    return any(is_finalizer(job) and id_of(job) == run for job in sight.of_run(naming.parent(run)))


def _measure(memory: Memory, sight: Sight, ticket: Ticket | None, now: float) -> Memory:
    measured = ticket.uid if ticket else ""
    if measured != memory.measured:
        memory = replace(_closed(memory, now), measured=measured)
    if ticket is None:
        return memory
    begins = now if sight.open_for(ticket) else None
    if any(hold.run_id == ticket.run_id for hold in sight.held):  # it acts
        return replace(memory, opened=begins, unused={**memory.unused, ticket.uid: 0.0})
    if memory.opened is None:
        return replace(memory, opened=begins)
    if begins is not None and not sight.holds:
        return memory
    # An opening that somebody else ended counts at least a second, or a quick poller would hide a dead first for ever.
    return replace(_closed(memory, now, least=sight.rules.times.skip_again), opened=begins)


def _closed(memory: Memory, now: float, least: float = 0.0) -> Memory:
    """The opening that is being measured, if any, has ended: it is added to what its ticket has left unused."""
    if memory.opened is None:
        return memory
    seconds = memory.unused.get(memory.measured, 0.0) + max(least, now - memory.opened)
    return replace(memory, opened=None, unused={**memory.unused, memory.measured: seconds})


def _patience(memory: Memory, sight: Sight, ticket: Ticket) -> float:
    times = sight.rules.times
    return times.skip_again if ticket.party in memory.slow else times.skip_after


def _too_long(memory: Memory, sight: Sight, ticket: Ticket, now: float) -> bool:
    running = 0.0 if memory.opened is None else now - memory.opened
    return memory.unused.get(ticket.uid, 0.0) + running >= _patience(memory, sight, ticket)


def _able(sight: Sight, memory: Memory) -> list[Ticket]:
    """The tickets that could act but for a yield."""
    if memory.left_to_child(sight):
        return []
    head = first(sight, memory)
    return [t for t in sight.queue if (t == head or t.uid in memory.skipped) and sight.open_for(t)]


def standings(sight: Sight, memory: Memory) -> list[Standing]:
    """Every ticket in line, first one first, with whether it is its turn and, if not, what it waits for."""
    able = {ticket.uid for ticket in _able(sight, memory)}
    found = []
    for place, ticket in enumerate(sight.queue, start=1):
        could = ticket.uid in able
        gives_way = could and yielding.courted(memory.yields, sight.demand, ticket, sight.date, sight.rules)
        detail = GIVES_WAY.format(sight.rules.knobs.v1_yield) if gives_way else sight.controls.trouble
        skipped = ticket.uid in memory.skipped
        found.append(Standing(ticket, place, could and not gives_way, skipped, why(sight, ticket), detail))
    return found


GIVES_WAY = "gives way to an older search of the API service, for {:g} s at most"


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


def next_look(sight: Sight, memory: Memory) -> float:
    """Seconds until the first timer that a wait depends on: a dead holder's gate, a child's head start, a yield, a
    skip. At most a day."""
    head, times = first(sight, memory), sight.rules.times
    ends = [memory.looked + times.until]
    free_by = None if sight.gate_open else sight.gate.free_by(sight.rules)
    if free_by is not None:
        ends.append(memory.looked + (free_by - sight.date).total_seconds())
    if memory.left_to_child(sight) and memory.free_since is not None:
        ends.append(memory.free_since + times.child_first)
    ends += [
        at + sight.rules.knobs.v1_yield for uid, at in memory.yields.since.items() if uid not in memory.yields.over
    ]
    if head is not None and memory.opened is not None:
        ends.append(memory.opened + _patience(memory, sight, head) - memory.unused.get(head.uid, 0.0))
    return max(0.0, min(ends) - memory.looked)


def wait_over(sight: Sight, place: Standing, since: datetime, moved: datetime, until: datetime) -> Reason | None:
    """Whether a wait has ended, and as what.

    It ends when it has lasted its knob *and* for the knob no finalizer has appeared or ended (`moved`): a line in
    which searches start or end never times out; nor does one whose turn it is. Or at `until`. Never while the controls
    stop it: that time counts in neither, since a resume is a movement.
    """
    if sight.controls.stop(place.ticket.party):
        return None
    knobs = sight.rules.knobs
    reason = Reason.CAPACITY_TIMEOUT if sight.full else Reason.SUBMIT_SLOT_TIMEOUT
    knob = knobs.capacity_wait_max if sight.full else knobs.submit_wait_max
    waited = (sight.date - since).total_seconds()
    still = (sight.date - moved).total_seconds()
    timed_out = waited >= knob and still >= knob and not place.turn
    return reason if timed_out or sight.date >= until else None
