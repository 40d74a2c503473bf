"""Older doors beside ours: what they break by themselves, and what guards and pins do about it.

As in `test_model`; an older door takes, counts, submits and releases, and is never paused: its clock is right and its
submit ends within its hold. Left out: its polling, its ConfigMaps, its clock, and a pause of it longer than 150 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.gates.model.party import Faults, Rules
from tests.gates.model.together import CEILING, OVERLAP, Together

Note = Callable[[str, object], None]
PLAIN = Rules(guards="none", pins=False)
CRASH = Faults(crashes=2, restarts=True)
TAIL = Faults(aging=True)


def broken(note: Note, words: str, versions: str, rules: Rules, faults: Faults) -> dict[str, str]:
    model = Together(versions, 2, rules, faults)
    found = model.explore()
    note(f"model: {words}", found)
    return {what: model.tell(way) for what, way in found.broken.items()}


def test_older_doors_alone_are_safe_while_nothing_goes_wrong(note: Note) -> None:
    assert broken(note, "v1 x 3, no faults", "111", PLAIN, Faults()) == {}


@pytest.mark.parametrize(
    ("words", "faults", "what"),
    [
        ("v1 x 3, one dies between its blast Jobs and its finalizer", Faults(crashes=1), {CEILING}),
        ("v1 x 3, finalizers that merge for longer than 300 s", TAIL, {CEILING}),
        ("v1 x 3, false expiry", Faults("any"), {CEILING, OVERLAP}),
        ("v1 x 3, a submit outlives its holder", Faults("orphan", crashes=1), {CEILING, OVERLAP}),
    ],
    ids=["crash", "tail", "false expiry", "orphan"],
)
def test_the_search_sees_what_older_doors_break_by_themselves(
    note: Note, words: str, faults: Faults, what: set[str]
) -> None:
    assert broken(note, words, "111", PLAIN, faults).keys() == what


@pytest.mark.parametrize("versions", ["111", "112", "122"])
def test_with_guards_a_crash_of_an_older_door_breaks_nothing(note: Note, versions: str) -> None:
    """A guard is written before anybody takes the dead door's hold over."""
    found = broken(note, f"{versions}, crashes, with guards", versions, replace(PLAIN, guards="first"), CRASH)
    assert found == {}, found


@pytest.mark.parametrize("versions", ["111", "112"])
def test_limit_without_guards_or_before_them_a_second_older_door_exceeds_the_ceiling(note: Note, versions: str) -> None:
    """It takes over without seeing blast Jobs that have no finalizer. Ours count them."""
    for guards in ("none", "race"):
        rules = replace(PLAIN, guards=guards)
        assert broken(note, f"{versions}, crashes, guards: {guards}", versions, rules, CRASH).keys() == {CEILING}


def test_a_single_older_door_needs_no_guard(note: Note) -> None:
    """Whoever counts after its crash is one of ours."""
    found = broken(note, "122, crashes, without guards", "122", PLAIN, CRASH)
    assert found == {}, found


@pytest.mark.parametrize("versions", ["111", "112", "122"])
def test_pins_keep_an_older_doors_count_whole_while_a_finalizer_merges(note: Note, versions: str) -> None:
    """A pin is there before a finalizer is 300 s old."""
    assert broken(note, f"{versions}, tail, without pins", versions, PLAIN, TAIL).keys() == {CEILING}
    found = broken(note, f"{versions}, tail, with pins", versions, replace(PLAIN, pins=True), TAIL)
    assert found == {}, found


@pytest.mark.parametrize("versions", ["112", "122"])
def test_mixed_with_crashes_restarts_and_tails_nothing_is_broken(note: Note, versions: str) -> None:
    found = broken(note, f"{versions}, crashes, restarts, tails", versions, Rules(), replace(CRASH, aging=True))
    assert found == {}, found


def test_limit_an_older_door_that_is_taken_over_while_it_lives_exceeds_the_ceiling(note: Note) -> None:
    assert broken(note, "122, false expiry", "122", Rules(), Faults("any")).keys() == {CEILING, OVERLAP}
