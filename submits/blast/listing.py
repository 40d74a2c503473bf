"""A JSON document that ends in a list with one item a line, so that a long one is written and read in little memory."""

from __future__ import annotations

import json
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
_END = b"\n]}\n"


class Made(Sequence[T], Generic[T]):
    """Items that are made when they are asked for and not kept. Equal to any sequence of equal items."""

    @abstractmethod
    def item(self, place: int) -> T:
        """The item at a place that there is, counted from 0."""

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(self.item(place) for place in range(len(self))[at])
        return self.item(range(len(self))[at])

    def __iter__(self) -> Iterator[T]:
        """Half the time of the one that a Sequence has, which goes by `__getitem__`."""
        return map(self.item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class Listing(Made[T]):
    """The items of such a document. One raises what `make` raises, and ValueError when its line is damaged."""

    def __init__(self, data: bytes, first: int, make: Callable[[Any], T]) -> None:
        self._data, self._make = data, make
        self._starts = array("Q", _starts(data, first))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def item(self, place: int) -> T:
        line = self._data[self._starts[place] : self._starts[place + 1]]
        return self._make(json.loads(line.rstrip(b",\n")))


def _starts(data: bytes, first: int) -> Iterator[int]:
    """Where each line begins, and where the last one ends."""
    at, end = first, len(data) - len(_END)
    while at < end:
        yield at
        at = data.find(b"\n", at) + 1
    yield end


def pieces(head: Mapping[str, Any], name: str, items: Iterable[Any]) -> Iterator[bytes]:
    """The document: `head` with the list `name` added as its last member."""
    opened = json.dumps({**head, name: []}, ensure_ascii=False, separators=(",", ":"))
    yield opened.removesuffix("]}").encode("utf-8", "replace")
    between, rest = b"\n", iter(items)
    while some := list(islice(rest, 1000)):
        lines = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in some)
        yield between + ",\n".join(lines).encode("utf-8", "replace")
        between = b",\n"
    yield _END


def parse(data: bytes, name: str, make: Callable[..., T]) -> tuple[dict[str, Any], Sequence[T]]:
    """The head and the items of what `pieces` wrote, each by `make(*fields)`. Also of a document of the first version,
    one line with the fields of its items by name. Raises ValueError, KeyError or TypeError for anything else.
    """
    first = data.find(b"\n") + 1
    if not first:
        whole: dict[str, Any] = json.loads(data)
        return whole, tuple(make(**item) for item in whole.pop(name))
    if not data.endswith(_END):
        raise ValueError("not a whole document")
    head: dict[str, Any] = json.loads(data[: first - 1] + b"]}")
    if head.pop(name) != []:
        raise ValueError(f"{name} is not its last member")
    return head, Listing(data, first, lambda item: make(*item))
