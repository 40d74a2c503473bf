"""Parties beside each other: one gate, one count, every interleaving. Parties that are alike are interchangeable."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from submits.gates.counting import occupied
from tests.gates.made import NOW
from tests.gates.model.around import happens
from tests.gates.model.party import At, Faults, Jobs, Party, Rules
from tests.gates.model.search import Explored, Step, explore
from tests.gates.model.v1 import older_try
from tests.gates.model.v2 import Around, Move, admission

CEILING = "more searches run than the ceiling"
OVERLAP = "two submits run at once"
UNMARKED = "a run without a counted marker"
LINE = "a free gate behind the ticket of a search that has been submitted"
GRACE = 300.0
TAIL = "' "  # how a sentence goes on right behind the name
State = tuple[int, ...]  # every party by its number, sorted: which of two alike did what makes no difference


@cache
def places(own: Jobs | None, others: tuple[Jobs, ...]) -> int:
    """What the product's own count says, the run `own` left out."""
    jobs = own.as_objects("job-own") if own else []
    for n, other in enumerate(others):
        jobs += other.as_objects(f"job-{n}")
    return len(occupied(jobs, NOW, GRACE, leaving_out="job-own" if own else ""))


class Together:
    def __init__(self, versions: str, ceiling: int, rules: Rules, faults: Faults) -> None:
        self.ceiling, self.rules, self.faults = ceiling, rules, faults
        self.numbers: dict[Party, int] = {}
        self.parties: list[Party] = []  # by number, as all that follows
        self.jobs: list[Jobs] = []
        self.open: list[bool] = []
        self.counts: list[bool] = []
        self.crashed: list[bool] = []
        self.searches: list[int] = []
        self.submits: list[int] = []
        self.flaws: list[int] = []
        self.known: dict[tuple[int, bool, int], list[tuple[Move, int, bool]]] = {}
        self.start: State = tuple(sorted(self.number(Party(int(version))) for version in versions))

    def number(self, party: Party) -> int:
        party = party.settled()
        number = self.numbers.setdefault(party, len(self.parties))
        if number == len(self.parties):
            unmarked = party.version == 2 and (party.can_write or party.searches)
            unmarked = unmarked and not places(None, (Jobs.of(party),))
            in_line = party.alive and party.road == "submitted" and party.at == "S10"
            self.parties.append(party)
            self.jobs.append(Jobs.of(party))
            self.open.append(party.may_be_taken_over(self.rules, self.faults))
            self.counts.append(party.alive and party.at == "S6 count")
            self.crashed.append(party.attempt > 1 or not party.alive)
            self.searches.append(party.searches)
            self.submits.append(party.submits)
            self.flaws.append(unmarked + 2 * in_line)
        return number

    def moves(self, number: int, is_open: bool, count: int) -> list[tuple[Move, int, bool]]:
        """Each with the number of the party after it, and whether it writes the gate."""
        key = (number, is_open, count)
        if key not in self.known:
            party, around = self.parties[number], Around(is_open, count, self.ceiling)
            made: list[Move] = list(happens(party, self.rules, self.faults))
            if party.alive and party.version == 2:
                made += admission(party, around, self.rules, self.faults)
            elif party.alive:
                made += older_try(party, around, self.faults)
            self.known[key] = [
                (move, self.number(move.party), move.ends_hold or move.party.holds != party.holds) for move in made
            ]
        return self.known[key]

    def steps(self, state: State) -> Iterator[Step[State]]:
        spent = sum([self.crashed[n] for n in state]) >= self.faults.crashes
        holder = next((n for n in state if self.parties[n].holds), None)
        is_open = holder is None or self.open[holder]
        for who, number in enumerate(state):
            others = state[:who] + state[who + 1 :]
            count = self.count(number, others) if self.counts[number] else 0
            for move, after, gate in self.moves(number, is_open, count):
                if move.crash and spent:
                    continue
                rest = tuple([self.gate_changed(n, move) for n in others]) if gate else others
                yield Step(who, move.text, tuple(sorted((after, *rest))), move.fault, move.broken)

    def seen(self, state: State, who: int) -> tuple[bool, int]:
        """What a party's step depends on: whether the gate is open, and the count."""
        holder = next((n for n in state if self.parties[n].holds), None)
        count = self.count(state[who], state[:who] + state[who + 1 :]) if self.counts[state[who]] else 0
        return holder is None or self.open[holder], count

    def count(self, number: int, others: State) -> int:
        if self.parties[number].version == 1:
            return sum(self.jobs[n].counted_by_v1() for n in (number, *others))
        return places(self.jobs[number], tuple([self.jobs[n] for n in others]))

    def gate_changed(self, number: int, move: Move) -> int:
        """What a write to the gate means for another: its hold is over, and what it saw of the gate is stale."""
        party = self.parties[number]
        if move.ends_hold and party.holds:
            party = party._replace(holds=0)
        if party.at in ("S3", "S3 old", "S3 gone"):
            without: At = "S3 gone" if move.deletes else "S3 old"
            party = party._replace(at="S1" if self.rules.uid else without)
        return self.number(party)

    def wrong(self, state: State) -> Iterator[str]:
        searches, submits, flaws = 0, 0, 0
        for n in state:
            searches += self.searches[n]
            submits += self.submits[n]
            flaws |= self.flaws[n]
        if searches > self.ceiling:
            yield CEILING
        if submits > 1:
            yield OVERLAP
        if flaws & 1:
            yield UNMARKED
        if flaws & 2 and self.faults.expiry == "dead" and not any(self.parties[n].holds for n in state):
            yield LINE

    def explore(self, *until: str, liveness: bool = False) -> Explored[State]:
        return explore(self.start, self.steps, self.wrong, until=frozenset(until), liveness=liveness)

    def tell(self, way: list[tuple[State, int, str]]) -> str:
        """The steps as sentences. Parties change places as states are sorted, and their names go with them."""
        lines: list[str] = []
        names = {place: f"{'ABCDEF'[place]} (v{self.parties[n].version})" for place, n in enumerate(self.start)}
        after = [state for state, _, _ in way[1:]]
        for n, (state, who, text) in enumerate(way):
            lines.append(f"{n + 1:2}. {names[who]}{'' if text[0] in TAIL else ' '}{text}.")
            if n < len(after):
                names = self.renamed(names, state, who, text, after[n])
        return "\n".join(lines)

    def renamed(self, names: dict[int, str], state: State, who: int, text: str, after: State) -> dict[int, str]:
        others = [place for place in range(len(state)) if place != who]
        for step, order in self.ordered(state, who, others):
            if step.text == text and step.state == after:
                return {place: names[before] for place, before in enumerate(order)}
        raise LookupError(text)

    def ordered(self, state: State, who: int, others: list[int]) -> Iterator[tuple[Step[State], list[int]]]:
        """The steps of one party, each with where every place came from."""
        rest = tuple(state[place] for place in others)
        for move, after, gate in self.moves(state[who], *self.seen(state, who)):
            changed = [self.gate_changed(n, move) if gate else n for n in rest]
            made = sorted([(after, who), *zip(changed, others, strict=True)])
            yield Step(who, move.text, tuple(n for n, _ in made)), [place for _, place in made]

    def settled(self, state: State) -> bool:
        """Every search of a living party has been submitted and has ended, and nothing of ours is left."""
        parties = [self.parties[n] for n in state]
        return all(
            not (p.marks or p.holds or p.searches or p.can_write) and (not p.alive or p.finalizer == "ended")
            for p in parties
        )
