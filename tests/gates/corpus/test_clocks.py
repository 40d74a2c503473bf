"""Clocks that differ, and times written in every shape."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from submits.cluster import ApiCluster
from submits.cluster.clock import SystemClock
from submits.gates.hold import Hold, Lost
from submits.gates.objects import Gate
from submits.gates.verdicts import Outcome
from submits.states import Reason
from tests.gates.made import NOW, RULES, lease
from tests.gates.trying import FakeSubmit, take_gate
from tests.gates.wire import Calm, later, wired
from tests.onebox.cluster.fixtures import RunningCluster

HOURS = 5 * 3600
WELL_FORMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def moved(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_writers_clock_makes_no_takeover_earlier_or_later(one: Calm, server: RunningCluster, hours: float) -> None:
    take_gate(one, renewTime=moved(hours), acquireTime=moved(hours))
    assert one.admit().outcome is Outcome.SHUT
    later(server, 929)
    assert one.admit().outcome is Outcome.SHUT
    later(server, 3)
    assert one.admit().outcome is Outcome.SUBMITTED


@pytest.mark.parametrize("offset", [-HOURS, HOURS])
def test_our_own_clock_makes_no_difference_and_what_we_write_is_the_servers_time(
    one: Calm, server: RunningCluster, offset: float
) -> None:
    """An older door judges our hold by the time in it, on a clock near the server's that may be far from ours."""
    server.faults.clock.offset = offset
    take_gate(one)
    assert one.admit().outcome is Outcome.SHUT
    one.cluster.delete("leases", "elb-blast-submit-default")
    told: list[str] = []

    def begin(run_id: str) -> None:
        told.append(one.gate()["spec"]["renewTime"])
        one.finalizer(run_id)

    assert one.admit(FakeSubmit(begin)).outcome is Outcome.SUBMITTED
    assert off(told[0], offset) < 60


def off(text: str, offset: float) -> float:
    """Seconds between a time that was written and the server's clock."""
    return abs((datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds() - offset)


def test_the_very_first_gate_is_written_with_the_servers_time_too(one: Calm, server: RunningCluster) -> None:
    """There was no Lease to look at: the answer that said so had a Date all the same."""
    server.faults.clock.offset = HOURS
    hold = Hold(one.cluster, SystemClock(), one.rules, "dashboard", one.what.run_id, leashed=True)
    hold.take()
    assert off(one.gate()["spec"]["renewTime"], HOURS) < 60


def test_whoever_starts_again_waits_no_second_patience(one: Calm, server: RunningCluster) -> None:
    """Its age is in the answer: a process that never saw the Lease before knows at its first look."""
    take_gate(one)
    later(server, 931)
    assert Calm(one.cluster).admit().outcome is Outcome.SUBMITTED


def test_every_time_on_the_wire_has_six_digits_and_z(one: Calm, server: RunningCluster) -> None:
    """POST, PUT and each renewal; also where a clock stands at a whole second."""
    watched, wire = wired(server)
    mine = Calm(watched)

    class Whole(SystemClock):
        def wall(self) -> datetime:
            return super().wall().replace(microsecond=0)

    for number in (1, 2):
        hold = Hold(watched, Whole(), mine.rules, "dashboard", f"job-{number}", leashed=True)
        hold.take()
        hold.prove()
        hold.renew()
        hold.release()
    bodies = [sent.body for sent in wire.sent if sent.body]
    specs = [body["spec"] for body in bodies if isinstance(body, dict)]
    patches = [op for body in bodies if isinstance(body, list) for op in body]
    times = [spec[name] for spec in specs for name in ("acquireTime", "renewTime")]
    times += [op["value"] for op in patches if op["path"] == "/spec/renewTime"]
    assert len(times) == 8
    assert all(WELL_FORMED.fullmatch(text) for text in times), times


def test_a_renewal_that_is_refused_for_its_shape_is_said_and_not_repeated(one: Calm, server: RunningCluster) -> None:
    """400: it would be refused for ever, and meanwhile everybody would think that the holder is well."""
    refused, wire = wired(server)
    hold = Hold(refused, SystemClock(), one.rules, "dashboard", one.what.run_id, leashed=True)
    hold.take()
    wire.refuse("PATCH leases", 'parsing time "2026-11-29T12:00:00Z": cannot parse "Z"', code=400, reason="BadRequest")
    wire.sent.clear()
    with pytest.raises(Lost, match="parsing time"):
        hold.renew()
    assert len(wire.sent) == 1


SHAPES: list[Any] = [
    None, "", "2026-11-29", "2026-11-29T12:00:00Z", "2026-11-29T12:00:00.123Z", "2026-11-29T12:00:00.123456789Z",
    "2026-11-29T12:00:00.1+02:00", "2026-11-29T12:00:00", "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999-23:59",
    "soon", 0, 1764417600, True, [], {},
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_a_time_that_cannot_be_read_means_held_and_the_servers_stamp_decides(shape: Any) -> None:
    for age, opened in ((10, False), (929, False), (931, True)):
        gate = Gate.read(lease("client-go-1", renewed=age, renewTime=shape, acquireTime=shape))
        assert gate.is_open(NOW, RULES) is opened


def test_a_legal_time_in_another_zone_is_the_same_time(one: Calm) -> None:
    take_gate(one, renewTime="2020-01-01T02:00:00.000001+02:00")
    verdict = one.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT)
