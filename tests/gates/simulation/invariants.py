"""I1 to I12 of the protocol, as pure functions over what the store showed and what was told. "" is: it holds.

    at every revision        I1 ceiling · I3 marker · I4 release and takeover · I10 what an older door counts
    at every submit's start  I2 one submit at a time · I6 one submit per run · I7 first in, first out · I8 in time
    at every token           I5 tokens grow, and name a hold of theirs
    at every verdict         I11 busy, error and unknown are three things · I12 a wait has its reason
    at every look            I12 whoever waits is told why
    at the end               I8 everything has ended in time · I9 nothing of ours is left

They count by their own words, not by the product's, except where the product's count is what is judged (I10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from submits.gates.counting import occupied
from submits.gates.line import Standing
from submits.gates.ports import Object
from submits.gates.verdicts import Outcome
from submits.states import Reason
from tests.gates import v1
from tests.gates.simulation.clockwork import Process
from tests.gates.simulation.schedule import FREEZES, Deed, Schedule, What
from tests.gates.simulation.submitting import Begun
from tests.gates.v1 import has_ended

GATE = "elb-blast-submit-default"
UNDEFINED = (Reason.COORDINATION_UNAVAILABLE, Reason.CAPACITY_COUNT_ERROR)
REPAIRED_AFTER = 95.0  # seconds: a dead holder's marker goes 105 s after its last heartbeat, which may be 10 s old
MARKERS = ("reservation", "guard")


@dataclass(frozen=True)
class Moment:
    """One revision: what was written by whom, and everything as it is after it."""

    revision: int
    at: float
    date: datetime
    kind: str
    type: str
    name: str
    now: Object | None
    before: Object | None
    writer: Process | None
    method: str
    jobs: Mapping[str, Object]
    leases: Mapping[str, Object]

    @property
    def of_gate(self) -> bool:
        return self.kind == "leases" and self.name == GATE


def label(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("labels") or {}).get(name, ""))


def note(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def role(job: Object) -> str:
    return label(job, "coordui/role")


def key(job: Object) -> str:
    run = note(job, "coordui/for") if role(job) in MARKERS else label(job, "elb-job-id")
    return run.partition(".")[0] or str(job["metadata"]["uid"])


def live_runs(jobs: Iterable[Object]) -> set[str]:
    """Whose Jobs are there and have not ended; markers and pins are no work."""
    return {key(job) for job in jobs if not role(job) and not has_ended(job)}


def marked(jobs: Iterable[Object]) -> set[str]:
    return {key(job) for job in jobs if role(job) != "pin" and not has_ended(job)}


def holder(lease: Object | None) -> str:
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


# At every revision ----------------------------------------------------------------------------------------------------


def ceiling(moment: Moment, schedule: Schedule) -> str:
    """I1"""
    runs = live_runs(moment.jobs.values()) if moment.kind == "jobs" else set()
    if len(runs) > schedule.ceiling:
        return f"I1: {len(runs)} searches run where {schedule.ceiling} may: {sorted(runs)}"
    return ""


def marker(moment: Moment, writing: Iterable[str]) -> str:
    """I3. `writing`: runs of ours whose submit runs now, or has requests on the way."""
    if moment.kind != "jobs":
        return ""
    missing = set(writing) - marked(moment.jobs.values())
    return f"I3: nothing marks the place of {sorted(missing)}, whose submit can still write" if missing else ""


def release(moment: Moment, identities: Mapping[str, Process], age: float) -> str:
    """I4. `identities`: who made up which holder; `age`: seconds since the gate's last renewal, by the server."""
    if not moment.of_gate or moment.writer is None or moment.writer.role == "operator":
        return ""
    was, now = holder(moment.before), holder(moment.now)
    if moment.type == "ADDED" and moment.method != "POST":
        return f"I4: {moment.writer.name} brought a deleted gate back by {moment.method}"
    if not was or was == now or identities.get(was) is moment.writer:
        return ""
    patience = patience_of(moment.before)
    if now and age > patience:
        return ""
    what = f"took the gate from {was} after {age:.0f} s of {patience:.0f}" if now else f"released {was}"
    return f"I4: {moment.writer.name} {what}"


def ticket_first(moment: Moment, submitted: Iterable[str], waiting: Mapping[str, int]) -> str:
    """I7, its other half: whoever was led through has left the line before it gives the gate back."""
    run = note(moment.before, "coordui/for") if moment.before else ""
    if holder(moment.before) and not holder(moment.now) and run in set(submitted) and run in waiting:
        return f"I7: {run} gives the gate back and still stands first in line"
    return ""


def patience_of(lease: Object | None) -> float:
    assert lease is not None
    leashed = note(lease, "coordui/fast-ttl") == "60" and note(lease, "coordui/holder") == holder(lease)
    return 65.0 if leashed else float((lease["spec"].get("leaseDurationSeconds") or 900) + 30)


def older_count(moment: Moment) -> str:
    """I10, first half: every search that an older door counts, we count."""
    if moment.kind != "jobs":
        return ""
    jobs = list(moment.jobs.values())
    ours = set(occupied(jobs, moment.date, 300))
    theirs = {key(job) for job in v1.counted(jobs, moment.date) if role(job) != "pin"}
    return f"I10: an older door counts {sorted(theirs - ours)} and we do not" if theirs - ours else ""


