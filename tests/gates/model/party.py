"""What a state is made of: one party with one submission, and what its attempts have left in the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from submits.gates import naming
from submits.gates.ports import Object
from tests.gates.made import job, reservation

At = Literal[
    "S1", "S3", "S3 old", "S3 gone", "S5", "S6 look", "S6 count", "S7", "S5 last", "S8 start", "S8", "S9",
    "mark", "S10", "S11", "end",
]  # fmt: skip
Road = Literal["", "submitted", "again", "shut", "lost"]  # why a try ends; "" while it has not
Child = Literal["", "runs blast", "runs finalizer", "late blast", "late finalizer"]  # a submit, and its next write
Finalizer = Literal["", "live", "ended"]


@dataclass(frozen=True)
class Rules:
    """Every rule of the protocol that can be taken away, one at a time."""

    announces: bool = True  # S5 at all
    announces_first: bool = True  # S5 before S6; else only when the hold has been proven, after S7
    looks_up: bool = True  # S6: a finalizer of my id means it was submitted; Jobs without one are deleted
    denies_at_ceiling: bool = True  # S6: `>=`, not `>`
    fence: bool = True  # S7
    late_start_refused: bool = True  # S8: the leash does not start a submit that is no longer covered by a renewal
    leash: bool = True  # a submit is dead before its hold expires, and dies with its holder
    quiet_after_kill: bool = True  # S9: what a killed submit had sent has arrived or never will
    reaps_first: bool = True  # S9 begins when nothing of the submit runs any more
    leaves_before_release: bool = True  # S10 before S11
    fence_tests_holder: bool = True  # S7's patch has its `test`
    release_tests_holder: bool = True  # S11's patch has its `test`
    uid: bool = True  # S3's PUT carries the uid
    repair_waits: bool = True  # repair's 40 s: a reservation goes when nothing of its attempt can write
    repair_asks_twice: bool = True  # for the gate, around its look-up: unchanged, as if both were one moment
    repairs: bool = True  # repair at all, and the deadline of a reservation
    waits_for_earlier: bool = True  # S6 does not go on beside a reservation of an earlier attempt for the same run
    guards: Literal["none", "first", "race"] = "first"  # "race": a taker may be faster than the guard
    pins: bool = True


@dataclass(frozen=True)
class Faults:
    """What may go wrong. `expiry`: whose hold may be taken over.

    "dead": one whose process and submit are dead; "orphan": one whose process is dead; "paused": also a living one
    that has not begun S8; "any": any, at any time. A leashed submit is killed before its hold can be taken.
    """

    expiry: Literal["dead", "orphan", "paused", "any"] = "dead"
    crashes: int = 0  # how many processes may die
    restarts: bool = False  # the same submission again, with the same run id, once
    in_flight: bool = False  # what a killed submit had sent may still arrive
    failures: bool = False  # a submit may end at any point by itself
    aging: bool = False  # a finalizer may become older than v1's 300 s
    deletes: bool = False  # an operator deletes the Lease


class Party(NamedTuple):
    version: int  # 1 or 2
    at: At = "S1"
    road: Road = ""
    attempt: int = 1
    alive: bool = True
    holds: int = 0  # the attempt whose hold is on the gate
    marks: frozenset[int] = frozenset()  # the attempts whose reservation stands
    child: Child = ""  # of the present attempt
    orphan: Child = ""  # of the one before it, or of a dead one
    blast: bool = False
    finalizer: Finalizer = ""
    aged: bool = False
    pin: bool = False
    guard: bool = False
    asked: bool = False  # a repair has seen that nobody of this run has the gate, and will now list its Jobs

    def submit_of(self, attempt: int) -> Child:
        return self.child if attempt == self.attempt and self.alive else self.orphan

    @property
    def searches(self) -> bool:
        """A live run: what the ceiling is about."""
        return self.blast or self.finalizer == "live"

    @property
    def submits(self) -> int:
        return self.child.startswith("runs") + self.orphan.startswith("runs")

    def settled(self) -> Party:
        """Alike for all that follows: at the end with nothing left, it makes no difference how it came there."""
        if self.at == "end" and self.alive and not (self.orphan or self.marks or self.holds):
            return self._replace(attempt=1)
        return self

    @property
    def can_write(self) -> bool:
        return bool(self.child or self.orphan)

    def holder_lives(self) -> bool:
        return self.alive and self.holds == self.attempt

    def may_be_taken_over(self, rules: Rules, faults: Faults) -> bool:
        """Whether the hold that stands in this party's name is open to others."""
        submit = self.submit_of(self.holds)
        if self.version == 2 and rules.leash:
            if submit.startswith("runs"):
                return False
            return faults.expiry in ("paused", "any") or not self.holder_lives()
        if faults.expiry == "any":
            return True
        if self.holder_lives():
            return faults.expiry == "paused" and self.at in ("S5", "S6 look", "S6 count", "S7")
        if rules.guards == "first" and self.blast and not self.finalizer and not self.guard:
            return False
        return faults.expiry == "orphan" or not submit.startswith("runs")


class Jobs(NamedTuple):
    """What of a party is in the cluster, for the count."""

    marks: frozenset[int]
    blast: bool
    finalizer: Finalizer
    aged: bool
    pin: bool
    guard: bool

    @classmethod
    def of(cls, party: Party) -> Jobs:
        return cls(party.marks, party.blast, party.finalizer, party.aged, party.pin, party.guard)

    def as_objects(self, run: str) -> list[Object]:
        made = [reservation(run, f"dashboard-{run}{attempt}") for attempt in self.marks]
        made += [job("blast", run, active=1)] if self.blast else []
        if self.finalizer:
            age = 400 if self.aged else 5
            status = {"active": 1} if self.finalizer == "live" else {"succeeded": 1}
            made.append(job("finalizer", run, age=age, **status))
        if self.pin:
            made.append(job("submit", run))
            made[-1]["metadata"]["labels"][naming.ROLE] = "pin"
        if self.guard:
            made.append(reservation(run, ""))
            made[-1]["metadata"]["labels"][naming.ROLE] = "guard"
        return made

    def counted_by_v1(self) -> int:
        """v1: reservations and guards at any age; a finalizer older than 300 s only with a live companion."""
        finalizer = self.finalizer == "live" and (not self.aged or self.blast or self.pin)
        return len(self.marks) + self.guard + finalizer
