"""Schedules worth keeping: each has met something once, or shows a limit from its good side."""

from __future__ import annotations

from tests.gates.simulation.schedule import Act, Blow, Deed, Schedule, What

KNOWN: dict[str, Schedule] = {
    "nothing happens": Schedule(ours=3, parties=2, ceiling=2),
    "nothing happens, beside an older door": Schedule(seed=3, ours=2, older=2),
    "a holder dies when its submit has just begun": Schedule(
        ours=2, blows=(Blow("worker", 0, 5, What.CRASH_AFTER),), seed=2
    ),
    "a holder is stopped past its fast TTL; its leash kills": Schedule(
        ours=2, blows=(Blow("worker", 0, 5, What.STOP_AFTER, 4),), seed=4
    ),
    "a submit's finalizer arrives long after its leash has killed it": Schedule(
        ours=2, blows=(Blow("submit", 0, 0, What.LATE, 2), Blow("worker", 0, 5, What.CRASH_AFTER)), seed=4
    ),
    "the answer to the PUT that took the gate is lost, and it arrives late": Schedule(
        ours=3, parties=2, blows=(Blow("worker", 1, 1, What.LATE, 1), Blow("worker", 0, 1, What.DROP_RESPONSE))
    ),
    "a count is too old to be relied on": Schedule(ours=2, blows=(Blow("worker", 0, 5, What.STOP_AFTER, 2),), seed=1),
    "the gate cannot be looked at": Schedule(ours=2, blows=(Blow("worker", 0, 0, What.UNAVAILABLE),)),
    "the Jobs cannot be counted": Schedule(
        ours=2, blows=tuple(Blow("worker", 0, request, What.UNAVAILABLE) for request in range(4, 10))
    ),
    "a task comes twice": Schedule(ours=2, blows=(Blow("worker", 0, 0, What.TWICE),), seed=1),
    "an operator deletes the gate between a look and its write": Schedule(
        ours=2, blows=(Blow("worker", 1, 1, What.GATE_GONE),)
    ),
    "an operator deletes the gate while a submit runs": Schedule(ours=2, acts=(Act(2, Deed.DELETE_GATE),), seed=3),
    "the API server restarts and compacts its log": Schedule(ours=3, acts=(Act(9, Deed.RESTART),), seed=5),
    "the API server is away while a submit runs": Schedule(ours=2, acts=(Act(3, Deed.AWAY),), seed=6),
    "every watch of a gatekeeper goes half-open": Schedule(
        ours=3, parties=2, blows=tuple(Blow("gatekeeper", 0, number, What.HALF_OPEN) for number in range(5, 10))
    ),
    "a gatekeeper dies again and again": Schedule(
        ours=3, blows=tuple(Blow("gatekeeper", number, 12, What.CRASH_AFTER) for number in range(3))
    ),
    "a gatekeeper's clock is set on again and again, beside an older door": Schedule(
        seed=3, ours=2, older=2, blows=tuple(Blow("gatekeeper", 0, at, What.CLOCK, 5) for at in range(20, 90, 2))
    ),
    "a worker's clock is five hours slow, beside an older door": Schedule(
        ours=2, older=1, blows=(Blow("worker", 0, 0, What.CLOCK, 0), Blow("worker", 1, 0, What.CLOCK, 5)), seed=7
    ),
    "a holder's clock is set back while it holds, beside an older door": Schedule(
        seed=20354, ours=3, older=2, blows=(Blow("worker", 1, 2, What.CLOCK, 0),)
    ),
    "an unleashed holder dies; its submit goes on": Schedule(
        ours=2, leashed=False, blows=(Blow("worker", 0, 5, What.CRASH_AFTER),), seed=8
    ),
    "a late copy of a POST arrives when the submit has ended well": Schedule(
        ours=2, blows=(Blow("submit", 0, 1, What.LATE, 1),), seed=870
    ),
    "an ended attempt's token is reported after a newer one's": Schedule(
        ours=3, parties=2, older=1, blows=(Blow("worker", 3, 1, What.FREEZE_AFTER, 4),), seed=93
    ),
    "a submit gives a request up, fails of itself, and the request arrives after all": Schedule(
        seed=2, ours=2, blows=(Blow("submit", 0, 0, What.LATE, 2), Blow("submit", 0, 2, What.REFUSED))
    ),
}

# What PROTOCOL states as a limit, and which invariant it costs: it must be seen, or the excuse would hide anything.
LIMITS: dict[str, tuple[Schedule, str]] = {
    "a machine frozen past the fast TTL goes on": (
        Schedule(seed=7, ours=2, ceiling=2, blows=(Blow("worker", 0, 7, What.FREEZE_BEFORE, 4),)),
        "I2",
    ),
    "a machine frozen until its marker is gone goes on": (
        Schedule(seed=7, ours=2, ceiling=1, blows=(Blow("worker", 0, 7, What.FREEZE_BEFORE, 5),)),
        "I1",
    ),
    "an older door dies between its batches and its finalizer": (
        Schedule(seed=3, ours=0, older=3, blows=(Blow("older submit", 0, 2, What.CRASH_BEFORE),)),
        "I1",
    ),
    "an older door's clock is five hours fast": (
        Schedule(seed=2, ours=2, older=1, blows=(Blow("older", 0, 0, What.CLOCK, 5),)),
        "I4",
    ),
}
