"""Gate B's count, case by case: what an older door counts we count, and what it forgets too early as well."""

from __future__ import annotations

from typing import Any

import pytest

from submits.gates.counting import is_terminal, occupied, phantoms
from submits.gates.ports import Object
from tests.gates.made import NOW, condition, job, reservation

GRACE = 300


def count(*jobs: Object, leaving_out: str = "") -> int:
    return len(occupied(list(jobs), NOW, GRACE, leaving_out))


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ({}, False),
        ({"failed": 3}, False),
        ({"succeeded": 1}, True),
        ({"completionTime": "2026-11-29T11:00:00Z"}, True),
        ({"conditions": [condition("Complete")]}, True),
        ({"conditions": [condition("Failed")]}, True),
        ({"conditions": [condition("Failed", "False")]}, False),
        ({"conditions": [condition("Suspended")]}, False),
        ({"conditions": [condition("SuccessCriteriaMet")]}, False),
        ({"conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}, True),
    ],
)
def test_only_these_states_are_terminal(status: dict[str, Any], ended: bool) -> None:
    assert is_terminal(job("finalizer", "job-1", **status)) is ended


def test_a_run_is_one_place_whatever_the_number_of_its_jobs() -> None:
    assert count(job("finalizer", "job-1"), job("submit", "job-1"), job("blast", "job-1"), job("blast", "job-1")) == 1


def test_work_without_a_finalizer_is_counted() -> None:
    assert count(job("blast", "job-1"), job("submit", "job-2")) == 2


def test_a_finalizer_that_merges_after_its_batches_ended_is_counted_at_any_age() -> None:
    merging = job("finalizer", "job-1", age=5000, active=1)
    assert count(merging, job("blast", "job-1", age=4000, succeeded=1)) == 1


def test_a_finalizer_without_an_id_is_a_place_of_its_own_and_never_a_phantom() -> None:
    assert count(job("finalizer", None, age=9000), job("finalizer", None, age=9000)) == 2


def test_split_children_share_their_parents_place() -> None:
    assert count(job("finalizer", "job-1.aaaa"), job("finalizer", "job-1.bbbb"), reservation("job-1")) == 1


def test_a_reservation_counts_for_the_run_it_names_and_its_own_run_is_left_out() -> None:
    assert count(reservation("job-1"), job("finalizer", "job-1")) == 1
    assert count(reservation("job-1"), reservation("job-2"), leaving_out="job-1") == 1


def test_an_old_reservation_still_counts() -> None:
    assert count(reservation("job-1", age=9000)) == 1


def test_what_is_being_deleted_still_counts() -> None:
    dying = job("finalizer", "job-1")
    dying["metadata"]["deletionTimestamp"] = "2026-11-29T12:00:00Z"
    assert count(dying) == 1


def test_a_pin_never_counts() -> None:
    pin = job("submit", "job-1")
    pin["metadata"]["labels"]["coordui/role"] = "pin"
    assert count(pin) == 0


@pytest.mark.parametrize(("quiet", "places"), [(299, 1), (301, 0)])
def test_an_idle_finalizer_is_a_phantom_once_nothing_has_changed_for_the_grace(quiet: float, places: int) -> None:
    assert count(job("finalizer", "job-1", age=9000, changed=quiet)) == places


def test_a_change_of_an_ended_batch_keeps_its_finalizer_from_being_a_phantom() -> None:
    idle = job("finalizer", "job-1", age=9000, changed=9000)
    assert phantoms([idle], NOW, GRACE) == [idle]
    assert phantoms([idle, job("blast", "job-1", changed=10, succeeded=1)], NOW, GRACE) == []


def test_a_live_companion_keeps_a_quiet_finalizer_from_being_a_phantom() -> None:
    idle = job("finalizer", "job-1", age=9000)
    assert phantoms([idle, job("blast", "job-1", age=9000)], NOW, GRACE) == []
    assert phantoms([idle, job("setup", "job-1", age=9000)], NOW, GRACE) == [idle]
