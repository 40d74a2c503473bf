"""Whose turn it is: first come, first served, past whoever does not act."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from submits.gates import naming
from submits.gates.line import Memory, Sight, advance, next_look, standings, wait_over
from submits.gates.objects import Controls, Gate
from submits.gates.ports import Object
from submits.states import Reason
from tests.gates.made import NOW, RULES, job, lease, reservation, sight, ticket


def turns(seen: Sight, memory: Memory | None = None) -> list[str]:
    return [s.ticket.submission for s in standings(seen, memory or Memory()) if s.turn]


def reasons(seen: Sight) -> list[Reason]:
    return [s.reason for s in standings(seen, Memory())]


def watch(seen: Sight, *times: float, memory: Memory | None = None) -> Memory:
    memory = memory or Memory()
    for now in times:
        memory = advance(memory, seen, now)
    return memory


FULL = [job("finalizer", f"job-x{n}", active=1) for n in range(3)]


def test_the_smallest_revision_is_first_whatever_the_order_they_come_in() -> None:
    seen = sight(ticket(9), ticket(3), ticket(5))
    assert turns(seen) == ["s3"]
    assert [s.position for s in standings(seen, Memory())] == [1, 2, 3]


def test_nobody_acts_while_a_live_holder_has_the_gate() -> None:
    seen = sight(ticket(1), gate=lease("openapi-1", renewed=10))
    assert turns(seen) == []
    assert reasons(seen) == [Reason.WAITING_FOR_SUBMIT_SLOT]


def test_the_gate_of_a_leashed_holder_is_open_after_its_fast_ttl() -> None:
    assert turns(sight(ticket(1), gate=lease("dashboard-1", renewed=64, leashed=True))) == []
    assert turns(sight(ticket(1), gate=lease("dashboard-1", renewed=66, leashed=True))) == ["s1"]


def test_the_gate_of_any_other_holder_is_open_after_its_duration_and_the_skew() -> None:
    assert turns(sight(ticket(1), gate=lease("openapi-1", renewed=929))) == []
    assert turns(sight(ticket(1), gate=lease("openapi-1", renewed=931))) == ["s1"]


def test_a_holder_that_another_party_replaced_is_not_judged_by_our_annotations() -> None:
    stolen = lease("dashboard-1", renewed=100, leashed=True)
    stolen["spec"]["holderIdentity"] = "openapi-2"
    assert turns(sight(ticket(1), gate=stolen)) == []


def test_an_absent_or_zero_duration_means_the_configured_ttl() -> None:
    for duration in (None, 0):
        assert turns(sight(ticket(1), gate=lease("x-1", renewed=100, leaseDurationSeconds=duration))) == []
        assert turns(sight(ticket(1), gate=lease("x-1", renewed=931, leaseDurationSeconds=duration))) == ["s1"]


def test_both_shut_is_called_by_the_first_one_a_search_meets() -> None:
    assert sight(gate=lease("x-1"), jobs=FULL).word == "A_busy"
    assert sight(jobs=FULL).word == "B_full"
    assert sight(jobs=FULL[:2]).word == "open"


def test_its_own_markers_do_not_keep_a_search_out() -> None:
    mine = job("finalizer", "job-1", active=1)
    assert turns(sight(ticket(1), jobs=[*FULL[:2], mine])) == ["s1"]
    assert reasons(sight(ticket(1), jobs=FULL)) == [Reason.WAITING_FOR_CAPACITY]


def test_a_first_that_does_not_act_is_skipped_after_ten_seconds_for_good() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2))
    memory = watch(seen, 0, 9.9)
    assert turns(seen, memory) == ["s1"]
    memory = watch(seen, 10, memory=memory)
    assert turns(seen, memory) == ["s1", "s2"]
    assert turns(seen, watch(seen, 11, 12, memory=memory)) == ["s1", "s2"]


def test_the_next_ticket_of_a_slow_party_costs_one_second() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2, "openapi"), ticket(3))
    memory = watch(seen, 0, 10)
    assert turns(seen, memory) == ["s1", "s2"]
    assert "s3" in turns(seen, watch(seen, 11.1, memory=memory))


def test_a_party_seen_to_admit_something_is_measured_in_full_again() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2, "openapi"), ticket(3))
    memory = watch(seen, 0, 10)
    submitted = sight(ticket(1, "openapi"), ticket(2, "openapi"), ticket(3), jobs=[job("finalizer", "job-1", active=1)])
    memory = watch(submitted, 10.5, memory=memory)
    assert memory.slow == frozenset()
    assert "s3" not in turns(submitted, watch(submitted, 19.9, memory=memory))


def test_a_party_that_takes_the_gate_and_fails_again_and_again_admits_nothing() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2))
    held = sight(ticket(2), gate=lease("openapi-9", leashed=True, run="job-1"))
    memory = watch(held, 10.5, 11, memory=watch(seen, 0, 10))
    assert memory.slow == {"openapi"}
    submitted = sight(ticket(2), jobs=[job("finalizer", "job-1", active=1)])
    assert watch(submitted, 12, memory=memory).slow == frozenset()


def test_a_finalizer_heard_of_long_after_its_hold_forgives_nobody() -> None:
    seen = sight(ticket(1, "openapi"), ticket(3))
    held = sight(ticket(3), gate=lease("openapi-9", leashed=True, run="job-1"))
    memory = watch(held, 10.5, memory=watch(seen, 0, 10))
    late = sight(ticket(3), jobs=[job("finalizer", "job-1", active=1)])
    assert watch(late, 45, memory=memory).slow == {"openapi"}


def test_a_hold_that_began_and_ended_between_two_looks_is_not_missed() -> None:
    """Its holder acted; and for everybody else an opening has ended, which counts at least a second."""
    free = sight(ticket(1), ticket(2))
    acted = sight(ticket(1), ticket(2), holds=[lease("dashboard-1", leashed=True, run="job-1")])
    assert turns(free, watch(free, 18, memory=watch(acted, 9, memory=watch(free, 0)))) == ["s1"]
    memory = watch(free, 0)
    for n in range(1, 11):
        memory = watch(sight(ticket(1), ticket(2), holds=[lease("openapi-1")]), n / 10, memory=memory)
    assert turns(free, memory) == ["s1", "s2"]


def test_a_place_that_another_takes_ends_an_opening_and_a_stop_does_too_but_is_nobodys_fault() -> None:
    free, full = sight(ticket(1), ticket(2)), sight(ticket(1), ticket(2), jobs=FULL)
    stopped = sight(ticket(1), ticket(2), controls=Controls(paused=frozenset({"openapi"}), drained=True))
    memory = Memory()
    for n in range(10):
        memory = watch(full, n + 0.01, memory=watch(free, n, memory=memory))
    assert memory.skipped == {"ticket-1"}
    memory = Memory()
    for n in range(10):
        memory = watch(stopped, n + 0.01, memory=watch(free, n, memory=memory))
    assert memory.skipped == frozenset()


def waiting_child() -> Object:
    place = reservation("job-9")
    place["metadata"]["annotations"][naming.CHILD_WAITS] = "job-9.aaaaaaaa"
    return place


def test_a_splits_waiting_child_has_the_gates_first_quarter_second() -> None:
    held = sight(ticket(1), jobs=[waiting_child()], gate=lease("openapi-1"))
    free = sight(ticket(1), jobs=[waiting_child()])
    memory = watch(free, 5, memory=watch(held, 0))
    assert turns(free, memory) == []
    assert 0 < next_look(free, memory) <= 0.25
    assert turns(free, watch(free, 5.24, memory=memory)) == []
    assert turns(free, watch(free, 5.25, memory=memory)) == ["s1"]
    between = sight(ticket(1), jobs=[waiting_child()], holds=[lease("openapi-1")])
    assert turns(between, watch(between, 7, memory=watch(free, 6, memory=memory))) == []


def test_where_no_child_waits_the_gate_is_taken_at_once() -> None:
    held, free = sight(ticket(1), gate=lease("openapi-1")), sight(ticket(1), jobs=[reservation("job-9")])
    assert turns(free, watch(free, 5, memory=watch(held, 0))) == ["s1"]


def test_the_next_look_is_when_the_first_is_skipped() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2))
    assert next_look(seen, watch(seen, 0, 4)) == 4  # a yield would end now
    assert next_look(seen, watch(seen, 0, 9)) == 1


def test_the_next_look_is_when_a_dead_holders_gate_opens() -> None:
    """Not before whoever asks can see it: an answer's date is in whole seconds."""
    for gate in (lease("dashboard-1", renewed=60, leashed=True), lease("openapi-1", renewed=925)):
        for past in (0.0, 0.3, 4.9):
            held = replace(sight(ticket(1), gate=gate), date=NOW + timedelta(seconds=past))
            wait = next_look(held, watch(held, 0, 4))
            assert wait == pytest.approx(5 - past)
            opens = held.date + timedelta(seconds=wait)
            assert turns(replace(held, date=opens)) == ["s1"]
            assert Gate.read(gate).is_open(opens.replace(microsecond=0), RULES)
            assert turns(replace(held, date=opens - timedelta(milliseconds=1))) == []


