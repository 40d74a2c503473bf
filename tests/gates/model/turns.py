"""The line, S1, searched with the product's own `line.advance` and `line.standings`, in ticks of half a second.

One search of ours stands last. The parties ahead of it do, in every tick, whatever they like: nothing; act at the gate
and be admitted, fail (to the back of the line), or die there, holding it; and be paused or resumed. An older door polls
every five seconds, takes the gate for a moment between two looks, and ends the opening. What it costs is the time in
which gate and place were free and our search did not have its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from submits.gates.line import Memory, Sight, Standing, advance, standings
from submits.gates.objects import Controls, Gate, Ticket
from submits.gates.ports import Knobs, Object, Rules, Times
from tests.gates.made import job, lease, sight, ticket
from tests.gates.model.search import Explored, Step, explore

Place = tuple[int, str]  # a ticket's order and its party
OLDER: Place = (0, "elastic-blast")  # an older door has no ticket
TICK = 0.5
POLL = 10  # ticks between two polls of an older door
SHUT = 4  # ticks for which a dead holder's gate is shut: how many makes no difference to an opening
# How long the run of a ticket that is gone is remembered matters to nothing here, and would multiply the states.
RULES = Rules(Knobs(ceiling=99), replace(Times(), release_for=1.0))
OURS = "d"
DEAR = "our search waits longer than the rule says"
TWO = "two first tickets at once in one line"
OVERTAKEN = "a ticket that acts is overtaken"


class Remembered(NamedTuple):
    """A line's memory with its times relative to the last look, so that equal situations are equal states."""

    measured: str = ""
    opened: float | None = None
    unused: tuple[tuple[str, float], ...] = ()
    skipped: frozenset[str] = frozenset()
    slow: frozenset[str] = frozenset()
    runs: tuple[tuple[str, tuple[str, float]], ...] = ()

    @classmethod
    def of(cls, memory: Memory, now: float) -> Remembered:
        opened = None if memory.opened is None else memory.opened - now
        runs = tuple(sorted((run, (party, until - now)) for run, (party, until) in memory.runs.items()))
        unused = tuple(sorted((uid, seconds) for uid, seconds in memory.unused.items() if seconds))
        return cls(memory.measured, opened, unused, memory.skipped, memory.slow, runs)

    def memory(self) -> Memory:
        return Memory(self.measured, self.opened, dict(self.unused), self.skipped, self.slow, dict(self.runs))


class Scene(NamedTuple):
    """What there is to be seen in one tick."""

    queue: tuple[Place, ...]
    shut_by: Place | None = None  # whose dead holder has the gate
    admitted: tuple[int, ...] = ()
    paused: frozenset[str] = frozenset()
    passed: tuple[Place, ...] = ()  # whose hold began and ended since the last look


def held_by(place: Place) -> Object:
    number, party = place
    return lease(f"{party}-{number}", leashed=True, run=f"job-{number}") if number else lease(f"{party}-1")


@cache
def seen(scene: Scene) -> Sight:
    gate = held_by(scene.shut_by) if scene.shut_by else lease()
    tickets: list[Ticket] = [ticket(number, party) for number, party in scene.queue]
    jobs = [job("finalizer", f"job-{number}", active=1) for number in scene.admitted]
    made = sight(*tickets, gate=gate, jobs=jobs, controls=Controls(paused=scene.paused), rules=RULES)
    return replace(made, holds=tuple(Gate.read(held_by(place)) for place in scene.passed))


@cache
def look(remembered: Remembered, scene: Scene, after: float = TICK) -> tuple[Remembered, tuple[Standing, ...]]:
    memory = advance(remembered.memory(), seen(scene), after)
    return Remembered.of(memory, after), tuple(standings(seen(scene), memory))


def two_at_once(places: tuple[Standing, ...]) -> bool:
    return sum(place.turn and not place.skipped for place in places) > 1


