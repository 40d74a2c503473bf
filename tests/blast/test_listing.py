from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.blast import listing


def fields(*told: Any, **named: Any) -> Any:
    return told or tuple(named.values())


_ITEMS = st.lists(st.tuples(st.text(max_size=8), st.integers(), st.none() | st.floats(allow_nan=False)), max_size=8)


@given(st.dictionaries(st.text("abc"), st.text(max_size=5), max_size=3), _ITEMS)
def test_what_was_written_is_what_is_read(head: dict[str, str], items: list[tuple[str, int, float | None]]) -> None:
    data = b"".join(listing.pieces(head, "items", items))
    assert json.loads(data) == {**head, "items": [list(item) for item in items]}
    read, found = listing.parse(data, "items", fields)
    assert read == head and len(found) == len(items)
    assert all((found == items, list(found) == items, found[:] == tuple(items), found[-2:] == tuple(items[-2:])))
    assert [found[at] for at in range(-len(items), len(items))] == items * 2
    assert found != [*items, ("", 0, None)]


def test_there_is_nothing_behind_the_end() -> None:
    _, found = listing.parse(b"".join(listing.pieces({}, "items", [[1], [2], [3]])), "items", int)
    for at in (3, -4):
        with pytest.raises(IndexError):
            found[at]


def test_a_document_of_the_first_version_is_read_too() -> None:
    old = b'{"a":1,"items":[{"id":"q1","length":7},{"id":"q2","length":9}]}'
    assert listing.parse(old, "items", fields) == ({"a": 1}, (("q1", 7), ("q2", 9)))


def test_many_items_are_written_in_few_pieces() -> None:
    pieces = list(listing.pieces({}, "items", ([number] for number in range(2_500))))
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
    with pytest.raises((ValueError, KeyError, TypeError)):
        listing.parse(data, "items", fields)


def test_a_damaged_line_is_told_when_it_is_asked_for() -> None:
    _, found = listing.parse(WHOLE.replace(b"[2]", b"[2"), "items", fields)
    assert found[0] == (1,)
    with pytest.raises(ValueError):
        found[1]
