"""The polite yield: an older search of a door without tickets gets its chance, once, and a stale one costs once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from submits.gates.line import Memory, Sight, advance, next_look, standings
from submits.gates.objects import Demand
from submits.gates.ports import Knobs, Object, Rules
from submits.states import Reason
from tests.gates.made import NOW, RULES, ago, demand, job, lease, sight, ticket

FULL = [job("finalizer", f"job-x{n}", active=1) for n in range(3)]
OLDER = demand("v1-a")


def watch(seen: Sight, *times: float, memory: Memory | None = None) -> Memory:
    memory = memory or Memory()
    for now in times:
        memory = advance(memory, seen, now)
    return memory


def turns(seen: Sight, memory: Memory) -> list[str]:
    return [s.ticket.submission for s in standings(seen, memory) if s.turn]


def test_a_ticket_gives_way_to_an_older_search_for_eight_seconds_and_says_so() -> None:
    seen = sight(ticket(1), older=[OLDER])
    memory = watch(seen, 0)
    assert turns(seen, memory) == []
    (place,) = standings(seen, memory)
    assert place.reason is Reason.WAITING_IN_LINE
    assert "8 s at most" in place.detail
    assert next_look(seen, memory) == 8
    assert turns(seen, watch(seen, 7.9, memory=memory)) == []
    assert turns(seen, watch(seen, 8, memory=memory)) == ["s1"]


@pytest.mark.parametrize(
    "other",
    [
        demand("younger", age=-1),
        demand("as-old", age=0),
        demand("silent", age=9000, silent=2701),
        Demand("of-no-age", None, NOW),
    ],
)
def test_nobody_gives_way_to_a_younger_a_silent_or_an_unknown_one(other: Demand) -> None:
    seen = sight(ticket(1), older=[other])
    assert turns(seen, watch(seen, 0)) == ["s1"]


def test_one_that_was_written_to_lately_is_not_silent() -> None:
    seen = sight(ticket(1), older=[demand("alive", age=9000, silent=2699)])
    assert turns(seen, watch(seen, 0)) == []


def test_breaks_do_not_restart_it() -> None:
    seen = sight(ticket(1), older=[OLDER])
    memory = watch(seen, 0)
    memory = watch(sight(ticket(1), older=[OLDER], jobs=FULL), 1, memory=memory)
    assert turns(seen, watch(seen, 8.1, memory=memory)) == ["s1"]


def test_it_begins_only_when_both_are_free_with_the_ticket_first() -> None:
    seen = sight(ticket(1), ticket(2), older=[OLDER])
    memory = watch(seen, 0, 8)
    assert turns(seen, memory) == ["s1"]
    second = sight(ticket(2), older=[demand("v1-b")])
    memory = watch(second, 9, memory=memory)
    assert turns(second, memory) == []
    assert turns(second, watch(second, 17, memory=memory)) == ["s2"]


def v1_hold() -> Object:
    return lease("openapi-1", renewed=1)


@pytest.mark.parametrize("between", [False, True])
def test_it_is_over_when_an_older_door_has_had_the_gate(between: bool) -> None:
    """Also when that hold began and ended between two looks."""
    seen = sight(ticket(1), older=[OLDER])
    held = sight(ticket(1), older=[OLDER], **({"holds": [v1_hold()]} if between else {"gate": v1_hold()}))
    memory = watch(held, 2, memory=watch(seen, 0))
    assert turns(seen, watch(seen, 3, memory=memory)) == ["s1"]


def test_a_hold_of_ours_does_not_end_it() -> None:
    seen = sight(ticket(1), older=[OLDER])
    held = sight(ticket(1), older=[OLDER], gate=lease("openapi-1", leashed=True, run="job-8"))
    memory = watch(held, 2, memory=watch(seen, 0))
    assert turns(seen, watch(seen, 3, memory=memory)) == []


def test_one_that_did_not_come_in_eight_seconds_costs_nothing_any_more() -> None:
    first, second = sight(ticket(1), older=[OLDER]), sight(ticket(2), older=[OLDER])
    memory = watch(first, 0, 8)
    assert turns(first, memory) == ["s1"]
    assert turns(second, watch(second, 9, memory=memory)) == ["s2"]


def test_one_that_has_not_been_offered_the_gate_for_so_long_is_given_way_to_again() -> None:
    """The gate was open for a second of the eight: an older door that polls every five need not have seen it."""
    first, second = sight(ticket(1), older=[OLDER]), sight(ticket(2), older=[OLDER])
    memory = watch(first, 0, 1)
    memory = watch(sight(ticket(1), older=[OLDER], jobs=FULL), 1.01, 8, memory=memory)
    assert turns(first, watch(first, 9, memory=memory)) == ["s1"]
    memory = watch(second, 10, memory=memory)
    assert turns(second, memory) == []
    assert turns(second, watch(second, 18, memory=memory)) == ["s2"]


def test_a_stale_one_beside_a_live_one_is_told_apart_in_the_end() -> None:
    stale, live = demand("stale"), demand("live")
    memory, both = Memory(), sight(ticket(1), older=[stale, live])
    memory = watch(both, 0, 4, memory=memory)
    memory = watch(sight(ticket(1), older=[stale], gate=v1_hold()), 5, memory=memory)
    for number, begin in ((2, 10), (3, 20)):
        seen = sight(ticket(number), older=[stale])
        memory = watch(seen, begin, memory=memory)
        assert (turns(seen, memory) == []) is (number == 2)
        memory = watch(seen, begin + 8, memory=memory)


def test_who_gives_way_is_not_skipped_as_dead_by_another_line() -> None:
    """That line sees an open gate and a first that does not act, for eight seconds of the ten."""
    seen = sight(ticket(1, "openapi"), ticket(2), older=[OLDER])
    assert watch(seen, 0, 8, 9.9).skipped == frozenset()


def test_a_yield_of_nothing_is_none() -> None:
    seen = sight(ticket(1), older=[OLDER], rules=Rules(Knobs(v1_yield=0), RULES.times))
    assert turns(seen, watch(seen, 0)) == ["s1"]


def test_what_is_gone_is_forgotten() -> None:
    seen = sight(ticket(1), older=[OLDER])
    memory = watch(sight(), 20, memory=watch(seen, 0, 8))
    assert replace(memory.yields, looked=0.0) == type(memory.yields)()


def test_a_job_is_read_as_it_was_made_and_last_written() -> None:
    meta = {"uid": "u", "creationTimestamp": ago(90), "managedFields": [{"time": ago(9)}, {"time": ago(50)}]}
    assert Demand.read({"metadata": meta}) == demand("u", age=90, silent=9)
    assert Demand.read({"metadata": {**meta, "managedFields": []}}) == demand("u", age=90, silent=90)
