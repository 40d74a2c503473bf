"""What any process may mend, without election: every act is a compare-and-swap or a delete with uid.

1. A dead leashed holder's gate is taken and released at once, after its fast TTL.
2. The reservation it left is removed when nothing of its attempt can write any more (the leash, the kill, requests in
   flight): `repair_after_takeover` after our takeover, or when no hold has carried it for `repair_unheld`.
   Before that its run is looked up: submit and blast Jobs without a finalizer are deleted first.
3. Tickets past their end are deleted.

It never submits, retries, or decides a submission's fate. Reservations that are kept on purpose, and those of an
unleashed holder, go only by their owner or their deadline.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from submits.gates import naming
from submits.gates.counting import is_finalizer, is_terminal, role, run_of
from submits.gates.hold import Busy, Hold
from submits.gates.line import Sight
from submits.gates.objects import notes_of
from submits.gates.ports import Clock, Cluster, ClusterError, Object

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TakeOver:
    holder: str


@dataclass(frozen=True)
class Remove:
    """Delete one object, if it still is the one that was seen."""

    kind: str  # "jobs" or "leases"
    name: str
    uid: str
    why: str


Act = TakeOver | Remove


@dataclass
class Bookkeeping:
    """What a repairer has seen, in seconds of its own monotonic clock."""

    unheld_since: dict[str, float] = field(default_factory=dict)  # by the reservation's uid
    taken_at: dict[str, float] = field(default_factory=dict)  # by the dead holder's identity


def plan(sight: Sight, books: Bookkeeping, now: float) -> list[Act]:
    """What is to be mended now. Writes only into `books`."""
    acts: list[Act] = []
    if sight.gate.holder and sight.gate.leashed and sight.gate_open:
        acts.append(TakeOver(sight.gate.holder))
    reservations = [job for job in sight.jobs if role(job) == "reservation" and not is_terminal(job)]
    here = {job["metadata"]["uid"] for job in reservations}
    books.unheld_since = {uid: since for uid, since in books.unheld_since.items() if uid in here}
    for job in reservations:
        acts += _orphan(job, sight, books, now)
    acts += [Remove("leases", t.name, t.uid, "past its end") for t in sight.tickets if t.is_dead(sight.date)]
    return acts


def _orphan(job: Object, sight: Sight, books: Bookkeeping, now: float) -> list[Act]:
    notes, uid = notes_of(job), job["metadata"]["uid"]
    holder = notes.get(naming.HOLDER, "")
    if not notes.get(naming.FAST_TTL) or naming.KEEP in notes:
        return []
    if sight.gate.holder == holder:
        books.unheld_since.pop(uid, None)
        return []
    unheld = now - books.unheld_since.setdefault(uid, now)
    taken = books.taken_at.get(holder)
    times = sight.rules.times
    if unheld < times.repair_unheld and (taken is None or now - taken < times.repair_after_takeover):
        return []
    run = run_of(job)
    of_run = [j for j in sight.jobs if run_of(j) == run and role(j) == ""]
    if of_run and not any(is_finalizer(j) for j in of_run):
        # Work without a finalizer: nobody would merge or count it. Its reservation goes when it is gone.
        return [Remove("jobs", j["metadata"]["name"], j["metadata"]["uid"], "left by a dead attempt") for j in of_run]
    return [Remove("jobs", job["metadata"]["name"], uid, "its attempt is dead")]


def carry_out(act: Act, cluster: Cluster, clock: Clock, sight: Sight, books: Bookkeeping) -> bool:
    """Do one act. False when the cluster refused or did not answer: it stands in the next plan again."""
    try:
        if isinstance(act, TakeOver):
            # A repair holds the gate for no run and submits nothing: there is nothing a leash would have to kill.
            hold = Hold(cluster, clock, sight.rules, "repair", "", leashed=True)
            hold.take()
            books.taken_at[act.holder] = clock.monotonic()
            hold.release()
            log.warning("gate taken from dead holder %s and released", act.holder)
        else:
            cluster.delete("jobs" if act.kind == "jobs" else "leases", act.name, act.uid)
            log.warning("removed %s %s: %s", act.kind, act.name, act.why)
    except Busy:
        return True
    except ClusterError as error:
        log.warning("repair: %s", error)
        return False
    return True
