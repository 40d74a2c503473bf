"""Who held the gate at which revision, as far as one watch and its lists have told. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from submits.gates import naming
from submits.gates.counting import run_of
from submits.gates.objects import Gate
from submits.gates.ports import Change, Listing, Object

REMEMBERED = 500  # changes of the gate: a few hours of a busy namespace


@dataclass
class Appeared:
    """A Job that became known, and the revisions between which it was made."""

    job: Object
    earliest: int
    latest: int
    asked: int = 0  # how often the gate has been asked for since, and was what the watch had told


@dataclass(frozen=True)
class Held:
    """From this revision on. `gate` None: what was before a list, or between a watch's end and the next list, is not
    known."""

    revision: int
    gate: Gate | None


class GateHistory:
    def __init__(self) -> None:
        self.states: deque[Held] = deque([Held(0, None)], maxlen=REMEMBERED)
        self.version = ""  # of the Lease as it was last told; "" if there is none
        self.told = 0  # revision up to which nothing is missing

    def hear(self, what: Listing | Change) -> None:
        if isinstance(what, Change):
            revision = int(what.object["metadata"]["resourceVersion"])
            self.add(revision, Gate.read(None if what.type == "DELETED" else what.object))
            return
        gate = Gate.read(what.items[0] if what.items else None)
        listed = int(what.version or 0)
        if gate.version != self.version or len(self.states) == 1:
            last = self.states[-1]
            if last.gate is not None:
                self.states.append(Held(last.revision + 1, None))
            self.add(int(gate.version) if gate.exists else listed, gate)
        self.told = max(self.told, listed)

    def add(self, revision: int, gate: Gate) -> None:
        self.version = gate.version
        self.told = max(self.told, revision)
        if revision >= self.states[-1].revision:
            self.states.append(Held(revision, gate))

    def can_tell(self, job: Appeared) -> bool:
        """Whether everything is known up to its making. A gate that nobody writes tells nothing by its watch, so it is
        asked for: the second answer to arrive was asked for after the Job had been heard of."""
        return self.told >= job.latest or job.asked >= 2

    def stranger(self, job: Appeared) -> str | None:
        """Who held the gate ("" nobody) when it was made, if that was certainly not its party; else None.

        A hold of ours is for one run. An older door's says nothing of its run, so it is taken to be the Job's.
        """
        states = list(self.states)
        ends = [state.revision - 1 for state in states[1:]] + [job.latest]
        during = [s for s, end in zip(states, ends, strict=True) if s.revision <= job.latest and end >= job.earliest]
        if states[0].revision > job.earliest:
            return None  # forgotten by now, or in part
        for gate in (state.gate for state in during):
            if gate is None or gate.v1 or (gate.holder and naming.parent(gate.run_id) == run_of(job.job)):
                return None
        last = during[-1].gate
        return last.holder if last else ""
