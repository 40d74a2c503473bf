"""A run as data: small integers, so that it can be searched, shrunk, printed as sentences and played again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class What(Enum):
    """What befalls a process at one of its requests."""

    CRASH_BEFORE = "dies before it is sent"
    CRASH_AFTER = "dies; the request still arrives"
    STOP_BEFORE = "is stopped for {long:g} s before it is sent"
    STOP_AFTER = "is stopped for {long:g} s before its answer is read"
    FREEZE_BEFORE = "and everything on its machine is frozen for {long:g} s before it is sent"
    FREEZE_AFTER = "and everything on its machine is frozen for {long:g} s before its answer is read"
    DROP_REQUEST = "loses it on the way"
    DROP_RESPONSE = "loses its answer"
    TORN = "gets half an answer"
    LATE = "gives it up after 10 s; it arrives after {late:g} s"
    TOO_MANY = "is told 429"
    REFUSED = "is told 403"
    INTERNAL = "is told 500"
    UNAVAILABLE = "is told 503"
    HALF_OPEN = "hears nothing more, if it is a watch"
    GONE = "is told 410, if it is a watch"
    GATE_GONE = "and before it arrives an operator deletes the gate's Lease"
    CLOCK = "has its clock set by {jump:+g} s"
    TWICE = "is told of its task a second time, if it is a worker"


class Deed(Enum):
    """What an operator or the machine room does at a moment."""

    DELETE_GATE = "deletes the gate's Lease"
    DELETE_FINALIZER = "deletes a finalizer"
    DELETE_TICKET = "deletes the oldest ticket"
    EDIT_GATE = "annotates the gate's Lease"
    RESTART = "restarts the API server and compacts its log"
    AWAY = "takes the API server away for 20 s"


LONG = (3.0, 12.0, 33.0, 70.0, 100.0, 200.0, 940.0)  # seconds a process is stopped
LATE = (11.0, 30.0, 55.0)  # seconds a request may be in flight
JUMP = (-18_000.0, -1_000.0, -60.0, 60.0, 800.0, 18_000.0)  # seconds a clock is set by
FREEZES = (What.FREEZE_BEFORE, What.FREEZE_AFTER)
HALTS = (What.CRASH_BEFORE, What.CRASH_AFTER, What.STOP_BEFORE, What.STOP_AFTER, *FREEZES)
ROLES = ("worker", "submit", "gatekeeper", "older", "older submit")


class Blow(NamedTuple):
    """`role` and `number` name the process, `request` which of its requests, `how` the length of it."""

    role: str
    number: int
    request: int
    what: What
    how: int = 0

    @property
    def long(self) -> float:
        return LONG[self.how % len(LONG)]

    @property
    def late(self) -> float:
        return LATE[self.how % len(LATE)]

    @property
    def jump(self) -> float:
        return JUMP[self.how % len(JUMP)]

    def __str__(self) -> str:
        words = self.what.value.format(long=self.long, late=self.late, jump=self.jump)
        return f"{self.role} {self.number}, at its request {self.request}, {words}"


class Act(NamedTuple):
    at: int  # seconds
    deed: Deed

    def __str__(self) -> str:
        return f"at {self.at} s an operator {self.deed.value}"


@dataclass(frozen=True)
class Schedule:
    seed: int = 0  # of latencies, and of how long submits and searches take
    ours: int = 2  # searches of ours
    parties: int = 1
    older: int = 0  # searches of an older door
    ceiling: int = 1
    leashed: bool = True
    blows: tuple[Blow, ...] = ()
    acts: tuple[Act, ...] = ()

    def has(self, *whats: What) -> bool:
        return any(blow.what in whats for blow in self.blows)

    def does(self, *deeds: Deed) -> bool:
        return any(act.deed in deeds for act in self.acts)

    def hits(self, *roles: str) -> bool:
        return any(blow.role in roles for blow in self.blows)

    def halts(self, role: str) -> bool:
        return any(blow.role == role and blow.what in HALTS for blow in self.blows)

    @property
    def quiet(self) -> bool:
        return not self.blows and not self.acts

    def __str__(self) -> str:
        doors = f"{self.ours} searches of {self.parties} of our doors and {self.older} of an older one"
        leash = "leashed" if self.leashed else "not leashed"
        head = f"seed {self.seed}: {doors}, ceiling {self.ceiling}, submits {leash}"
        return "\n".join([head, *(f"  - {one}" for one in (*self.blows, *self.acts))])
