"""The runtime monitor: made events in revision order, and what it must say of them, once, and what not."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from submits.gates.history import REMEMBERED
from submits.gates.monitor import Breach, Monitor, v1_counts
from submits.gates.objects import Controls, pin_body
from submits.gates.ports import Change, Listing, Object
from tests.gates.made import NOW, RULES, job, lease, reservation, sight

GRACE = 300


class World:
    """A gate and Jobs that change, with every change told to a monitor as a watch would tell it."""

    def __init__(self, *jobs: Object, gate: Object | None = None) -> None:
        self.monitor = Monitor(RULES)
        self.revisions = count(100)
        self.jobs: dict[str, Object] = {}
        self.gate: Object | None = None
        self.now = 0.0
        for one in jobs:
            self.put(one)
        if gate is not None:
            self.gate = self.written(gate)
        self.list_gate()
        self.list_jobs()
        assert self.look() == []

    def written(self, obj: Object) -> Object:
        meta = {"uid": obj["metadata"]["name"], **obj["metadata"], "resourceVersion": str(next(self.revisions))}
        return {"status": {}, **obj, "metadata": meta}

    def put(self, obj: Object) -> Object:
        made = self.written(obj)
        self.jobs[obj["metadata"]["name"]] = made
        return made

    def hear(self, source: str, what: Listing | Change) -> None:
        self.monitor.hear(source, what, self.jobs, NOW, self.now)

    def list_gate(self) -> None:
        self.hear("gate", Listing((self.gate,) if self.gate else (), str(next(self.revisions)), NOW))

    def list_jobs(self) -> None:
        self.hear("jobs", Listing(tuple(self.jobs.values()), str(next(self.revisions)), NOW))

    def hold(self, gate: Object | None, told: bool = True) -> None:
        kind = "DELETED" if gate is None else "MODIFIED"
        changed = self.written(gate or self.gate or lease())
        self.gate = None if gate is None else changed
        if told:
            self.hear("gate", Change(kind, changed))

    def add(self, obj: Object, told: bool = True) -> None:
        made = self.put(obj)
        if told:
            self.hear("jobs", Change("ADDED", made))

    def drop(self, obj: Object) -> None:
        gone = self.written(self.jobs.pop(obj["metadata"]["name"]))
        self.hear("jobs", Change("DELETED", gone))

    def ask(self) -> None:
        self.monitor.asked(self.gate["metadata"]["resourceVersion"] if self.gate else "")

    def look(self, after: float = 1.0, **seen: Any) -> list[str]:
        self.now += after
        found = self.monitor.look(sight(jobs=list(self.jobs.values()), gate=self.gate, **seen), self.now)
        return [breach.kind for breach in found]

    def admit(self, run: str, *work: Object) -> None:
        """As an admission of ours does it."""
        place = reservation(run, f"dashboard-{run}")
        self.hold(lease(f"dashboard-{run}", leashed=True, run=run))
        self.add(place)
        for one in work or (job("finalizer", run, active=1), job("submit", run, active=1)):
            self.add(one)
        self.drop(place)
        self.hold(lease())


def running(number: int) -> list[Object]:
    return [job("finalizer", f"job-{n}", active=1) for n in range(number)]


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


# Who held the gate ---------------------------------------------------------------------------------------------------


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
    assert world.monitor.recent[0].evidence.startswith(next(n for n, j in world.jobs.items() if "job-2" in str(j)))


def test_what_was_there_at_the_start_and_markers_and_batches_are_not_judged() -> None:
    world = World(job("finalizer", "job-1", active=1))
    world.add(reservation("job-2"))
    world.add(pin_body("job-1", next(iter(world.jobs.values()))))
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
    assert (world.monitor.uids, world.monitor.announced, world.monitor.pending) == (set(), {}, [])
