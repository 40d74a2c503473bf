"""From what the gatekeeper sees to what people are shown: Sight → View. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from submits.engine.diagnosis import HeldUp
from submits.engine.stage import stage_of
from submits.gates import monitor as gates
from submits.gates import naming
from submits.gates.counting import id_of, idle_finalizers, is_marker, is_work, last_change, phantoms, role, run_of
from submits.gates.line import Sight, Standing
from submits.gates.objects import created, labels, notes_of
from submits.gates.ports import Object
from submits.live import Breach, Health, Lease, Place, Slot, Stuck, View
from submits.states import Phase


def iso(when: datetime | None) -> str:
    return when.isoformat(timespec="seconds") if when else ""


UNCHANGED_STEP = 10  # seconds: a snapshot that says a new number at every turn would wake every page


def view_of(
    sight: Sight,
    standings: Iterable[Standing],
    ours: set[str],
    party: str,
    answered: datetime,
    breaches: Iterable[gates.Breach] = (),
    counts: Mapping[str, int] | None = None,
    held: Mapping[str, HeldUp] | None = None,
) -> View:
    """`ours`: the run ids that came through this door, `party`; the others' doors are told by their reservations.
    `held`: by run, what its Pods are held up by, as far as that is looked at."""
    return View(
        gate=sight.word,
        active=len(sight.places),
        ceiling=sight.ceiling,
        lease=lease_of(sight),
        line=[place_of(standing) for standing in standings],
        slots=[
            slot_of(key, jobs, sight, ours, party, held or {}) for key, jobs in sorted(sight.places.items(), key=oldest)
        ],
        stuck=[stuck_of(job, sight) for job in idle_finalizers(sight.jobs)],
        answered_at=iso(answered),
        drained=sight.controls.drained,
        breaches=[Breach(kind=b.kind, at=iso(b.at), evidence=b.evidence) for b in breaches],
        breach_counts=dict(counts or {}),
        health=Health(backend="", note="", power=None, silence=None),
        unchanged=unchanged_of(sight),
    )


def unchanged_of(sight: Sight) -> tuple[str, float]:
    """Said only of a hold whose age nothing else tells; rounded down, so that nobody takes it over too early."""
    if not sight.gate.holder or sight.gate.renewed is not None:
        return "", 0.0
    return sight.gate.version, float(sight.gate_seen_for // UNCHANGED_STEP * UNCHANGED_STEP)


def lease_of(sight: Sight) -> Lease:
    gate = sight.gate
    held = bool(gate.holder) and not sight.gate_open
    return Lease(
        holder=gate.holder or None,
        source=gate.party,
        since=iso(gate.acquired) or None if held else None,
        renewed=iso(gate.renewed) or None,
        free_by=(iso(gate.free_by(sight.rules)) or None) if held else None,
        run_id=naming.parent(gate.run_id) or None,
        leashed=gate.leashed,
    )


def place_of(standing: Standing) -> Place:
    ticket = standing.ticket
    return Place(
        submission=ticket.submission,
        run_id=ticket.run_id,
        party=ticket.party,
        since=iso(ticket.created),
        position=standing.position,
        skipped=standing.skipped,
    )


def oldest(item: tuple[str, list[Object]]) -> str:
    return min(str(job["metadata"].get("creationTimestamp", "")) for job in item[1])


def slot_of(
    key: str, counted: list[Object], sight: Sight, ours: set[str], party: str, held: Mapping[str, HeldUp]
) -> Slot:
    run = next((run_of(job) for job in counted if run_of(job)), "")
    of_run = [job for job in sight.jobs if run_of(job) == run] if run else counted
    how_far = stage_of(of_run)
    by = held.get(run)
    return Slot(
        key=key,
        run_id=run or None,
        party=party if run in ours else door_of(of_run),
        since=iso(min(filter(None, map(created, of_run)), default=None)),
        what=what_of(counted),
        batches=how_far.batches,
        batches_done=how_far.done,
        merging=how_far.phase is Phase.MERGING,
        held_up=by.reason if by else "",
        words=by.words if by else "",
    )


def what_of(counted: list[Object]) -> str:
    if not any(run_of(job) for job in counted):
        return "unlabelled"
    if any(not is_marker(job) for job in counted):
        return "running"
    return "guard" if any(role(job) == "guard" for job in counted) else "announced"


def door_of(jobs: Iterable[Object]) -> str:
    holders = (notes_of(job).get(naming.HOLDER, "") for job in jobs if is_marker(job))
    return next((naming.party_of(holder) for holder in holders if holder), "")


def stuck_of(job: Object, sight: Sight) -> Stuck:
    """Evidence first; whether it still holds its place is the same rule that the count uses."""
    run = id_of(job)
    changed = last_change(run, sight.jobs)
    grace = sight.rules.knobs.finalizer_grace
    idle = int((sight.date - changed).total_seconds()) if changed else 0
    others = sum(1 for other in sight.jobs if id_of(other) == run and is_work(other))
    phantom = any(job is found for found in phantoms(list(sight.jobs), sight.date, grace))
    holds = "it no longer holds a place" if phantom else f"it holds its place until {grace} s without a change"
    return Stuck(
        name=job["metadata"]["name"],
        run_id=labels(job).get(naming.ELB_JOB_ID),
        since=iso(created(job)),
        last_change=iso(changed),
        evidence=f"no active Pod, no live submit or blast Job ({others} ended), nothing changed for {idle} s; {holds}",
    )
