"""The API server's clock between its answers, each of which tells whole seconds."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from submits.gates.servertime import ServerTime
from tests.gates.made import NOW

SECOND = timedelta(seconds=1)
STEPS = st.lists(st.floats(0.001, 40), min_size=1, max_size=30)


def told(seconds: float) -> ServerTime:
    """As an answer tells it that was sent so many seconds after NOW, when our own clock stood at so many."""
    return ServerTime(NOW + timedelta(seconds=int(seconds)), seconds)


@given(STEPS, st.floats(0, 0.2))
def test_it_is_never_ahead_and_each_answer_brings_it_nearer(steps: list[float], on_the_way: float) -> None:
    """The error of one answer alone is its cut second and its time on the way."""
    sent, known, best = 0.5, told(0.5), SECOND / 2
    for step in steps:
        sent += step
        answer = told(sent)
        known = known.heard(answer.date, sent + on_the_way)
        behind = NOW + timedelta(seconds=sent + on_the_way) - known.at(sent + on_the_way)
        assert timedelta(0) <= behind + timedelta(microseconds=2)
        best = min(best, timedelta(seconds=sent % 1 + on_the_way))
        assert behind <= best + timedelta(microseconds=2)


def test_an_answer_that_came_just_after_the_full_second_is_kept() -> None:
    known = ServerTime(NOW, 100.1)  # sent at 100.1, a tenth after the full second or more
    assert known.heard(NOW + 3 * SECOND, 103.9) == known
    assert known.heard(NOW + 4 * SECOND, 103.9) == ServerTime(NOW + 4 * SECOND, 103.9)


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    known = ServerTime(NOW, 100.0)
    for jump in (-3600, -1, 1, 3600):
        date = NOW + timedelta(seconds=10 + jump)
        assert known.heard(date, 110.0) == ServerTime(date, 110.0)