def test_time_with_the_gate_shut_is_not_held_against_the_first() -> None:
    free, held = sight(ticket(1), ticket(2)), sight(ticket(1), ticket(2), gate=lease("x-1"))
    memory = watch(held, 5, 50, memory=watch(free, 0, 4))
    assert turns(free, watch(free, 50.5, memory=memory)) == ["s1"]


def test_openings_add_up_and_one_that_another_ended_counts_at_least_a_second() -> None:
    free, held = sight(ticket(1), ticket(2)), sight(ticket(1), ticket(2), gate=lease("x-1"))
    memory = Memory()
    for n in range(10):
        memory = watch(held, n * 5 + 0.01, memory=watch(free, n * 5, memory=memory))
    assert turns(free, watch(free, 50, memory=memory)) == ["s1", "s2"]


def test_what_a_first_has_left_unused_is_kept_while_its_party_is_paused() -> None:
    dead, next_one = ticket(1, "openapi"), ticket(2)
    paused = sight(dead, next_one, controls=Controls(paused=frozenset({"openapi"})))
    memory = advance(Memory(), sight(dead, next_one), 0.0)
    memory = advance(memory, paused, 6.0)
    memory = advance(memory, sight(dead, next_one), 7.0)
    assert advance(memory, sight(dead, next_one), 10.9).skipped == frozenset()
    assert advance(memory, sight(dead, next_one), 11.0).skipped == {dead.uid}


