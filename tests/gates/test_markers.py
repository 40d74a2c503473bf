"""Pins and guards: which finalizers and which work are marked for an older door, and when the marks go."""

from __future__ import annotations

from typing import Any

import pytest

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.engine.stage import stage_of
from submits.gates import naming
from submits.gates.census import traces_of
from submits.gates.counting import occupied
from submits.gates.line import Sight
from submits.gates.markers import Mark, Unmark, guards, pins
from submits.gates.objects import guard_body, pin_body
from submits.gates.ports import Object
from submits.gates.repair import Bookkeeping, carry_out, plan
from tests.gates.made import NOW, RULES, job, lease, reservation, sight
from tests.gates.trying import Try, body
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import until

GRACE = 300


def marked(acts: list[Mark | Unmark]) -> list[str]:
    return [act.name for act in acts if isinstance(act, Mark)]


def unmarked(acts: list[Mark | Unmark]) -> list[str]:
    return [act.name for act in acts if isinstance(act, Unmark)]


def with_marks(seen: Sight, acts: list[Mark | Unmark]) -> list[Object]:
    """The Jobs as they are once these marks have been made."""
    bodies = [act.body for act in acts if isinstance(act, Mark)]
    return [*seen.jobs, *({**b, "metadata": {**b["metadata"], "uid": b["metadata"]["name"]}} for b in bodies)]


# Pins ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "pinned"), [(149, False), (151, True)])
def test_a_live_finalizer_is_pinned_before_an_older_door_forgets_it(age: float, pinned: bool) -> None:
    merging = job("finalizer", "job-1", age=age, active=1)
    assert bool(marked(pins(sight(jobs=[merging])))) is pinned


def test_a_pin_is_named_by_its_finalizer_and_made_once() -> None:
    merging = job("finalizer", "job-1", age=200, active=1)
    merging["metadata"]["uid"] = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
    seen = sight(jobs=[merging])
    (pin,) = pins(seen)
    assert isinstance(pin, Mark)
    assert pin.name == "elb-pin-0a1b2c3d4e5f6071"
    meta, spec = pin.body["metadata"], pin.body["spec"]
    assert meta["labels"] == {"app": "submit", "elb-job-id": "job-1", "coordui/role": "pin"}
    assert spec["suspend"] is True
    assert [owner["uid"] for owner in meta["ownerReferences"]] == [merging["metadata"]["uid"]]
    assert pins(sight(jobs=with_marks(seen, [pin]))) == []


@pytest.mark.parametrize(
    "finalizer",
    [
        job("finalizer", "job-1", age=900, succeeded=1),
        job("finalizer", "job-1", age=900, changed=400),  # a phantom
        job("finalizer", None, age=900),  # an older door never forgets it
    ],
)
def test_an_ended_a_phantom_and_an_unlabelled_one_is_not_pinned(finalizer: Object) -> None:
    assert pins(sight(jobs=[finalizer])) == []


@pytest.mark.parametrize("change", [{"succeeded": 1}, {"active": 0}, None])
def test_the_pin_of_one_that_has_ended_is_a_phantom_or_is_gone_goes(change: dict[str, Any] | None) -> None:
    merging = job("finalizer", "job-1", age=900, active=1)
    jobs = with_marks(sight(jobs=[merging]), pins(sight(jobs=[merging])))
    if change is None:
        jobs.remove(merging)
    else:
        merging["status"] |= change
    (gone,) = unmarked(pins(sight(jobs=jobs)))
    assert gone == naming.pin(merging["metadata"]["uid"])


# Guards --------------------------------------------------------------------------------------------------------------


def test_work_whose_finalizer_never_came_is_guarded_once_an_id_while_the_gate_is_free() -> None:
    jobs = [job("blast", "job-1"), job("blast", "job-1"), job("submit", "job-2"), job("blast", None)]
    free = sight(jobs=jobs)
    made = guards(free)
    assert marked(made) == [naming.guard("job-1"), naming.guard("job-2")]
    (one, _) = (act.body for act in made if isinstance(act, Mark))
    assert one["metadata"]["labels"] == {"app": "finalizer", "coordui/role": "guard"}
    assert one["metadata"]["annotations"] == {"coordui/for": "job-1"}
    assert one["metadata"]["ownerReferences"][0]["uid"] in [j["metadata"]["uid"] for j in jobs[:2]]
    assert "activeDeadlineSeconds" not in one["spec"]
    assert guards(sight(jobs=with_marks(free, made))) == []
    assert guards(sight(jobs=jobs, gate=lease("openapi-1"))) == []


