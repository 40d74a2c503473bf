"""What any process may mend, without election: every act is a compare-and-swap, a create under a fixed name or a delete
with uid, and may happen twice.

1. A dead leashed holder's gate is taken and released at once, after its fast TTL.
2. The reservation it left is removed when nothing of its attempt can write any more (the leash, the kill, requests in
   flight): `repair_after_takeover` after our takeover, or when no hold has carried it for `repair_unheld`.
   Before that its run is looked up: submit and blast Jobs without a finalizer are deleted first.
3. Live finalizers that are no phantoms get a pin before an older door would forget them; pins of others go.
4. Live submit and blast Jobs without a finalizer, seen while the gate is free, get a guard until none lives.
5. Tickets past their end are deleted.

It never submits, retries, or decides a submission's fate. Reservations that are kept on purpose, and those of an
unleashed holder, go only by their owner or their deadline. The limit: between the end of a run's last blast Job and
its pin, or of an older door's hold and its guard, that door counts one search too few; we never do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from submits.gates import markers, naming
from submits.gates.census import traces_of
from submits.gates.counting import is_terminal, role, run_of
from submits.gates.hold import Busy, Hold
from submits.gates.line import Sight
from submits.gates.markers import Mark, Unmark
from submits.gates.objects import Gate, Unchanged, notes_of
from submits.gates.ports import AlreadyExists, Clock, Cluster, ClusterError, NotFound, Object

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TakeOver:
    holder: str


@dataclass(frozen=True)
class Remove:
    """Delete one ticket, if it still is the one that was seen."""

    name: str
    uid: str
    why: str


@dataclass(frozen=True)
class Orphan:
    """A reservation that no hold carries any more."""

    name: str
    uid: str
    run_id: str
    holder: str


Act = TakeOver | Remove | Orphan | Mark | Unmark


@dataclass
class Bookkeeping:
    """What a repairer has seen, in seconds of CLOCK_BOOTTIME."""

    unheld_since: dict[str, float] = field(default_factory=dict)  # by the reservation's uid
    taken_at: dict[str, float] = field(default_factory=dict)  # by the dead holder's identity


def plan(sight: Sight, books: Bookkeeping, now: float) -> list[Act]:
    """What is to be mended now. Writes only into `books`."""
    acts: list[Act] = []
    if sight.gate.holder and sight.gate.leashed and sight.gate_open:
        acts.append(TakeOver(sight.gate.holder))
    reservations = [job for job in sight.jobs if role(job) == "reservation" and not is_terminal(job)]
    here = {job["metadata"]["uid"] for job in reservations}
    carried = {notes_of(job).get(naming.HOLDER, "") for job in reservations}
    books.taken_at = {holder: at for holder, at in books.taken_at.items() if holder in carried}
    books.unheld_since = {uid: since for uid, since in books.unheld_since.items() if uid in here}
    for job in reservations:
        acts += _orphan(job, sight, books, now)
    acts += markers.pins(sight)
    acts += markers.guards(sight)
    grace = sight.rules.times.until_grace
    acts += [Remove(t.name, t.uid, "past its end") for t in sight.tickets if t.is_dead(sight.date, grace)]
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
    return [Orphan(job["metadata"]["name"], uid, run_of(job), holder)]


def carry_out(act: Act, cluster: Cluster, clock: Clock, sight: Sight, books: Bookkeeping) -> bool:
    """Do one act. False when the cluster refused or did not answer: it stands in the next plan again."""
    try:
        match act:
            case TakeOver():
                take_over(act, cluster, clock, sight, books)
            case Orphan():
                remove_orphan(act, cluster)
            case Remove():
                cluster.delete("leases", act.name, act.uid)
                log.warning("removed ticket %s: %s", act.name, act.why)
            case Mark():
                cluster.create("jobs", act.body)
            case Unmark():
                cluster.delete("jobs", act.name, act.uid)
    except (Busy, AlreadyExists):  # alive after all; or another was faster
        return True
    except ClusterError as error:
        log.warning("repair: %s", error)
        return False
    return True


def take_over(act: TakeOver, cluster: Cluster, clock: Clock, sight: Sight, books: Bookkeeping) -> None:
    """A repair holds the gate for no run and submits nothing, so it counts as leashed: there is nothing to kill.

    It repeats what stays unanswered for a moment only: the next plan does, and the loop that it runs in has other work.
    """
    unchanged = Unchanged(sight.gate.version, sight.gate_seen_for)
    brief = replace(sight.rules.times, release_for=sight.rules.times.between_looks)
    rules = replace(sight.rules, times=brief)
    hold = Hold(cluster, clock, rules, "repair", "", leashed=True, unchanged=unchanged)
    try:
        hold.take()
        books.taken_at[act.holder] = clock.boot()
        log.warning("gate taken from dead holder %s and released", act.holder)
    finally:
        if hold.asked is not None:
            hold.release()


def remove_orphan(act: Orphan, cluster: Cluster) -> None:
    """The plan was made from what was seen; whether nobody holds it, and what it left, is asked freshly.

    Work without a finalizer is deleted first: nobody would merge or count it. Its reservation goes when it is gone.
    The gate is asked for before and after the look-up: what was listed while nobody wrote to it is no new attempt's.
    """
    before = gate_now(cluster)
    if act.holder == before.holder or act.run_id == naming.parent(before.run_id):
        return  # alive after all, or tried again at this moment
    if act.run_id:
        traces = traces_of(cluster, act.run_id)
        left = [job for job in traces.work if not is_terminal(job)]
        if left and not traces.finalizer:
            if gate_now(cluster) != before:
                return
            for job in left:
                cluster.delete("jobs", job["metadata"]["name"], job["metadata"]["uid"])
                log.warning("removed job %s: left by a dead attempt", job["metadata"]["name"])
            return
    cluster.delete("jobs", act.name, act.uid)
    log.warning("removed reservation %s: its attempt is dead", act.name)


def gate_now(cluster: Cluster) -> Gate:
    try:
        return Gate.read(cluster.get("leases", naming.gate(cluster.namespace)).object)
    except NotFound:
        return Gate.read(None)
