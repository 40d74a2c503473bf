"""One admission, S3 to S11, as atomic steps: each is one request of `submits.gates.admission` or one write of a submit.

S0 to S2, the line, are left out: any waiter may act whenever the gate can be taken, which allows more than the line
does. S4, the heartbeat, is what `Party.may_be_taken_over` says of a living holder.
A GET and the PUT that must find the same resourceVersion are one step, as a PUT on anything older changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.gates.model.party import At, Child, Faults, Party, Road, Rules

TWICE = "a run was submitted twice"
STALE = "a write to a gate that was gone was accepted"


class Around(NamedTuple):
    """What a step depends on beside the party itself."""

    open: bool  # the gate is free, or its holder's time is over
    places: int  # what the count says, the own run's left out
    ceiling: int


class Move(NamedTuple):
    text: str
    party: Party
    ends_hold: bool = False  # whoever else has the gate has it no more
    fault: bool = False
    broken: str = ""
    crash: bool = False
    deletes: bool = False  # the Lease itself


def admission(p: Party, around: Around, rules: Rules, faults: Faults) -> Iterator[Move]:
    match p.at:
        case "S1" | "S3" | "S3 old" | "S3 gone":
            yield from take(p, around, rules, faults)
        case "S5":
            marks = p.marks | {p.attempt} if rules.announces else p.marks
            yield Move("reserves (S5)", p._replace(at="S6 look", marks=marks))
        case "S6 look":
            yield from look_up(p, rules)
        case "S6 count":
            yield count(p, around, rules)
        case "S7" | "S5 last" | "S8 start":
            yield fence_and_start(p, rules)
        case "S8":
            yield from submit(p, rules, faults)
        case "S9":
            yield from settle(p, rules)
        case "mark" | "S10" | "S11":
            yield from end(p, rules)


def take(p: Party, around: Around, rules: Rules, faults: Faults) -> Iterator[Move]:
    match p.at:
        case "S1" if not around.open:
            return
        case "S1" if faults.deletes:  # the GET and the PUT apart: the Lease may go in between
            yield Move("sees the gate open (GET)", p._replace(at="S3"))
        case "S1" | "S3":
            yield Move("takes the gate (S3)", held(p, rules), True)
        case "S3 old":
            yield Move("is answered 409 (S3)", p._replace(at="S1"))
        case "S3 gone":
            yield Move("writes the gate it saw, which is gone: 201 (S3)", held(p, rules), True, broken=STALE)


def held(p: Party, rules: Rules) -> Party:
    return p._replace(at="S5" if rules.announces_first else "S6 look", holds=p.attempt)


def ending(p: Party, road: Road) -> Party:
    return p._replace(at="mark", road=road)


def look_up(p: Party, rules: Rules) -> Iterator[Move]:
    if not rules.looks_up:
        yield Move("does not look its id up (S6)", p._replace(at="S6 count"))
    elif p.finalizer:
        yield Move("finds its finalizer (S6)", p._replace(at="S9"))
    elif rules.waits_for_earlier and p.marks - {p.attempt}:
        yield Move("finds a reservation of its earlier attempt (S6)", ending(p, "shut"))
    elif p.blast:
        yield Move("deletes what an earlier attempt left (S6)", p._replace(blast=False))
    else:
        yield Move("finds nothing of its id (S6)", p._replace(at="S6 count"))


def count(p: Party, around: Around, rules: Rules) -> Move:
    full = around.places >= around.ceiling if rules.denies_at_ceiling else around.places > around.ceiling
    if full:
        return Move(f"counts {around.places} others: full (S6)", ending(p, "shut"))
    return Move(f"counts {around.places} others: a place is free (S6)", p._replace(at="S7"))


def fence_and_start(p: Party, rules: Rules) -> Move:
    """A start that is refused when it comes too late after the proof is one step with it."""
    if p.at == "S5 last":
        return Move("reserves, having counted", p._replace(at="S8 start", marks=p.marks | {p.attempt}))
    if p.at == "S8 start":
        return Move("starts the submit (S8)", p._replace(at="S8", child="runs blast"))
    if rules.fence and rules.fence_tests_holder and p.holds != p.attempt:
        return Move("learns that the gate is lost (S7)", ending(p, "lost"))
    if not rules.announces_first:
        return Move("proves its hold (S7)", p._replace(at="S5 last"))
    if rules.late_start_refused and rules.leash:
        return Move("proves its hold (S7) and starts the submit (S8)", p._replace(at="S8", child="runs blast"))
    return Move("proves its hold (S7)", p._replace(at="S8 start"))


def submit(p: Party, rules: Rules, faults: Faults) -> Iterator[Move]:
    written, then, broken = write(p, p.child)
    at: At = "S8" if then else "S9"
    yield Move(f"'s submit writes its {p.child.split()[1]} (S8)", written._replace(child=then, at=at), broken=broken)
    if not rules.reaps_first:
        yield Move("does not wait for what its submit has started", p._replace(at="S9"), fault=True)
    if faults.failures:
        yield Move("'s submit ends without a finalizer (S8)", p._replace(at="S9", child=""), fault=True)
    if rules.leash and faults.expiry in ("paused", "any"):
        for left, words in left_by_kill(p, faults):
            yield Move(f" is frozen; the leash kills its submit{words}", p._replace(at="S9", child=left), fault=True)


def write(p: Party, child: Child) -> tuple[Party, Child, str]:
    """A submit's next write: the party after it, what the submit does then, and what it breaks."""
    runs = child.startswith("runs")
    if child.endswith("blast"):
        return p._replace(blast=True), "runs finalizer" if runs else "", ""
    return p._replace(finalizer="live"), "", TWICE if p.finalizer else ""


def left_by_kill(p: Party, faults: Faults) -> list[tuple[Child, str]]:
    """What a killed submit may still do."""
    if not faults.in_flight:
        return [("", "")]
    late: Child = "late blast" if p.child.endswith("blast") else "late finalizer"
    return [("", ""), (late, ", a request of it is still under way")]


def settle(p: Party, rules: Rules) -> Iterator[Move]:
    if p.child.startswith("late") and rules.quiet_after_kill:
        return
    if p.finalizer:
        yield Move("finds its finalizer (S9)", ending(p, "submitted"))
    elif p.blast:
        yield Move("deletes what its submit left (S9)", p._replace(blast=False))
    else:
        yield Move("finds nothing (S9)", ending(p, "again"))


def end(p: Party, rules: Rules) -> Iterator[Move]:
    """The reservation goes, then the ticket, then the gate."""
    stages = stages_of(p.road, rules)
    following = stages[stages.index(p.at) + 1]
    after = p._replace(at=following, road="" if following in ("S1", "end") else p.road)
    if p.at == "mark":
        yield Move("deletes its reservation", after._replace(marks=p.marks - {p.attempt}))
    elif p.at == "S10":
        yield Move("deletes its ticket (S10)", after)
    elif p.holds == p.attempt:
        yield Move("releases the gate (S11)", after._replace(holds=0))
    elif rules.release_tests_holder:
        yield Move("finds the gate lost (S11)", after)
    else:
        yield Move("releases a gate that is not its own (S11)", after, True)


def stages_of(road: Road, rules: Rules) -> list[At]:
    """What a try still does when it is over, by the reason why it is."""
    match road:
        case "lost":
            return ["mark", "S1"]
        case "shut":
            return ["mark", "S11", "S1"]
        case _:
            last: At = "end" if road == "submitted" else "S1"
            return ["mark", "S10", "S11", last] if rules.leaves_before_release else ["mark", "S11", "S10", last]