def older_misses(moment: Moment) -> str:
    """I10, second half, where every gatekeeper acts: an older door counts every search that has a finalizer, which a
    pin must see to once it is old and merges."""
    if not moment.of_gate:
        return ""
    jobs = list(moment.jobs.values())
    submitted = {key(job) for job in jobs if label(job, "app") == "finalizer" and not role(job) and not has_ended(job)}
    missed = submitted - {key(job) for job in v1.counted(jobs, moment.date)}
    return f"I10: an older door does not count {sorted(missed)}" if missed else ""


# At every submit's start ----------------------------------------------------------------------------------------------


def alone(begun: Begun, others: Iterable[Begun]) -> str:
    """I2"""
    running = [other.process.name for other in others if other is not begun and other.runs]
    return f"I2: {begun.process.name} starts while {', '.join(running)} runs" if running else ""


def once(begun: Begun, others: Iterable[Begun], finalizers: Iterable[str]) -> str:
    """I6. `finalizers`: runs that have a finalizer now."""
    if any(other.run == begun.run and other.code == 0 for other in others):
        return f"I6: {begun.run} is submitted a second time by {begun.process.name}"
    return f"I6: {begun.run} is submitted although its finalizer is there" if begun.run in set(finalizers) else ""


def in_order(begun: Begun, waiting: Mapping[str, int]) -> str:
    """I7, for a run in which every door acts. `waiting`: run → its ticket's revision, of those still in line."""
    mine = waiting.get(begun.run)
    older = [run for run, order in waiting.items() if mine is not None and order < mine]
    return f"I7: {begun.run} passes {older}, which stand before it" if older else ""


def in_time(taker: str, free_for: float, allowed: float) -> str:
    """I8, for a run in which every door acts. `free_for`: seconds that gate and slot were free and a ticket waited."""
    return f"I8: {taker} takes the gate {free_for:.1f} s after gate and slot came free" if free_for > allowed else ""


# What is told ---------------------------------------------------------------------------------------------------------


def tokens(earlier: list[int], token: int, holders: Mapping[int, str], said: str) -> str:
    """I5. `earlier`: tokens of earlier claims; `holders`: revision of a write of the gate → its holder after it."""
    if any(token <= known for known in earlier):
        return f"I5: token {token} after {max(earlier)}"
    return "" if holders.get(token) == said else f"I5: token {token} is no write of {said}"


def told_apart(outcome: Outcome, reason: Reason, *, faults: bool, contested: bool, started: bool, found: bool) -> str:
    """I11 and I12. `faults`: a request of this try got no definite answer; `contested`: another held or took the gate
    meanwhile; `started`: its submit was started; `found`: the run has or had a finalizer."""
    said = f"{outcome} ({reason})"
    if not faults and (outcome is Outcome.UNKNOWN or reason in UNDEFINED):
        return f"I11: {said} although every answer was definite"
    if outcome is Outcome.SHUT and reason is Reason.WAITING_FOR_SUBMIT_SLOT and not contested:
        return f"I11: {said} although nobody else held the gate"
    if outcome is Outcome.SUBMITTED and not found:
        return f"I11: {said} without a finalizer"
    if outcome is Outcome.NOTHING and not started:
        return f"I11: {said} and no submit was started"
    if outcome not in (Outcome.SUBMITTED, Outcome.SUPERSEDED) and reason is Reason.NONE:
        return f"I12: {said} without a reason"
    return ""


def reasons(places: Iterable[Standing]) -> str:
    """I12"""
    silent = [place.ticket.submission for place in places if not place.turn and place.reason is Reason.NONE]
    return f"I12: {silent} wait without a reason" if silent else ""


# At the end -----------------------------------------------------------------------------------------------------------


def nothing_left(jobs: Iterable[Object], leases: Mapping[str, Object], age: float) -> str:
    """I9. `age`: of the gate's last renewal. A dead hold that nobody's leash limited may stand, expired, until the next
    one takes it; a leashed one is given back by repair."""
    left = [job["metadata"]["name"] for job in jobs if role(job)]
    left += [name for name in leases if name != GATE]
    gate = leases.get(GATE)
    if holder(gate) and (patience_of(gate) < 100 or age <= patience_of(gate)):
        left.append(holder(gate))
    return f"I9: {left} is left when all work has ended" if left else ""


def excuses(schedule: Schedule) -> frozenset[str]:
    """Which invariants a schedule is known to break: the limits that PROTOCOL states, and no others."""
    broken = set()
    frozen = sum(blow.long for blow in schedule.blows if blow.what in FREEZES)
    if frozen:
        broken |= {"I2", "I6"}  # a machine frozen past the fast TTL that goes on
    if frozen > REPAIRED_AFTER:
        broken |= {"I1", "I3"}  # and its marker has been removed meanwhile
    if schedule.older and schedule.hits("older", "older submit"):
        broken |= {"I1", "I2", "I4"}  # a v1 that crashes, stops, or whose clock is off
    if schedule.older and schedule.does(Deed.DELETE_FINALIZER):
        broken |= {"I1"}  # until repair guards what it leaves, an older door counts one search too few
    if schedule.older and (schedule.does(Deed.DELETE_GATE) or schedule.has(What.GATE_GONE)):
        broken |= {"I1"}  # it may hold it, and does not announce
    if schedule.older and schedule.halts("gatekeeper"):
        broken |= {"I1"}  # pins and guards, which only an older door needs, come from a repairer that acts
    return frozenset(broken)