@dataclass(frozen=True)
class Allowed:
    """What stands in line and what may happen to it, and the seconds our searches may wait with gate and place free."""

    line: str  # the parties, first one first; `d` are ours, of whom we ask what they wait for
    seconds: float
    polls: bool = False  # an older door polls
    quick: bool = False  # older doors take the gate whenever it has been free for a tick, and keep it a while
    deaths: int = 0  # how often one of the others dies at the gate
    failures: int = 0  # how often one of the others fails there
    admissions: int = 0  # how many of the others are admitted
    pauses: int = 0  # how often the first party is paused or resumed


class Wait(NamedTuple):
    remembered: Remembered
    queue: tuple[Place, ...]
    ours: int = 0  # the one of ours whose turn it is, or 0
    shut_by: Place | None = None
    shut: int = 0  # ticks left
    admitted: tuple[int, ...] = ()
    paused: frozenset[str] = frozenset()
    polled: int = POLL  # ticks since
    deaths: int = 0
    failures: int = 0
    pauses: int = 0
    cost: int = 0
    two: bool = False


class LineModel:
    def __init__(self, allowed: Allowed) -> None:
        self.allowed = allowed
        self.start = self.looked(Wait(Remembered(), tuple(enumerate(allowed.line, start=1))), ())

    def looked(self, wait: Wait, passed: tuple[Place, ...]) -> Wait:
        ours = [number for number, party in wait.queue if party == OURS]
        scene = Scene(wait.queue, wait.shut_by, wait.admitted, wait.paused, passed)
        remembered, places = look(wait.remembered, scene)
        turn = next((place.ticket.order for place in places if place.turn and place.ticket.party == OURS), 0)
        waits = bool(ours) and not wait.shut_by and not turn
        return wait._replace(remembered=remembered, cost=wait.cost + waits, ours=turn, two=two_at_once(places))

    def steps(self, wait: Wait) -> Iterator[Step[Wait]]:
        tick = wait._replace(polled=min(POLL, wait.polled + 1)) if self.allowed.polls else wait
        if wait.ours:
            admitted = self.gone(tick, wait.ours)
            yield Step(wait.ours, "of ours is admitted", self.looked(admitted, ((wait.ours, OURS),)))
            if wait.pauses < self.allowed.pauses:
                after = self.paused_or_resumed(admitted)
                words = "of ours is admitted; meanwhile the first party is paused or resumed"
                yield Step(wait.ours, words, self.looked(after, ((wait.ours, OURS),)))
            return
        if not any(party == OURS for _, party in wait.queue):
            return
        if wait.shut_by:
            after = tick._replace(shut=wait.shut - 1, shut_by=wait.shut_by if wait.shut > 1 else None)
            yield Step(0, "the gate is shut", self.looked(after, ()))
            return
        if self.allowed.quick:
            taken = tick._replace(shut_by=OLDER, shut=SHUT)
            yield Step(0, "an older door takes the gate and keeps it a while", self.looked(taken, ()))
        else:
            yield Step(0, "nobody acts", self.looked(tick, ()))
        if self.allowed.polls and wait.polled >= POLL:
            yield Step(0, "an older door takes the gate for a moment", self.looked(tick._replace(polled=1), (OLDER,)))
        others = [(number, party) for number, party in wait.queue if party != OURS and party not in wait.paused]
        if others:
            yield from self.act(tick, *others[0])
        if wait.pauses < self.allowed.pauses:
            yield Step(0, "the first party is paused or resumed", self.looked(self.paused_or_resumed(tick), ()))

    def paused_or_resumed(self, wait: Wait) -> Wait:
        return wait._replace(paused=wait.paused ^ {self.allowed.line[0]}, pauses=wait.pauses + 1)

    def act(self, wait: Wait, number: int, party: str) -> Iterator[Step[Wait]]:
        place = (number, party)
        if len(wait.admitted) - self.admitted_of_ours(wait) < self.allowed.admissions:
            yield Step(number, "acts and is admitted", self.looked(self.gone(wait, number), (place,)))
        back = max(n for n, _ in wait.queue) + 1
        if wait.failures < self.allowed.failures:
            queue = (*(other for other in wait.queue if other != place), (back, party))
            failed = wait._replace(queue=queue, failures=wait.failures + 1)
            yield Step(number, "acts, fails and goes to the back of the line", self.looked(failed, (place,)))
        if wait.deaths < self.allowed.deaths:
            died = wait._replace(deaths=wait.deaths + 1, shut_by=place, shut=SHUT)
            yield Step(number, "acts and dies holding the gate", self.looked(died, ()))

    def gone(self, wait: Wait, number: int) -> Wait:
        rest = tuple(place for place in wait.queue if place[0] != number)
        return wait._replace(queue=rest, admitted=(*wait.admitted, number), ours=0)

    def admitted_of_ours(self, wait: Wait) -> int:
        return self.allowed.line.count(OURS) - sum(party == OURS for _, party in wait.queue)

    def wrong(self, wait: Wait) -> Iterator[str]:
        if wait.cost * TICK > self.allowed.seconds:
            yield DEAR
        if wait.two:
            yield TWO

    def over(self, wait: Wait) -> bool:
        return not any(party == OURS for _, party in wait.queue)

    def explore(self) -> Explored[Wait]:
        return explore(self.start, self.steps, self.wrong, until=frozenset({DEAR}), liveness=True)


