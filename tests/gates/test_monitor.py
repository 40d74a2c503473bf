"""The runtime monitor: made events in revision order, and what it must say of them, once, and what not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from submits.gates.monitor import UNJUDGED, Breach, Monitor, v1_counts
from submits.gates.objects import Controls, pin_body
from submits.gates.ports import Change, Listing, Object
from tests.gates.made import NOW, RULES, job, lease, reservation
from tests.gates.monitored import World, running

GRACE = 300


# The ceiling ---------------------------------------------------------------------------------------------------------


def test_admissions_up_to_the_ceiling_are_no_breach_and_one_more_is_found_once() -> None:
    world = World()
    for run in ("job-1", "job-2", "job-3"):
        world.admit(run)
    assert world.look() == []
    world.admit("job-4")
    assert world.look() == ["ceiling"]
    world.list_jobs()
    world.list_gate()
    assert world.look() == []
    assert world.monitor.counts == {"ceiling": 1}


def test_one_more_that_only_a_list_has_told_of_is_found_too() -> None:
    world = World(*running(3))
    world.add(job("blast", "job-9"), told=False)
    world.list_jobs()
    assert world.look() == ["ceiling"]


def test_reservations_and_a_splits_children_are_not_more_runs() -> None:
    world = World(*running(2))
    for child in ("job-7.aaaaaaaa", "job-7.bbbbbbbb"):
        world.admit(child)
    world.hold(lease("dashboard-8", leashed=True, run="job-8"))
    world.add(reservation("job-8", "dashboard-8"))
    assert world.look() == []


def test_what_ran_when_the_ceiling_was_lowered_is_no_breach_and_what_begins_long_after_is() -> None:
    world = World(*running(2))
    low = Controls(ceiling=1)
    assert world.look(controls=low) == []
    world.admit("job-5")  # counted under the old ceiling, perhaps
    assert world.look(controls=low) == []
    world.look(after=700, controls=low)
    world.add(job("blast", "job-1"))
    assert world.look(controls=low) == []
    world.admit("job-6")
    assert world.look(controls=low) == ["ceiling"]


def controls(**data: str) -> Object:
    return {"metadata": {"name": "elb-coord-controls", "uid": "controls"}, "data": data}


@pytest.mark.parametrize("by_list", [False, True])
def test_a_raised_ceiling_counts_at_once_and_a_lowered_one_from_the_next_look_on(by_list: bool) -> None:
    """Whoever has read it may be led in before our next look."""
    world = World(*running(1))
    world.look(after=700, controls=Controls(ceiling=1))
    assert world.look(after=700, controls=Controls(ceiling=1)) == []
    raised = controls(ceiling="2")
    world.hear("controls", Listing((raised,), "1", NOW) if by_list else Change("MODIFIED", raised))
    world.admit("job-7")
    assert world.look(controls=Controls(ceiling=2)) == []
    world.look(after=700, controls=Controls(ceiling=2))
    world.drop(next(one for one in world.jobs.acting() if "job-7" in str(one)))
    world.drop(next(one for one in world.jobs.acting() if "job-7" in str(one)))
    world.look(controls=Controls(ceiling=2))
    world.hear("controls", Change("MODIFIED", controls(ceiling="1")))
    world.admit("job-8")  # counted under the old one, perhaps
    assert world.look(controls=Controls(ceiling=1)) == []


def test_controls_that_are_deleted_raise_the_ceiling_to_what_is_configured() -> None:
    world = World(*running(1))
    world.look(after=700, controls=Controls(ceiling=1))
    world.look(after=700, controls=Controls(ceiling=1))
    world.hear("controls", Change("DELETED", controls(ceiling="1")))
    world.admit("job-7")
    assert world.look() == []


# A marker from the announcement on -----------------------------------------------------------------------------------


def test_work_of_an_announced_run_without_a_marker_is_found() -> None:
    world = World()
    place = reservation("job-1", "dashboard-1")
    world.hold(lease("dashboard-1", leashed=True, run="job-1"))
    world.add(place)
    world.drop(place)
    world.add(job("finalizer", "job-1", active=1))
    world.hold(lease())
    assert world.look() == ["unmarked"]


def test_a_place_that_was_given_back_is_no_breach_nor_is_an_older_doors_run() -> None:
    world = World()
    place = reservation("job-1", "dashboard-1")
    world.hold(lease("dashboard-1", leashed=True, run="job-1"))
    world.add(place)
    world.drop(place)
    world.hold(lease("openapi-1"))
    world.add(job("finalizer", "job-v1", active=1))
    world.hold(lease())
    assert world.look() == []


# An older door's count -----------------------------------------------------------------------------------------------


def test_an_older_door_counts_finalizers_by_age_and_companions() -> None:
    young = job("finalizer", "job-1", age=299)
    old, paired = job("finalizer", "job-2", age=301, active=1), job("finalizer", "job-3", age=900)
    bare = job("finalizer", None, age=9000)
    jobs = [young, old, paired, job("blast", "job-3"), bare, job("blast", "job-4"), reservation("job-5", age=9000)]
    assert v1_counts(jobs, NOW, GRACE) == {"job-1", "job-3", bare["metadata"]["uid"], "job-5"}
    assert v1_counts([*jobs, pin_body("job-2", old)], NOW, GRACE) >= {"job-2"}
    assert v1_counts([job("finalizer", "job-1", succeeded=1)], NOW, GRACE) == set()


def test_a_search_that_an_older_door_forgets_is_found_when_no_repair_pins_it_in_time() -> None:
    world = World(job("finalizer", "job-1", age=900, active=1))
    assert world.look(after=1) == []
    assert world.look(after=28) == []
    assert world.look(after=2) == ["v1"]
    assert world.look(after=60) == []


def test_a_pin_in_time_is_no_breach_and_a_held_gate_keeps_everyone_from_counting() -> None:
    merging = job("finalizer", "job-1", age=900, active=1)
    world = World(merging)
    world.look(after=20)
    world.add(pin_body("job-1", merging))
    assert world.look(after=20) == []
    world = World(job("blast", "job-2"))
    world.hold(lease("openapi-1"))
    assert [world.look(after=20) for _ in range(4)] == [[]] * 4


def test_what_only_an_older_door_counts_is_found_too() -> None:
    quiet = job("finalizer", "job-1", age=900, changed=400)
    world = World(quiet, pin_body("job-1", quiet))
    assert [world.look(after=20) for _ in range(3)] == [[], ["v1"], []]


def test_a_batch_that_names_no_run_is_nobodys_to_guard_and_no_breach() -> None:
    world = World(job("blast", None), job("submit", None))
    assert [world.look(after=20) for _ in range(4)] == [[]] * 4


def test_a_spare_alarms_nothing_that_it_heard_before_it_took_over_and_keeps_little() -> None:
    world = World()
    world.admit("job-0")
    for number in range(UNJUDGED + 10):
        world.put(job("finalizer", f"job-{number + 1}", active=1))
    world.list_jobs()
    assert len(world.monitor.pending) == UNJUDGED
    world.list_gate()
    assert world.monitor.found != []
    world.monitor.stand_by(NOW, 9000.0)
    assert (list(world.monitor.pending), world.monitor.found, world.monitor.announced) == ([], [], {})
    for one in list(world.jobs.named.values()):
        world.drop(one)
    assert world.monitor.uids == set()
    assert world.look() == []


def test_a_breach_is_shown_for_an_hour() -> None:
    monitor = Monitor(RULES)
    monitor.breach("ceiling", NOW, "4 searches run where 3 may")
    assert monitor.shown(NOW + timedelta(minutes=59)) == [Breach("ceiling", NOW, "4 searches run where 3 may")]
    assert monitor.shown(NOW + timedelta(minutes=61)) == []


def test_memory_is_bounded_by_what_is_there() -> None:
    world = World()
    for number in range(50):
        work = job("finalizer", f"job-{number}", active=1)
        world.admit(f"job-{number}", work)
        world.drop(work)
    world.look(after=3000)
    assert (world.monitor.uids, world.monitor.announced, list(world.monitor.pending)) == (set(), {}, [])