def test_nothing_counts_while_drained_and_nobody_acts() -> None:
    seen = sight(ticket(1), ticket(2), controls=Controls(drained=True))
    assert turns(seen, watch(seen, 0, 100)) == []
    assert reasons(seen) == [Reason.DRAINED, Reason.DRAINED]


def test_a_paused_partys_ticket_is_passed_over() -> None:
    seen = sight(ticket(1, "openapi"), ticket(2), controls=Controls(paused=frozenset({"openapi"})))
    assert turns(seen) == ["s2"]


def test_a_lowered_ceiling_holds_and_a_raised_one_does_not() -> None:
    assert turns(sight(ticket(1), jobs=FULL[:2], controls=Controls(ceiling=2))) == []
    assert turns(sight(ticket(1), jobs=FULL, controls=Controls(ceiling=9))) == []


def test_a_ticket_long_past_its_end_is_ignored() -> None:
    assert turns(sight(ticket(1, until=-61), ticket(2))) == ["s2"]
    assert turns(sight(ticket(1, until=-59), ticket(2))) == ["s1"]


def over(waited: float, still: float, until: float = 9999, **world: Any) -> Reason | None:
    seen = sight(ticket(1), **world)
    (place,) = standings(seen, Memory())
    since, moved, end = (NOW + timedelta(seconds=s) for s in (-waited, -still, until))
    return wait_over(seen, place, since, moved, end)


def test_a_wait_ends_only_when_it_has_lasted_and_the_line_stood_still_as_long() -> None:
    knob = RULES.knobs.submit_wait_max
    held: dict[str, Any] = {"gate": lease("openapi-1")}
    assert over(knob + 1, knob - 1, **held) is None
    assert over(knob - 1, knob - 1, **held) is None
    assert over(knob + 1, knob + 1, **held) is Reason.SUBMIT_SLOT_TIMEOUT
    assert over(knob + 1, knob + 1, jobs=FULL) is Reason.CAPACITY_TIMEOUT
    assert over(1, 1, until=-1, **held) is Reason.SUBMIT_SLOT_TIMEOUT


def test_nobody_is_timed_out_whose_turn_it_is_or_whom_the_controls_stop() -> None:
    assert over(9999, 9999) is None
    assert over(9999, 9999, until=-1) is Reason.SUBMIT_SLOT_TIMEOUT
    assert over(9999, 9999, until=-1, jobs=FULL, controls=Controls(drained=True)) is None
    assert over(9999, 9999, jobs=FULL, controls=Controls(paused=frozenset({"dashboard"}))) is None


def test_a_ticket_that_ends_at_the_end_of_time_is_no_error() -> None:
    eternal = replace(ticket(1), until=datetime.max.replace(tzinfo=UTC))
    assert turns(sight(eternal)) == ["s1"]