class Pair(NamedTuple):
    """Two parties' lines over one scene: what each remembers, has missed, and has not heard of yet."""

    lines: tuple[Remembered, Remembered] = (Remembered(), Remembered())
    missed: tuple[int, int] = (0, 0)  # ticks since the last look, before this one
    unheard: tuple[tuple[Place, ...], tuple[Place, ...]] = ((), ())
    polled: int = POLL
    acts: bool = False  # the healthy one ahead of ours
    fault: str = ""


class TwoLines:
    """A dead ticket first, then one of another party that acts as soon as its own line says so, then ours.

    Each line may miss a look now and then, so they measure the dead one by clocks that differ.
    """

    def __init__(self, queue: tuple[Place, ...] = ((1, "x"), (2, "o"), (3, OURS))) -> None:
        self.queue, self.start = queue, Pair()

    def steps(self, pair: Pair) -> Iterator[Step[Pair]]:
        if pair.acts:
            return
        for polls in (False, True) if pair.polled >= POLL else (False,):
            for looks in ((True, True), (True, False), (False, True)):
                if all(look_now or not missed for look_now, missed in zip(looks, pair.missed, strict=True)):
                    words = "an older door takes the gate for a moment; " if polls else ""
                    yield Step(0, f"{words}lines that look: {looks}", self.tick(pair, polls, looks))

    def tick(self, pair: Pair, polls: bool, looks: tuple[bool, bool]) -> Pair:
        lines, missed, fault, acts = list(pair.lines), [0, 0], "", False
        unheard: list[tuple[Place, ...]] = [(), ()]
        for n in (0, 1):
            heard = (*pair.unheard[n], OLDER) if polls else pair.unheard[n]
            if not looks[n]:
                missed[n], unheard[n] = pair.missed[n] + 1, heard
                continue
            lines[n], places = look(pair.lines[n], Scene(self.queue, passed=heard), TICK * (1 + pair.missed[n]))
            turns = {place.ticket.order for place in places if place.turn and place.ticket.order > 1}
            acts = acts or (n == 0 and 2 in turns)
            fault = OVERTAKEN if n == 1 and 3 in turns else TWO if two_at_once(places) else fault
        polled = 1 if polls else min(POLL, pair.polled + 1)
        return Pair((lines[0], lines[1]), (missed[0], missed[1]), (unheard[0], unheard[1]), polled, acts, fault)

    def wrong(self, pair: Pair) -> Iterator[str]:
        if pair.fault:
            yield pair.fault

    def explore(self) -> Explored[Pair]:
        return explore(self.start, self.steps, self.wrong, liveness=True)
