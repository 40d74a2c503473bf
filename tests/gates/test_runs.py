"""The Jobs of a scope by name and by run: what is looked at, what is only found, and what is kept of one that ended."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from submits.cluster.reflector import Heard
from submits.cluster.seen import Seen, sources, version
from submits.cluster.verbs import whole
from submits.engine.jobs import BATCHES
from submits.engine.stage import stage_of
from submits.gates.counting import id_of, is_finalizer, is_marker, is_terminal, is_work, key_of, occupied, role
from submits.gates.naming import CHILD_WAITS, FAST_TTL, FOR, HOLDER, KEEP, ROLE
from submits.gates.objects import created, last_written, notes_of, pin_body
from submits.gates.ports import Change, Listing, Object
from submits.gates.runs import Runs, slim
from tests.gates.made import NOW, RULES, condition, job, reservation
from tests.gates.shapes import JOBS
from tests.world import SCALE

FINISHED = 300 * SCALE
RUNS = ("job-1.aaaa", "")
ASKED = (is_terminal, role, is_marker, is_finalizer, is_work, id_of, key_of, created, last_written)


def names(jobs: object) -> set[str]:
    return {one["metadata"]["name"] for one in jobs}  # type: ignore[attr-defined]


def at(version: int, obj: Object) -> Object:
    obj["metadata"]["resourceVersion"] = str(version)
    return obj


def finished(number: int) -> Object:
    return at(number + 1, job("finalizer", f"job-{number}", age=9000, succeeded=1))


@pytest.fixture
def seen() -> Seen:
    made = Seen("default", RULES)
    for source in sources("default"):
        made.hear(Heard(source.name, Listing((), "1", NOW)), 0.0)
    return made


def test_only_runs_of_which_something_lives_are_looked_at_with_all_their_jobs(seen: Seen) -> None:
    live, ended = at(901, job("finalizer", "job-live", active=1)), at(902, job("blast", "job-live", succeeded=1))
    over = [finished(number) for number in range(FINISHED)]
    seen.hear(Heard("jobs", Listing((*over, live, ended), "9", NOW)), 0.0)
    sight = seen.sight(0.0)
    assert names(sight.jobs) == names([live, ended])
    assert sight.of_run("job-7") == [over[7]]
    assert names(sight.of_run("job-live")) == names([live, ended])
    assert sight.of_run("job-nobody") == []


def test_a_run_is_looked_at_until_its_last_job_has_ended_and_its_markers_are_gone(seen: Seen) -> None:
    finalizer = at(2, job("finalizer", "job-1", active=1))
    pin, place = at(3, {"status": {}, **pin_body("job-1", finalizer)}), at(4, reservation("job-1"))
    pin["metadata"]["uid"] = "pin"
    for one in (finalizer, pin, place):
        seen.hear(Heard("jobs", Change("ADDED", one)), 0.0)
    assert len(seen.sight(0.0).jobs) == 3
    done = at(5, {**finalizer, "metadata": dict(finalizer["metadata"]), "status": {"succeeded": 1}})
    seen.hear(Heard("jobs", Change("MODIFIED", done)), 0.0)
    seen.hear(Heard("jobs", Change("DELETED", place)), 0.0)
    assert names(seen.sight(0.0).jobs) == names([done, pin])
    seen.hear(Heard("jobs", Change("DELETED", pin)), 0.0)
    sight = seen.sight(0.0)
    assert (sight.jobs, sight.of_run("job-1")) == ((), [done])
    seen.hear(Heard("jobs", Change("DELETED", done)), 0.0)
    assert seen.sight(0.0).of_run("job-1") == []


def test_a_marker_that_has_ended_is_still_looked_at() -> None:
    """Or nobody would take it away."""
    pin = {"status": {"conditions": [condition("Failed")]}, **pin_body("job-1", finished(1))}
    pin["metadata"]["uid"] = "pin"
    assert Runs([finished(1), pin]).acting() != ()


def test_a_list_that_shows_what_is_known_changes_nothing(seen: Seen) -> None:
    over = tuple(finished(number) for number in range(FINISHED))
    seen.hear(Heard("jobs", Listing(over, "9", NOW)), 0.0)
    seen.moved = seen.stirred = seen.jobs_changed = False
    seen.hear(Heard("jobs", Listing(tuple(map(dict, over)), "10", NOW)), 1.0)
    assert (seen.moved, seen.stirred, seen.jobs_changed) == (False, False, False)
    seen.hear(Heard("jobs", Listing(over[1:], "11", NOW)), 2.0)
    assert (seen.moved, seen.stirred, seen.jobs_changed) == (False, True, True)
    assert len(seen.jobs.named) == len(over) - 1


def test_one_of_a_name_that_was_made_anew_is_the_new_one(seen: Seen) -> None:
    old, new = at(2, job("finalizer", "job-1", active=1)), at(3, job("finalizer", "job-2", active=1))
    new["metadata"]["name"] = old["metadata"]["name"]
    seen.hear(Heard("jobs", Listing((old,), "2", NOW)), 0.0)
    seen.hear(Heard("jobs", Listing((new,), "3", NOW)), 0.0)
    assert seen.sight(0.0).jobs == (new,)
    assert seen.sight(0.0).of_run("job-1") == []


def test_of_a_job_that_has_ended_what_is_asked_of_it_is_kept_and_the_rest_is_not() -> None:
    big = {"template": {"spec": {"containers": [{"env": [{"name": "x", "value": "y" * 20_000}]}]}}}
    failed = {**condition("Failed"), "reason": "BackoffLimitExceeded", "message": "no database"}
    whole = job("finalizer", "job-1", age=90, changed=20, failed=1, conditions=[condition("FailureTarget"), failed])
    whole |= {"spec": big}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(big)}
    whole["metadata"] |= {"annotations": {BATCHES: "7", **applied}, "resourceVersion": "5", "ownerReferences": [big]}
    whole["metadata"]["labels"]["note"] = "y" * 63
    whole["metadata"]["managedFields"] = [
        {"time": "2026-11-29T11:00:00Z", "fieldsV1": big},
        *whole["metadata"]["managedFields"],
    ]
    kept = slim(whole)
    assert len(json.dumps(kept)) < 600
    assert (stage_of([kept]), last_written(kept)) == (stage_of([whole]), last_written(whole))
    assert slim(kept) == kept
    assert slim(job("blast", "job-1", active=1) | {"spec": big})["spec"] == big


def test_what_many_ended_jobs_say_alike_is_held_once() -> None:
    one, other = (slim(job("blast", "job-1", age=90, conditions=[condition("Complete")])) for _ in range(2))
    assert one["metadata"]["uid"] != other["metadata"]["uid"]
    for part in ("labels", "managedFields"):
        assert one["metadata"][part] is other["metadata"][part]
    assert one["status"]["conditions"] is other["status"]["conditions"]
    failed = slim(job("blast", "job-1", age=90, conditions=[condition("Failed")]))
    assert failed["status"]["conditions"] == [condition("Failed")]


@pytest.mark.parametrize(
    "status",
    [
        {"succeeded": 1},
        {"completionTime": "2026-11-29T11:59:00Z", "failed": 1},
        {"conditions": [{**condition("SuccessCriteriaMet"), "message": "x"}, condition("Complete")]},
        {"conditions": [condition("Complete", "False"), {**condition("Failed"), "reason": "DeadlineExceeded"}]},
        {"conditions": [{**condition("Failed"), "reason": "PodFailurePolicy", "message": "no database"}]},
    ],
)
def test_what_is_kept_of_an_ended_job_tells_every_rule_what_the_whole_one_tells(status: Object) -> None:
    notes = dict.fromkeys((HOLDER, KEEP, CHILD_WAITS, FAST_TTL, BATCHES), "7") | {FOR: "job-2.bbbb"}
    for app, part, run in product(("finalizer", "submit", "blast"), ("reservation", "guard", "pin", ""), RUNS):
        whole = job(app, run, age=9000, changed=80, **status)
        whole["metadata"] |= {"annotations": notes, "resourceVersion": "5"}
        whole["metadata"]["labels"] |= {ROLE: part} if part else {}
        kept = slim(whole)
        assert kept["metadata"].keys() == whole["metadata"].keys()
        assert [ask(kept) for ask in ASKED] == [ask(whole) for ask in ASKED]
        assert (stage_of([kept]), version(kept), notes_of(kept)) == (stage_of([whole]), version(whole), notes)
        assert kept["status"].get("completionTime") == status.get("completionTime")


def test_the_watch_of_the_jobs_hands_on_no_more() -> None:
    assert {source.name: source.kept for source in sources("default") if source.kept is not whole} == {"jobs": slim}
    assert "spec" not in slim(job("finalizer", "job-1", succeeded=1) | {"spec": {"suspend": False}})


@settings(max_examples=40 * SCALE, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(JOBS, max_size=6, unique_by=lambda one: one["metadata"]["uid"]), st.data())
def test_what_is_looked_at_counts_as_everything_does(jobs: list[Object], data: st.DataObject) -> None:
    """In whatever shapes and whatever order they come and go."""
    for number, one in enumerate(jobs):
        one["metadata"]["name"] = f"j{number}"
    runs = Runs()
    for one in [*jobs, *data.draw(st.permutations(jobs))]:
        runs.put(slim(one))
    for one in data.draw(st.lists(st.sampled_from(jobs), max_size=3) if jobs else st.just([])):
        jobs = [other for other in jobs if other is not one]
        runs.drop(one["metadata"]["name"])
    places = occupied(jobs, NOW, 300)
    found = occupied(list(runs.acting()), NOW, 300)
    assert {key: names(some) for key, some in found.items()} == {key: names(some) for key, some in places.items()}
    for key in {key_of(one) for one in jobs}:
        assert names(runs.of(key)) == names(one for one in jobs if key_of(one) == key)
    shown = [*runs.acting(), *(one for some in runs.ended.values() for one in some.values())]
    assert names(shown) == names(jobs) == set(runs.named)
    assert sum(map(is_finalizer, shown)) == sum(map(is_finalizer, jobs))
