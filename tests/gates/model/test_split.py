"""A split search beside ordinary ones, every interleaving, with crashes of either and a parent that comes back.

Two children. Left out: v1, requests that are lost, the budgets' clocks (that they end a wait is a time-out, not a
state), and an ordinary search's own restart, which `test_model` has.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.gates.model.split import CEILING, SplitModel, SplitRules
from tests.world import SCALE

Note = Callable[[str, object], None]
SIZES = [(1, 1), (2, 1), (2, 2)] if SCALE == 1 else [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)]


@pytest.mark.parametrize(("searches", "ceiling"), SIZES)
@pytest.mark.parametrize("children_first", [False, True])
def test_a_split_keeps_the_ceiling_and_never_stands_in_its_own_way(
    note: Note, searches: int, ceiling: int, children_first: bool
) -> None:
    """Whether the others leave a waiting child the gate for a moment or for as long as it waits makes no difference."""
    model = SplitModel(searches, ceiling, 2, SplitRules(children_first=children_first))
    found = model.explore()
    note(f"model: a split and {searches}, ceiling {ceiling}{', children first' * children_first}", found)

    assert not found.broken, [model.tell(way) for way in found.broken.values()]
    stuck = found.cannot_reach(model.over)
    assert not stuck, model.tell(found.way(stuck[0]))


def test_a_child_that_does_not_ask_for_its_parents_reservation_exceeds_the_ceiling(note: Note) -> None:
    model = SplitModel(1, 1, 1, SplitRules(patches=False))
    found = model.explore(CEILING)
    note("model: a split whose children do not patch", found)

    assert CEILING in found.broken
    assert "reservation reaches its deadline" in model.tell(found.broken[CEILING])


def test_a_parent_that_counts_its_own_children_is_a_deadlock_that_is_found() -> None:
    model = SplitModel(1, 1, 0, SplitRules(leaves_out_own=False))

    assert model.explore().cannot_reach(model.over)
