from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.blast import listing

_ITEMS = st.lists(st.tuples(st.text(max_size=8), st.integers(), st.none() | st.floats(allow_nan=False)), max_size=8)


@given(st.dictionaries(st.text("abc"), st.text(max_size=5), max_size=3), _ITEMS)
def test_what_was_written_is_what_is_read(head: dict[str, str], items: list[tuple[str, int, float | None]]) -> None:
    data = b"".join(listing.pieces(head, "items", items))
    assert json.loads(data) == {**head, "items": [list(item) for item in items]}
    read, found = listing.parse(data, "items", tuple)
    assert read == head and len(found) == len(items)
    assert found == items and list(found) == items and found[:] == tuple(items) and found[-2:] == tuple(items[-2:])
    assert [found[at] for at in range(-len(items), len(items))] == items * 2
    assert found != [*items, ("", 0, None)]


def test_there_is_nothing_behind_the_end() -> None:
    _, found = listing.parse(b"".join(listing.pieces({}, "items", [1, 2, 3])), "items", int)
    for at in (3, -4):
        with pytest.raises(IndexError):
            found[at]


def test_many_items_are_written_in_few_pieces() -> None:
    pieces = list(listing.pieces({}, "items", range(2_500)))
    assert len(pieces) == 5
    assert listing.parse(b"".join(pieces), "items", int)[1] == range(2_500)


WHOLE = b"".join(listing.pieces({"a": 1}, "items", [[1], [2]]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null\n",
        b"[]\n]}\n",
        b"\x00\xff",
        WHOLE[:-1],
        WHOLE[:20],
        WHOLE[5:],
        WHOLE.replace(b"items", b"others"),
    ],
)
def test_what_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        listing.parse(data, "items", tuple)


def test_a_damaged_line_is_told_when_it_is_asked_for() -> None:
    _, found = listing.parse(WHOLE.replace(b"[2]", b"[2"), "items", tuple)
    assert found[0] == (1,)
    with pytest.raises(ValueError):
        found[1]
