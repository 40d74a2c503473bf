"""Times and shapes as the API server has them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.gates import naming
from submits.gates.objects import READABLE, Controls, Gate, gate_body, micro_time, parse_time
from tests.gates.made import NOW, RULES, ago, lease

MOMENTS = st.datetimes(min_value=datetime(2000, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))]))


@given(MOMENTS)
def test_a_micro_time_has_six_digits_and_z_and_is_read_back(moment: datetime) -> None:
    """The API server answers 400 to any other shape; Python's own drops a zero fraction, once in a million times."""
    text = micro_time(moment)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
    assert parse_time(text) == moment


def test_a_whole_second_keeps_its_zeros() -> None:
    body = gate_body("ns", Gate.read(None), "dashboard-1", "job-1", NOW, RULES, leashed=True)
    assert body["spec"]["acquireTime"] == body["spec"]["renewTime"] == "2026-11-29T12:00:00.000000Z"


def test_a_hold_is_as_old_as_its_last_renewal_not_as_its_beginning() -> None:
    held = Gate.read(lease("dashboard-1", renewed=5, leashed=True, acquireTime=ago(5000)))
    assert not held.is_open(NOW, RULES)


def test_a_lease_of_no_known_age_is_judged_by_how_long_it_was_seen_unchanged() -> None:
    bare = lease("openapi-1")
    del bare["metadata"]["managedFields"]
    gate = Gate.read(bare)
    assert not gate.is_open(NOW, RULES, seen_for=930)
    assert gate.is_open(NOW, RULES, seen_for=931)


def test_names_fit_a_label_and_follow_from_the_id() -> None:
    run = naming.run_id("abc")
    assert run == naming.run_id("abc") != naming.run_id("abd")
    names = [naming.ticket("abc"), naming.reservation(run, 2**63), naming.finalizer(run), run]
    assert all(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in names)


def test_holders_are_never_the_same_and_say_their_door() -> None:
    holders = {naming.holder("open-api") for _ in range(1000)}
    assert len(holders) == 1000
    assert {naming.party_of(holder) for holder in holders} == {"open-api"}


def controls(**data: str) -> Controls:
    return Controls.read({"metadata": {"name": naming.CONTROLS}, "data": data})


@pytest.mark.parametrize(
    ("data", "read"),
    [
        ({}, Controls()),
        ({"drained": "", "paused": " ", "ceiling": ""}, Controls()),
        ({"drained": "true"}, Controls(drained=True)),
        ({"drained": " True\n"}, Controls(drained=True)),
        ({"drained": "YES"}, Controls(drained=True)),
        ({"drained": "False"}, Controls()),
        ({"drained": "off"}, Controls()),
        ({"paused": "openapi, dashboard"}, Controls(paused=frozenset({"openapi", "dashboard"}))),
        ({"paused": " OpenAPI\n dashboard,"}, Controls(paused=frozenset({"openapi", "dashboard"}))),
        ({"ceiling": "1 "}, Controls(ceiling=1)),
        ({"ceiling": "0"}, Controls(ceiling=0)),
        ({"ceiling": "999999999999"}, Controls(ceiling=999999999999)),
    ],
)
def test_controls_are_read_as_people_write_them(data: dict[str, str], read: Controls) -> None:
    assert controls(**data) == read


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("ceiling", value) for value in ("-1", "two", "1.5", "1e3", "\u0663", "9" * 19)),
        *(("drained", value) for value in ("ture", "true!", "y es", "2")),
        *(("paused", value) for value in ("*", "openapi; dashboard", '["openapi"]')),
    ],
)
def test_what_nobody_can_read_stops_everything_and_says_which(key: str, value: str) -> None:
    read = controls(**{key: value})
    assert read.stop("dashboard") and read.stop("openapi") and read.drained
    assert key in read.trouble and value in read.trouble and naming.CONTROLS in read.trouble
    assert f"give {READABLE[key]}" in read.trouble
    assert read.ceiling is None


def test_each_value_that_nobody_can_read_is_said_and_none_at_length() -> None:
    read = controls(drained="x" * 100_000, paused="*", ceiling="3")
    assert read.ceiling == 3
    assert "drained 'xxx" in read.trouble and "paused '*'" in read.trouble and len(read.trouble) < 400


def test_a_door_is_paused_however_its_name_is_written() -> None:
    assert controls(paused="Dashboard").stop("dashboard")
    assert controls(paused="dashboard").stop("Dashboard")
    assert not controls(paused="dashboard").stop("openapi")
