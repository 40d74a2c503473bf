"""Why the models may say "when nothing of it can write any more": the protocol's seconds, against the worst case.

Every second is tried, with the product's `Gate.is_open` and `repair.plan`. The API server's clock may stand anywhere
within its second, as its times have none smaller. A killed submit's requests are under way for `quiet_after_kill`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest

from submits.gates.line import Sight
from submits.gates.objects import Gate
from submits.gates.ports import Object
from submits.gates.repair import Bookkeeping, Orphan, TakeOver, plan
from tests.gates.made import NOW, RULES, lease, reservation, sight

TIMES, KNOBS = RULES.times, RULES.knobs
KILLED_BY = TIMES.leash + TIMES.kill  # seconds after the last accepted renewal was sent
LAST_WRITE = KILLED_BY + TIMES.quiet_after_kill
Taker = Literal["a repair", "a waiter", "an operator"]
AT_ONCE = ("a repair", "a waiter")


def seen(second: int, gate: Object | None, job: Object) -> Sight:
    return replace(sight(gate=gate, jobs=[job]), date=NOW + timedelta(seconds=second))


def removed_at(taker: Taker, fraction: float, deleted_at: int = 0) -> tuple[float, float]:
    """Seconds after the last renewal of a holder that is then frozen or dead: its gate is taken, its marker removed.

    The renewal is written `fraction` seconds after a full second, and stamped with that second.
    """
    job, books = reservation("job-1", "dashboard-1"), Bookkeeping()
    gate: Object | None = lease("dashboard-1", renewed=0, leashed=True, run="job-1")
    taken = 0.0
    for second in range(1000):
        now = second - fraction
        if taker == "an operator" and second == deleted_at:
            gate, taken = None, now
        acts = plan(seen(second, gate, job), books, now)
        if taker == "a repair" and TakeOver("dashboard-1") in acts:
            gate, taken = lease(), now
            books.taken_at["dashboard-1"] = now
        if taker == "a waiter" and not taken and Gate.read(gate).is_open(NOW + timedelta(seconds=second), RULES):
            gate, taken = lease("openapi-2", renewed=-second - 900, leashed=True, run="job-2"), now
        if any(isinstance(act, Orphan) for act in acts):
            return taken, now
    raise AssertionError("it is never removed")


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.99])
@pytest.mark.parametrize("taker", AT_ONCE)
def test_a_hold_is_open_to_others_only_when_its_submit_has_been_killed(taker: Taker, fraction: float) -> None:
    taken, _ = removed_at(taker, fraction)

    assert KILLED_BY < taken <= TIMES.fast_takeover + 2


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5, 0.99])
@pytest.mark.parametrize("taker", AT_ONCE)
def test_a_marker_goes_only_when_nothing_of_its_attempt_can_write(taker: Taker, fraction: float) -> None:
    _, removed = removed_at(taker, fraction)

    assert removed >= LAST_WRITE


@pytest.mark.parametrize("deleted_at", range(1, 46))
def test_so_it_is_when_an_operator_deletes_the_lease(deleted_at: int) -> None:
    _, removed = removed_at("an operator", 0.0, deleted_at)

    assert removed >= LAST_WRITE


def test_a_marker_that_nobody_removes_outlives_its_attempt() -> None:
    """From S5: the fence, the submit's cap, its kill, its requests."""
    assert TIMES.announce_to_fence + KNOBS.exec_timeout + TIMES.kill + TIMES.quiet_after_kill < TIMES.reservation
    assert TIMES.reservation < KNOBS.lease_ttl  # and its hold, of a kind that no leash covers, outlives both
