"""Who held the gate when a submit appeared, as the monitor can tell it: made events in revision order."""

from __future__ import annotations

import pytest

from submits.gates.history import REMEMBERED
from submits.gates.objects import pin_body
from submits.gates.ports import Change, Object
from tests.gates.made import job, lease, reservation
from tests.gates.monitored import World


@pytest.mark.parametrize("app", ["finalizer", "submit"])
def test_a_submit_that_took_no_gate_is_found_once_the_gate_is_known(app: str) -> None:
    world = World()
    world.add(job(app, "job-1", active=1))
    assert world.look() == []  # the gate's watch may be behind
    world.ask()
    assert world.look() == []  # asked before the Job was heard of, perhaps
    world.ask()
    assert world.look() == ["ungated"]
    assert "nobody held door A" in world.monitor.recent[0].evidence
    world.ask()
    assert world.look() == []


def test_a_submit_job_that_its_finalizer_makes_long_after_the_submit_was_cut_off_accuses_nobody() -> None:
    world = World()
    world.admit("job-1", job("finalizer", "job-1", active=1))
    world.add(job("submit", "job-1", active=1))
    for _ in range(3):
        world.ask()
        assert world.look() == []


@pytest.mark.parametrize(
    ("holder", "breach"),
    [
        (lease("dashboard-1", leashed=True, run="job-1"), []),
        (lease("dashboard-1", leashed=True, run="job-1.aaaaaaaa"), []),
        (lease("openapi-1"), []),  # an older door does not say for what
        (lease("dashboard-2", leashed=True, run="job-2"), ["ungated"]),
        (lease("repair-2", leashed=True), ["ungated"]),
        (lease(), ["ungated"]),
    ],
)
def test_a_hold_is_for_its_run(holder: Object, breach: list[str]) -> None:
    world = World()
    world.hold(holder)
    world.add(job("finalizer", "job-1", active=1))
    world.hold(lease())
    assert world.look() == breach


def test_the_watches_may_tell_of_gate_and_job_in_any_order() -> None:
    world = World()
    world.hold(lease("dashboard-1", leashed=True, run="job-1"), told=False)
    held = world.gate
    world.add(job("finalizer", "job-1", active=1))
    world.ask()
    world.ask()  # it is at a version that the watch has not told of yet
    assert world.look() == []
    assert held is not None
    world.hear("gate", Change("MODIFIED", held))
    world.hold(lease())
    assert world.look() == []


def test_a_hold_that_a_broken_watch_may_have_missed_accuses_nobody() -> None:
    world = World(gate=lease())
    world.hold(lease("dashboard-1", leashed=True, run="job-1"), told=False)
    world.add(job("finalizer", "job-1", active=1))
    world.hold(lease(), told=False)
    world.list_gate()
    assert world.look() == []


def test_a_job_that_only_a_list_has_told_of_is_judged_by_all_holds_since_the_last() -> None:
    world = World()
    world.hold(lease("dashboard-1", leashed=True, run="job-1"))
    world.add(job("finalizer", "job-1", active=1), told=False)
    world.add(job("finalizer", "job-2", active=1), told=False)
    world.hold(lease())
    world.list_jobs()
    world.list_gate()
    assert world.look() == ["ungated"]
    assert world.monitor.recent[0].evidence.startswith(
        next(n for n, j in world.jobs.named.items() if "job-2" in str(j))
    )


def test_what_was_there_at_the_start_and_markers_and_batches_are_not_judged() -> None:
    world = World(job("finalizer", "job-1", active=1))
    world.add(reservation("job-2"))
    world.add(pin_body("job-1", next(iter(world.jobs.named.values()))))
    world.add(job("blast", "job-1"))
    world.list_gate()
    assert world.look() == []


def test_a_deleted_gate_is_held_by_nobody() -> None:
    world = World()
    world.hold(lease("dashboard-1", leashed=True, run="job-1"))
    world.hold(None)
    world.add(job("finalizer", "job-1", active=1))
    world.list_gate()
    assert world.look() == ["ungated"]


def test_what_is_forgotten_accuses_nobody() -> None:
    world = World()
    world.hold(lease("dashboard-1", leashed=True, run="job-1"), told=True)
    late = world.put(job("finalizer", "job-1", active=1))
    for _ in range(REMEMBERED + 1):
        world.hold(lease())
    world.hear("jobs", Change("ADDED", late))
    assert world.look() == []


def test_what_is_forgotten_in_part_accuses_nobody_either() -> None:
    """The Jobs' watch was away while the gate changed hands more often than is remembered."""
    world = World()
    world.hold(lease("dashboard-1", leashed=True, run="job-1"))
    work = job("finalizer", "job-1", active=1)
    world.add(work, told=False)
    for _ in range(REMEMBERED + 1):
        world.hold(lease())
    world.put(work)  # changed since: its list no longer tells when it was made
    world.list_jobs()
    world.list_gate()
    assert world.look() == []
    world.add(job("finalizer", "job-2", active=1))
    world.list_gate()
    assert world.look() == ["ungated"]
