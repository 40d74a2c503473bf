"""The API server's clock between its answers, each of which tells whole seconds."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from submits.gates.servertime import ServerTime
from tests.gates.made import NOW

SECOND, ROUNDED = timedelta(seconds=1), timedelta(microseconds=3)
STEPS = st.lists(st.tuples(st.floats(0.001, 40), st.floats(0, 0.9)), min_size=1, max_size=30)


def told(seconds: float) -> ServerTime:
    """As an answer tells it that was sent so many seconds after NOW, when our own clock stood at so many."""
    return ServerTime(NOW + timedelta(seconds=int(seconds)), seconds)


@given(STEPS)
def test_it_is_never_ahead_and_is_as_near_as_the_best_answer_brought_it(steps: list[tuple[float, float]]) -> None:
    """The error of one answer alone is its cut second and its time on the way, which differs."""
    sent, known, best = 0.5, told(0.5), SECOND / 2
    for step, on_the_way in steps:
        sent += step
        arrived = sent + on_the_way
        known = known.heard(told(sent).date, arrived)
        behind = NOW + timedelta(seconds=arrived) - known.at(arrived)
        best = min(best, timedelta(seconds=sent % 1 + on_the_way))
        assert -ROUNDED <= behind <= best + ROUNDED


def test_an_answer_that_came_just_after_the_full_second_is_kept() -> None:
    known = ServerTime(NOW, 100.1)  # sent at 100.1, a tenth after the full second or more
    assert known.heard(NOW + 3 * SECOND, 103.9) == known
    assert known.heard(NOW + 4 * SECOND, 103.9) == ServerTime(NOW + 4 * SECOND, 103.9)


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    known = ServerTime(NOW, 100.0)
    for jump in (-3600, -2, 1, 3600):
        date = NOW + timedelta(seconds=10 + jump)
        assert known.heard(date, 110.0) == ServerTime(date, 110.0)
