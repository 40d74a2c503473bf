"""The line, S1: the product's `advance` and `standings` against everything that parties ahead of ours may do.

Exhaustive in ticks of half a second over lines of up to six tickets. Left out: S2, the controls' drain, full places, a
head start of a split's child, and looks that come later than a tick (but in `TwoLines`, where they do).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.gates.model.turns import OVERTAKEN, TICK, Allowed, LineModel, TwoLines
from tests.world import SCALE

Note = Callable[[str, object], None]


def worst(note: Note, words: str, allowed: Allowed) -> float:
    """The most that our searches wait with gate and place free, in seconds; that they all get in, whatever happened."""
    model = LineModel(allowed)
    found = model.explore()
    seconds = max(wait.cost for wait in found.came) * TICK
    if allowed.polls:
        note(f"model: line {allowed.line}, {words}, v1 polls", f"{seconds:g} s at most; {found}")
    for what, way in found.broken.items():
        pytest.fail(f"{what}:\n" + "\n".join(text for _, _, text in way))
    stuck = found.cannot_reach(model.over)
    assert not stuck, [text for _, _, text in found.way(stuck[0])]
    return seconds


@pytest.mark.parametrize("polls", [False, True], ids=["alone", "v1 polls"])
@pytest.mark.parametrize(
    ("line", "seconds"),
    [("d", 0), ("xd", 10), ("xxd", 11), ("xxxd", 12), ("xdd", 10), ("xdxd", 11), ("xyd", 20), ("xydxyd", 22)],
)
def test_dead_parties_cost_ten_seconds_once_and_a_second_for_each_further_ticket(
    note: Note, line: str, seconds: float, polls: bool
) -> None:
    """Exactly: x and y never act. An older door that ends openings makes it neither longer nor for ever."""
    assert worst(note, "dead", Allowed(line, seconds, polls)) == seconds


@pytest.mark.parametrize("polls", [False, True], ids=["alone", "v1 polls"])
@pytest.mark.parametrize("deaths", [1, 2])
def test_a_party_that_acts_and_dies_at_the_gate_is_measured_anew(note: Note, deaths: int, polls: bool) -> None:
    """Ten seconds more for each time that it did act; what its hold lasts comes on top and is no opening."""
    seconds = 10 * (1 + deaths)
    assert worst(note, f"{deaths} deaths at the gate", Allowed("xd", seconds, polls, deaths=deaths)) == seconds


@pytest.mark.parametrize(("deaths", "openings"), [(0, 10), (1, 20)])
def test_openings_of_half_a_second_that_others_end_count_a_second_each(note: Note, deaths: int, openings: int) -> None:
    """Older doors with a backlog leave the gate free for a moment only: a dead first is not hidden by that."""
    allowed = Allowed("xd", 20, quick=True, deaths=deaths)
    assert worst(note, f"quick older doors, {deaths} deaths", allowed) == openings * TICK


@pytest.mark.parametrize("polls", [False, True], ids=["alone", "v1 polls"])
def test_a_party_that_fails_or_is_admitted_costs_its_next_ticket_at_most_ten_seconds(note: Note, polls: bool) -> None:
    """Acting at the last moment, it is not skipped for that ticket, and goes to the back or out of the line."""
    assert worst(note, "a failure", Allowed("xxd", 20, polls, failures=1)) == 20
    assert worst(note, "an admission", Allowed("xxd", 20, polls, admissions=1)) == 20


def test_every_mix_of_acting_failing_and_dying_stays_within_the_sum(note: Note) -> None:
    polls = SCALE > 1
    assert worst(note, "a death and a failure", Allowed("xydxyd", 42, polls, deaths=1, failures=1)) <= 42


@pytest.mark.parametrize("polls", [False, True], ids=["alone", "v1 polls"])
@pytest.mark.parametrize("pauses", [1, 2, 4])
def test_a_first_party_that_is_paused_and_resumed_costs_ten_seconds_in_all(
    note: Note, pauses: int, polls: bool
) -> None:
    """What it had not used before a pause counts after it."""
    assert worst(note, f"{pauses} pauses or resumes", Allowed("xddd", 10, polls, pauses=pauses)) == 10


def test_a_ticket_that_acts_is_not_overtaken_and_no_line_has_two_first_ones(note: Note) -> None:
    """Behind a dead ticket, two parties whose lines miss looks and so measure it differently, beside an older door that
    polls. The one ahead acts in the tick in which its own line says so."""
    found = TwoLines().explore()
    note("model: two lines", found)

    assert not found.broken, {what: [text for _, _, text in way] for what, way in found.broken.items()}
    assert not found.cannot_reach(lambda pair: pair.acts)


def test_limit_a_ticket_behind_a_dead_one_of_its_own_party_may_be_overtaken(note: Note) -> None:
    """The limit: the one ahead is of the dead one's party, so the other line gives it a second only, and is faster."""
    found = TwoLines(queue=((1, "o"), (2, "o"), (3, "d"))).explore()
    note("model: two lines, the dead ticket is of the same party", found)

    assert OVERTAKEN in found.broken
