"""The pure readers over every shape: they never raise, and never call a live holder's gate open."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submits.gates import counting, naming
from submits.gates.line import Memory, Sight, advance, next_look, standings
from submits.gates.objects import Controls, Gate, Ticket
from submits.gates.ports import Object
from submits.gates.repair import Bookkeeping, plan
from tests.gates.made import NOW, RULES, lease, sight
from tests.gates.shapes import BROKEN_LEASES, CONFIG_MAPS, JOBS, LEASES
from tests.world import SCALE

MANY = settings(max_examples=40 * SCALE, deadline=None)
GRACE = RULES.knobs.finalizer_grace


@MANY
@given(LEASES | BROKEN_LEASES, st.floats(0, 1e9))
def test_a_gate_is_read_whatever_its_shape(shape: Object, seen_for: float) -> None:
    gate = Gate.read(shape)
    assert gate.exists
    assert isinstance(gate.holder, str)
    assert isinstance(gate.is_open(NOW, RULES, seen_for), bool)
    free_by = gate.free_by(RULES)
    assert free_by is None or gate.holder
    assert not gate.leashed or gate.holder == shape["metadata"]["annotations"][naming.HOLDER]


@pytest.mark.parametrize("duration", ["", 0, "900", -5, 10**30, [900], True, 900.0])
def test_a_duration_that_is_none_means_the_knob(duration: Any) -> None:
    """No API server hands one out; a proxy or another server might, and it must not stop the line."""
    for age, opened in ((929, False), (931, True)):
        gate = Gate.read(lease("x-1", renewed=age, leaseDurationSeconds=duration))
        assert gate.is_open(NOW, RULES) is opened
        assert gate.free_by(RULES) is not None


@MANY
@given(LEASES, st.floats(0, 64), st.sampled_from(["dashboard-1", "x", " "]))
def test_a_live_holders_gate_is_never_open(shape: Object, age: float, holder: str) -> None:
    """Whatever else stands in it: annotations, durations, times of its own, other writers' edits before and after."""
    stamp = (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
    meta = shape["metadata"]
    renewed = {"time": stamp, "fieldsV1": {"f:spec": {"f:renewTime": {}}}}
    written: dict[str, Any] = {**(shape.get("spec") or {}), "holderIdentity": holder}
    written["leaseDurationSeconds"] = max(35, written.get("leaseDurationSeconds") or 35)
    for entries in ([renewed], [*(meta.get("managedFields") or []), renewed], [renewed, {"time": None}]):
        one = {**shape, "metadata": {**meta, "managedFields": entries}, "spec": written}
        assert not Gate.read(one).is_open(NOW, RULES, seen_for=1e9)


@MANY
@given(LEASES)
def test_a_free_gate_is_open_and_a_held_one_opens_one_day(shape: Object) -> None:
    gate = Gate.read(shape)
    if not gate.holder:
        assert gate.is_open(NOW, RULES)
    elif gate.renewed is None:
        assert not gate.is_open(NOW, RULES, seen_for=gate.patience(RULES))
        assert gate.is_open(NOW, RULES, seen_for=gate.patience(RULES) + 1)
    else:
        assert gate.patience(RULES) >= RULES.times.fast_takeover or (gate.duration or 900) < 35


@pytest.mark.parametrize("stamp", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
@pytest.mark.parametrize("duration", [900, 2**31 - 1])
def test_a_gate_may_be_dated_by_its_writer_in_any_year(stamp: str, duration: int) -> None:
    shape = lease("client-go-1", leaseDurationSeconds=duration)
    shape["metadata"]["managedFields"][0]["time"] = stamp
    gate = Gate.read(shape)
    old = stamp.startswith("0001")
    assert gate.is_open(NOW, RULES) is old
    free_by = gate.free_by(RULES)
    assert free_by is not None and (free_by < NOW) is old
    seen = sight(gate=shape)
    assert next_look(seen, advance(Memory(), seen, 0.0)) > 0


@MANY
@given(LEASES)
def test_a_ticket_is_read_whatever_its_shape(shape: Object) -> None:
    ticket = Ticket.read(shape)
    assert ticket.order > 0
    assert isinstance(ticket.is_dead(NOW), bool)


@MANY
@given(CONFIG_MAPS)
def test_controls_are_read_whatever_their_shape_and_never_raise_the_ceiling(config_map: Object | None) -> None:
    controls = Controls.read(config_map)
    assert 0 <= controls.ceiling_of(RULES) <= RULES.knobs.ceiling
    assert isinstance(controls.stop("dashboard"), bool)


@MANY
@given(st.lists(JOBS, max_size=4, unique_by=lambda job: job["metadata"]["uid"]))
def test_jobs_are_counted_whatever_their_shape(jobs: list[Object]) -> None:
    places = counting.occupied(jobs, NOW, GRACE)
    phantoms = counting.phantoms(jobs, NOW, GRACE)
    counted = [job for members in places.values() for job in members]
    assert not any(counting.is_terminal(job) or counting.role(job) == "pin" for job in counted)
    assert not any(job is phantom for job in counted for phantom in phantoms)
    assert not any(counting.is_marker(job) for job in phantoms)
    living = counting.live(jobs)
    assert len(counted) + len(phantoms) == len(living)
    assert len({counting.key_of(job) for job in counted}) == len(places)
    mine = counting.occupied(jobs, NOW, GRACE, leaving_out="job-1")
    assert mine.keys() == places.keys() - {"job-1"}


@MANY
@given(st.lists(JOBS, max_size=4, unique_by=lambda job: job["metadata"]["uid"]), st.data())
def test_what_is_being_deleted_is_counted_as_before(jobs: list[Object], data: st.DataObject) -> None:
    before = {key: len(members) for key, members in counting.occupied(jobs, NOW, GRACE).items()}
    for job in jobs:
        if data.draw(st.booleans()):
            job["metadata"]["deletionTimestamp"] = "2026-11-29T12:00:00Z"
    assert {key: len(members) for key, members in counting.occupied(jobs, NOW, GRACE).items()} == before


@MANY
@given(
    st.none() | LEASES,
    st.lists(LEASES, max_size=4, unique_by=lambda shape: shape["metadata"]["uid"]),
    st.lists(JOBS, max_size=4, unique_by=lambda job: job["metadata"]["uid"]),
    CONFIG_MAPS,
)
def test_the_line_and_the_repair_stand_whatever_they_see(
    gate: Object | None, tickets: list[Object], jobs: list[Object], config_map: Object | None
) -> None:
    """And nobody's turn comes while a live holder has the gate or every place is taken."""
    read = tuple(map(Ticket.read, tickets))
    seen = Sight(Gate.read(gate), read, tuple(jobs), Controls.read(config_map), NOW, RULES)
    memory = Memory()
    for now in (0.0, 5.0, 20.0):
        memory = advance(memory, seen, now)
        for place in standings(seen, memory):
            assert not place.turn or (seen.gate_open and not seen.full_for(place.ticket))
    books = Bookkeeping()
    for now in (0.0, 60.0, 300.0):
        plan(seen, books, now)


@pytest.mark.parametrize("obj", [{"metadata": {"name": "x"}}, {"metadata": {"name": "x", "uid": ""}, "status": None}])
def test_the_barest_objects_are_read(obj: Object) -> None:
    assert Gate.read(obj).is_open(NOW, RULES)
    assert Ticket.read(obj).order == 0
    assert not counting.is_terminal(obj)
