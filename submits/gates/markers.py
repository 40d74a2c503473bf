"""Pins and guards: what is to be marked for an older door, which forgets searches that are alive. Pure.

A pin makes it go on counting a finalizer whose batches have ended; a guard makes it count work whose finalizer never
came. Both have fixed names, so that every repairer makes the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from submits.gates import naming
from submits.gates.counting import id_of, is_finalizer, is_marker, is_terminal, is_work, key_of, phantoms, role
from submits.gates.line import Sight
from submits.gates.objects import created, guard_body, pin_body
from submits.gates.ports import Object


@dataclass(frozen=True)
class Mark:
    """Create a pin or a guard. That it is there already is as good."""

    name: str
    body: Object


@dataclass(frozen=True)
class Unmark:
    """Delete a pin or a guard, if it still is the one that was seen."""

    name: str
    uid: str


def pins(sight: Sight) -> list[Mark | Unmark]:
    """One for each finalizer, whoever's, that is alive, no phantom, names its run and is old enough; else none."""
    times, grace = sight.rules.times, sight.rules.knobs.finalizer_grace
    gone = {job["metadata"]["uid"] for job in phantoms(list(sight.jobs), sight.date, grace)}
    wanted: dict[str, Object] = {}
    for job in sight.jobs:
        if not is_finalizer(job) or is_terminal(job) or not id_of(job) or job["metadata"]["uid"] in gone:
            continue
        made = created(job)
        if made is not None and (sight.date - made).total_seconds() > times.pin_after:
            wanted[naming.pin(job["metadata"]["uid"])] = pin_body(id_of(job), job)
    return _difference("pin", wanted, sight)


def guards(sight: Sight) -> list[Mark | Unmark]:
    """One for each id whose submit or blast Jobs live without a live finalizer or any other marker of their place.

    Whoever holds the gate may be about to make the finalizer: nothing new is guarded meanwhile, and nothing let go.
    """
    if not sight.gate_open:
        return []
    submitted = {id_of(job) for job in sight.jobs if is_finalizer(job) and not is_terminal(job)}
    reserved = {key_of(job) for job in sight.jobs if role(job) == "reservation" and not is_terminal(job)}
    wanted: dict[str, Object] = {}
    for job in sorted(sight.jobs, key=lambda job: str(job["metadata"]["name"])):
        run = id_of(job)
        if is_marker(job) or not is_work(job) or is_terminal(job) or not run or run in submitted:
            continue
        if key_of(job) not in reserved:
            wanted.setdefault(naming.guard(run), guard_body(run, job))
    return _difference("guard", wanted, sight)


def _difference(kind: str, wanted: dict[str, Object], sight: Sight) -> list[Mark | Unmark]:
    here = {job["metadata"]["name"]: job["metadata"]["uid"] for job in sight.jobs if role(job) == kind}
    new = [Mark(name, body) for name, body in wanted.items() if name not in here]
    return [*new, *(Unmark(name, uid) for name, uid in here.items() if name not in wanted)]
