from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordui.onebox.supervisor.plan import (
    GiveUp,
    Process,
    Restart,
    State,
    after_death,
    all_up,
    startable,
    stop_order,
)

STORE = Process("store", ["store"], stop_rank=4)
PREPARE = Process("prepare", ["prepare"], frozenset({"store"}), once=True)
WEB = Process("web", ["web"], frozenset({"store", "prepare"}))
ALL = [STORE, PREPARE, WEB]


def names(processes: list[Process]) -> list[str]:
    return [process.name for process in processes]


def test_what_needs_nothing_starts_first() -> None:
    assert names(startable(ALL, dict.fromkeys(("store", "prepare", "web"), State.WAITING))) == ["store"]


@pytest.mark.parametrize("prepare", [State.WAITING, State.STARTING, State.DEAD])
def test_a_process_waits_for_all_it_needs(prepare: State) -> None:
    states = {"store": State.READY, "prepare": prepare, "web": State.WAITING}
    assert "web" not in names(startable(ALL, states))


def test_a_finished_preparation_lets_the_web_start() -> None:
    assert names(startable(ALL, {"store": State.READY, "prepare": State.DONE, "web": State.WAITING})) == ["web"]


def test_a_part_that_runs_elsewhere_is_taken_to_be_ready() -> None:
    assert names(startable([WEB], {"web": State.WAITING})) == ["web"]


def test_what_runs_is_not_started_again() -> None:
    assert startable(ALL, {"store": State.READY, "prepare": State.DONE, "web": State.STARTING}) == []


def test_all_is_up_when_each_is_ready_or_done() -> None:
    assert all_up({"store": State.READY, "prepare": State.DONE})
    assert not all_up({"store": State.READY, "prepare": State.STARTING})
    assert not all_up({"store": State.DEAD, "prepare": State.DONE})


def test_stages_stop_by_rank_and_equal_ranks_together() -> None:
    assert [names(stage) for stage in stop_order([STORE, WEB, PREPARE])] == [["web", "prepare"], ["store"]]


def test_a_process_is_started_again_after_a_fifth_then_one_then_five_seconds() -> None:
    deaths: tuple[float, ...] = ()
    delays = []
    for now in (0.0, 1.0, 3.0, 9.0):
        verdict = after_death(deaths, now)
        assert isinstance(verdict, Restart)
        deaths = verdict.deaths
        delays.append(verdict.after)

    assert delays == [0.2, 1.0, 5.0, 5.0]
    assert after_death(deaths, 15.0) == GiveUp(5)


def test_deaths_older_than_a_minute_are_forgotten() -> None:
    assert after_death((0.0, 1.0, 2.0, 3.0), 63.5) == Restart(0.2, (63.5,))


@given(st.lists(st.floats(0, 1000), max_size=30))
def test_it_gives_up_exactly_when_five_fall_within_a_minute(times: list[float]) -> None:
    deaths: tuple[float, ...] = ()
    for index, now in enumerate(sorted(times)):
        verdict = after_death(deaths, now)
        recent = [time for time in sorted(times)[: index + 1] if now - time < 60]
        assert isinstance(verdict, GiveUp) == (len(recent) >= 5)
        if isinstance(verdict, GiveUp):
            return
        deaths = verdict.deaths
