"""What happens to a party: crashes, restarts, writes that arrive late, Jobs that end, repairs, an operator."""

from __future__ import annotations

from collections.abc import Iterator

from tests.gates.model.party import Child, Faults, Party, Rules
from tests.gates.model.v2 import Move, left_by_kill, write

WRONGED = "a repair deletes the Jobs of a submit that runs"


def happens(p: Party, rules: Rules, faults: Faults) -> Iterator[Move]:
    yield from crash(p, rules, faults)
    yield from late(p)
    yield from jobs_end(p, faults, rules)
    if rules.repairs:
        yield from repair(p, rules, faults)
    if faults.deletes and p.holds:
        yield Move("loses the gate: an operator deletes the Lease", p._replace(holds=0), fault=True, deletes=True)


def crash(p: Party, rules: Rules, faults: Faults) -> Iterator[Move]:
    if not p.alive:
        if faults.restarts and p.version == 2 and p.attempt == 1:
            yield Move("starts again", p._replace(at="S1", road="", attempt=2, alive=True))
        return
    if p.attempt > 1 or p.at in ("S1", "S3", "S3 old", "S3 gone", "end"):
        return
    dead = p._replace(alive=False, at="S1", road="", child="")  # where it died is over; what it left stays
    ways = [(dead, "")]
    if p.version == 2 and rules.leash and p.child:
        ways = [
            (dead._replace(orphan=left), f"; the leash kills its submit{said}")
            for left, said in left_by_kill(p, faults)
        ]
    elif p.child and faults.expiry in ("orphan", "any"):
        ways.append((dead._replace(orphan=p.child), "; its submit goes on"))
    for after, said in ways:
        yield Move(f"'s process dies in {p.at}{said}", after, fault=True, crash=True)


def late(p: Party) -> Iterator[Move]:
    """Writes of a submit that nobody waits for: it was killed, its party is dead, or did not reap it."""
    if p.orphan:
        written, then, broken = write(p, p.orphan)
        yield Move(f"{words(p.orphan)} writes its {p.orphan.split()[1]}", written._replace(orphan=then), broken=broken)
        yield Move(f"{words(p.orphan)} is gone", p._replace(orphan=""))
    if p.child and p.at != "S8":
        written, then, broken = write(p, p.child)
        yield Move(f"{words(p.child)} writes its {p.child.split()[1]}", written._replace(child=then), broken=broken)
        yield Move(f"{words(p.child)} is gone", p._replace(child=""))


def words(child: Child) -> str:
    return "'s late request" if child.startswith("late") else "'s submit, waited for by nobody,"


def jobs_end(p: Party, faults: Faults, rules: Rules) -> Iterator[Move]:
    """The search ends before its finalizer does, which merges."""
    if p.blast and (p.finalizer or not p.can_write):
        yield Move("'s search ends", p._replace(blast=False, guard=False))
    if p.finalizer == "live" and not p.blast:
        yield Move("'s finalizer ends", p._replace(finalizer="ended", pin=False, aged=False))
    if faults.aging and p.finalizer == "live" and not p.aged and (p.pin or not rules.pins):
        yield Move("'s finalizer is older than 300 s", p._replace(aged=True), fault=True)
    if faults.aging and rules.pins and p.finalizer == "live" and not p.pin:
        yield Move("'s finalizer is pinned", p._replace(pin=True))


def repair(p: Party, rules: Rules, faults: Faults) -> Iterator[Move]:
    if p.holds and not p.holder_lives() and p.may_be_taken_over(rules, faults):
        yield Move("'s gate is taken by a repair and released", p._replace(holds=0))
    due = any(is_due(p, attempt, rules) for attempt in p.marks)
    if due and not rules.repair_asks_twice and not p.asked:
        yield Move("'s run has no hold, sees a repair", p._replace(asked=True))
    if p.asked or (due and rules.repair_asks_twice):
        yield from mend(p._replace(asked=False), rules)
    left = not p.alive and not p.can_write and p.blast and not p.finalizer
    if rules.guards != "none" and p.version == 1 and left and not p.guard:
        yield Move("'s search is given a guard", p._replace(guard=True))


def is_due(p: Party, attempt: int, rules: Rules) -> bool:
    """Whether an attempt's reservation may be removed: nobody of its run has the gate, and it cannot write any more."""
    if p.holds:
        return False
    if p.alive and attempt == p.attempt and (p.at == "S8 start" or not rules.leash):
        return False  # an unleashed one's goes by its owner, or by its deadline when the owner is dead
    return not rules.repair_waits or not p.submit_of(attempt)


def mend(p: Party, rules: Rules) -> Iterator[Move]:
    if p.blast and not p.finalizer:
        wronged = WRONGED if p.child.startswith("runs") and not rules.repair_asks_twice else ""
        yield Move("'s left-over Jobs are removed by a repair", p._replace(blast=False), broken=wronged)
        return
    for attempt in sorted(p.marks):
        if is_due(p, attempt, rules):
            yield Move("'s reservation is removed by a repair", p._replace(marks=p.marks - {attempt}))
