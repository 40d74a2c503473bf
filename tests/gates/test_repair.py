"""What any process may mend, and when: never while the attempt it belongs to can still write."""

from __future__ import annotations

from collections.abc import Sequence

from submits.gates import naming
from submits.gates.repair import Bookkeeping, Orphan, Remove, TakeOver, plan
from tests.gates.made import lease, reservation, sight, ticket


def removed(acts: Sequence[object]) -> list[str]:
    return [act.name for act in acts if isinstance(act, Remove | Orphan)]


def test_a_dead_leashed_holders_gate_is_taken_and_a_live_ones_is_not() -> None:
    dead = sight(gate=lease("dashboard-1", renewed=66, leashed=True))
    assert plan(dead, Bookkeeping(), 0) == [TakeOver("dashboard-1")]
    assert plan(sight(gate=lease("dashboard-1", renewed=60, leashed=True)), Bookkeeping(), 0) == []


def test_an_unleashed_holders_gate_is_left_to_the_line() -> None:
    assert plan(sight(gate=lease("openapi-1", renewed=2000)), Bookkeeping(), 0) == []


def test_a_reservation_goes_forty_seconds_after_our_takeover_of_its_holder() -> None:
    left = reservation("job-1", "dashboard-1")
    books = Bookkeeping(taken_at={"dashboard-1": 100})
    free = sight(jobs=[left])
    assert plan(free, books, 139) == []
    assert removed(plan(free, books, 141)) == [left["metadata"]["name"]]


def test_a_reservation_goes_when_no_hold_has_carried_it_for_two_minutes() -> None:
    left = reservation("job-1", "dashboard-1")
    books, free = Bookkeeping(), sight(jobs=[left])
    assert plan(free, books, 0) == []
    assert plan(free, books, 119) == []
    assert removed(plan(free, books, 121)) == [left["metadata"]["name"]]


def test_a_hold_that_carries_it_starts_the_two_minutes_anew() -> None:
    left = reservation("job-1", "dashboard-1")
    books, free = Bookkeeping(), sight(jobs=[left])
    plan(free, books, 0)
    plan(sight(jobs=[left], gate=lease("dashboard-1", leashed=True)), books, 60)
    assert plan(free, books, 121) == []


def test_a_kept_reservation_and_an_unleashed_ones_are_left_alone() -> None:
    kept = reservation("job-1")
    kept["metadata"]["annotations"][naming.KEEP] = "marker_missing"
    books = Bookkeeping()
    seen = sight(jobs=[kept, reservation("job-2", leashed=False)])
    plan(seen, books, 0)
    assert plan(seen, books, 10_000) == []


def test_tickets_past_their_end_are_deleted() -> None:
    assert removed(plan(sight(ticket(1, until=-61), ticket(2)), Bookkeeping(), 0)) == ["elb-ticket-1"]
