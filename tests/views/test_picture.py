"""The one picture: everything in it is inside it, nothing overlaps, and it says in a sentence what it shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from submits import live
from submits.models import Submission
from submits.shown import picture, scene
from submits.shown.scene import Figure, Known, Scene
from submits.states import Status
from tests.views import factory

MINE = Figure("your search", mine=True, since=factory.iso(60))
OTHER = Figure("another search", "through the API", factory.iso(90), note="7 of 20 batches", done=0.35)
LAYOUTS = [picture.wide, picture.tall, picture.small]
SCENES = {
    "empty": Scene("open", (), None, None, (None,) * 3),
    "unknown": Scene("unknown", (), None, None, ()),
    "full": Scene("B_full", (OTHER, MINE), None, None, (OTHER, MINE, OTHER)),
    "busy": Scene("A_busy", (OTHER,) * 40, MINE, factory.iso(-60), (OTHER, None, None)),
    "more than the ceiling": Scene("B_full", (), OTHER, None, (OTHER,) * 7),
    "one place": Scene("open", (MINE,), None, None, (None,)),
    "done": Scene("open", (), None, None, (None,) * 3, finished=True),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SCENES)
def test_everything_is_inside_and_nothing_overlaps(name: str, layout: object) -> None:
    assert callable(layout)
    drawn: picture.Drawing = layout(SCENES[name])
    for box in drawn.boxes:
        assert box.x >= 0 and box.x + box.width <= drawn.width
        assert box.y >= 0 and box.y + box.height <= drawn.height
        assert box.width >= 8
        assert box.done is None or 0 <= box.bar <= box.track
    for one, two in combinations(drawn.boxes, 2):
        apart_x = one.x + one.width <= two.x or two.x + two.width <= one.x
        apart_y = one.y + one.height <= two.y or two.y + two.height <= one.y
        assert apart_x or apart_y
    for dot in drawn.dots:
        assert dot.radius <= dot.x <= drawn.width and dot.radius <= dot.y <= drawn.height
    for text in drawn.texts:
        assert 0 <= text.x <= drawn.width and 0 <= text.y <= drawn.height


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_first_in_line_is_nearest_to_the_door_and_the_rest_is_a_number(layout: object) -> None:
    assert callable(layout)
    drawn: picture.Drawing = layout(SCENES["busy"])
    places = [dot.x for dot in drawn.dots]
    assert places == sorted(places, reverse=True)
    assert f"+{40 - len(places)}" in [text.text for text in drawn.texts]


def test_doors_are_open_or_shut_as_the_gates_are() -> None:
    for name, a, b in (("empty", True, True), ("full", True, False), ("busy", False, True)):
        doors = picture.wide(SCENES[name]).doors
        assert [(door.letter, door.open) for door in doors] == [("A", a), ("B", b)]
        assert doors[0].leaf != doors[1].leaf


def test_ones_own_search_is_marked_wherever_it_is() -> None:
    assert [dot.mine for dot in picture.small(SCENES["full"]).dots] == [False, True]
    assert [box.kind for box in picture.small(SCENES["full"]).boxes] == ["free", "taken", "mine", "taken"]
    assert [box.marked for box in picture.small(SCENES["full"]).boxes] == [False, False, True, False]
    assert picture.small(SCENES["done"]).sheet.mine


SENTENCES = {
    "empty": "Nobody waits; door A is free; 0 of 3 places behind door B are taken.",
    "unknown": "What the gates are doing is not known at the moment.",
    "full": "2 searches wait in line, yours is 2nd; door A is free; 3 of 3 places behind door B are taken, "
    "one by your search.",
    "one place": "1 search waits in line, yours is 1st; door A is free; 0 of 1 place behind door B are taken.",
    "done": "This search has its results. Nobody waits; door A is free; 0 of 3 places behind door B are taken.",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_picture_in_one_sentence(name: str) -> None:
    assert scene.sentence(SCENES[name]) == SENTENCES[name]


def view(**values: object) -> live.View:
    return live.View(**{**live.empty_view(3), "gate": "open", **values})  # type: ignore[typeddict-item]


def row(run_id: str, status: Status = Status.WAITING) -> Submission:
    return Submission(key="k", run_id=run_id, title="Mine", status=status)


def known(run_id: str, *, mine: bool = True) -> dict[str, Known]:
    return {run_id: Known("k", "Mine", "bob", mine)}


def test_a_search_at_the_door_is_not_drawn_in_the_line_too() -> None:
    at_door = row("job-1")
    seen = view(lease=factory.lease(at_door), line=[factory.place(at_door, 1), factory.place(None, 2)])
    built = scene.build(seen, "A_busy", known("job-1"))
    assert built.door is not None and built.door.mine
    assert [figure.mine for figure in built.line] == [False]


def test_a_holder_that_has_expired_is_nobody_at_the_door() -> None:
    lease = {**factory.lease(), "since": None, "free_by": None}
    assert scene.build(view(lease=lease), "open", {}).door is None


def test_an_operator_reads_titles_and_others_do_not() -> None:
    seen = view(slots=[factory.slot(row("job-1"))])
    assert [f.label for f in scene.build(seen, "open", known("job-1", mine=False)).places if f] == ["Mine"]
    assert [f.label for f in scene.build(seen, "open", {}).places if f] == ["another search"]


@pytest.mark.parametrize(
    ("values", "note", "done"),
    [
        ({}, "7 of 20 batches", 0.35),
        ({"merging": True}, "merging", 1.0),
        ({"what": "announced", "batches": 0}, "place reserved", None),
        ({"batches": 0}, "running", None),
        ({"what": "unlabelled", "batches": 0}, "without a label", None),
    ],
)
def test_what_occupies_a_place_is_told(values: dict[str, Any], note: str, done: float | None) -> None:
    built = scene.build(view(slots=[factory.slot(None, **values)]), "open", {})
    assert [(f.note, f.done) for f in built.places if f] == [(note, done)]
    assert len(built.places) == 3


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("place", [0, 5, 8, 30])
def test_ones_own_place_is_drawn_however_far_back(layout: object, place: int) -> None:
    assert callable(layout)
    line = [OTHER] * 31
    line[place] = MINE
    drawn: picture.Drawing = layout(Scene("B_full", tuple(line), None, None, (OTHER,) * 3))
    assert [dot.mine for dot in drawn.dots].count(True) == 1
    told = [text.text for text in drawn.texts]
    assert ("…" in told) == (place >= len(drawn.dots))
    behind = 31 - place - 1 if "…" in told else 31 - len(drawn.dots)
    assert (f"+{behind}" in told) == (behind > 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_known_is_drawn_neither_free_nor_open(layout: object) -> None:
    assert callable(layout)
    drawn: picture.Drawing = layout(Scene("unknown", (), None, None, (None, OTHER, None)))
    assert {door.state for door in drawn.doors} == {"unknown"}
    assert [box.kind for box in drawn.boxes] == ["unknown", "unknown", "taken", "unknown"]
    told = [text.text for text in drawn.texts]
    assert not {"free", "nobody waits", "running 1 of 3"} & set(told)


def test_on_a_phone_no_words_touch() -> None:
    drawn = picture.tall(SCENES["busy"])
    oldest = next(text for text in drawn.texts if text.text == "oldest")
    rest = next(text for text in drawn.texts if text.text.startswith("+"))
    assert abs(oldest.y - rest.y) >= 16
    assert "7 of 20" in [text.text for text in drawn.texts]


def test_several_places_of_ones_own_are_counted() -> None:
    full = SCENES["full"]
    both = replace(full, places=tuple(figure and replace(figure, mine=n < 2) for n, figure in enumerate(full.places)))
    assert "3 of 3 places behind door B are taken, 2 by searches of yours." in scene.sentence(both)