@pytest.mark.parametrize(
    "also",
    [[job("finalizer", "job-1", active=1)], [reservation("job-1")], [reservation("job-1.aaaaaaaa")]],
)
def test_work_that_something_else_holds_a_place_for_is_not_guarded(also: list[Object]) -> None:
    assert guards(sight(jobs=[job("blast", "job-1"), *also])) == []


def test_work_beside_a_finalizer_that_has_ended_is_guarded_and_ended_work_is_not() -> None:
    failed = job("finalizer", "job-1", conditions=[{"type": "Failed", "status": "True"}])
    assert marked(guards(sight(jobs=[failed, job("blast", "job-1")]))) == [naming.guard("job-1")]
    assert guards(sight(jobs=[job("blast", "job-1", succeeded=1)])) == []


def test_a_guard_goes_when_none_of_its_work_lives_or_its_finalizer_came() -> None:
    work = job("blast", "job-1")
    jobs = with_marks(sight(jobs=[work]), guards(sight(jobs=[work])))
    assert unmarked(guards(sight(jobs=[*jobs, job("finalizer", "job-1", active=1)]))) == [naming.guard("job-1")]
    assert unmarked(guards(sight(jobs=jobs, gate=lease("openapi-1")))) == []
    work["status"]["succeeded"] = 1
    assert unmarked(guards(sight(jobs=jobs))) == [naming.guard("job-1")]


# What reads Jobs leaves them out -------------------------------------------------------------------------------------


def test_neither_takes_a_place_of_its_own_nor_looks_like_work() -> None:
    finalizer, work = job("finalizer", "job-1", age=200, active=1), job("blast", "job-2")
    seen = sight(jobs=[finalizer, work])
    jobs = with_marks(seen, [*pins(seen), *guards(seen)])
    assert len(jobs) == 4
    assert set(occupied(jobs, NOW, GRACE)) == {"job-1", "job-2"}
    assert stage_of(jobs[:1] + jobs[2:3]).batches == 0


def test_a_pin_does_not_keep_a_quiet_finalizer_from_being_a_phantom() -> None:
    quiet = job("finalizer", "job-1", age=900, changed=400)
    pin = pin_body("job-1", quiet)
    pin["metadata"] |= {"uid": "pin", "managedFields": quiet["metadata"]["managedFields"]}
    assert occupied([quiet, pin], NOW, GRACE) == {}


def test_a_look_up_sweeps_work_and_neither_pin_nor_guard(cluster: ApiCluster) -> None:
    run = naming.run_id("s1")
    work = cluster.create("jobs", body("blast", run, "work")).object
    cluster.create("jobs", guard_body(run, work))
    cluster.create("jobs", pin_body(run, work))
    traces = traces_of(cluster, run)
    assert (traces.finalizer, [j["metadata"]["name"] for j in traces.work]) == (False, ["work"])


def live_sight(cluster: ApiCluster) -> Sight:
    return sight(jobs=list(cluster.list("jobs").items))


def test_what_is_planned_is_made_once_and_goes_with_its_owner(cluster: ApiCluster, server: RunningCluster) -> None:
    one, run = Try(cluster), naming.run_id("other")
    server.faults.clock.offset = -200 - (server.faults.clock.now() - NOW).total_seconds()
    one.finalizer(one.what.run_id)
    server.faults.clear()
    cluster.create("jobs", body("blast", run, "work"))
    acts = [act for act in plan(live_sight(cluster), Bookkeeping(), 0) if isinstance(act, Mark)]
    assert len(acts) == 2
    for _ in range(2):  # two repairers at once
        assert all(carry_out(act, cluster, SystemClock(), sight(), Bookkeeping()) for act in acts)
    assert {act.name for act in acts} < set(one.jobs())
    assert not [act for act in plan(live_sight(cluster), Bookkeeping(), 0) if isinstance(act, Mark)]
    for name in (naming.finalizer(one.what.run_id), "work"):
        cluster.delete("jobs", name)
    until(lambda: one.jobs() == [])


def test_a_mark_that_was_made_anew_meanwhile_is_not_removed(cluster: ApiCluster) -> None:
    work = cluster.create("jobs", body("blast", naming.run_id("other"), "work")).object
    made = cluster.create("jobs", guard_body(naming.run_id("other"), work)).object
    assert carry_out(Unmark(made["metadata"]["name"], "x"), cluster, SystemClock(), sight(rules=RULES), Bookkeeping())
    assert made["metadata"]["name"] in Try(cluster).jobs()
