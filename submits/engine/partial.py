"""What a run has of its results before, or without, its end: the batches that are done."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock

from submits.blast.listing import Made
from submits.blast.summary import QuerySummary, Summary
from submits.engine.batch import HITS
from submits.engine.prepare import out_key
from submits.work import Info, WorkStore, run_key

ROOM = 64 << 20  # bytes of batches' numbers that a process keeps


@dataclass(frozen=True, slots=True)
class Partial(Summary):
    """The queries of the batches that are done; those of `batches[n]` begin at the place `starts[n]` among them."""

    batches: Sequence[int] = field(kw_only=True)
    starts: Sequence[int] = field(kw_only=True)

    def batch_of(self, query: QuerySummary) -> int:
        """In whose table its rows lie."""
        return self.batches[bisect_right(self.starts, self.place(query.number) or 0) - 1]


def done_batches(store: WorkStore, run_id: str) -> list[int]:
    """Their numbers, in order. A table appears whole or not at all, so one that is there is a batch that was done."""
    return list(_batches(store, run_id, ".tsv"))


def rows(store: WorkStore, run_id: str, batches: list[int]) -> Iterator[bytes]:
    """The rows of these batches, in their order, under the inner names of the queries."""
    for batch in batches:
        with store.open(out_key(run_id, batch, "tsv")) as table:
            yield from table


def partial(store: WorkStore, run_id: str) -> Partial | None:
    """None while no batch is done. Raises Missing, and ValueError, KeyError or TypeError when the numbers of one are
    damaged. Costs a listing, and the reading of what this process does not remember."""
    there = _batches(store, run_id, f".{HITS}")
    parts = _read(store, list(there.values()))
    queries = Joined([part.queries for part in parts])
    if not queries:
        return None
    first = next((part.queries[part.where_hits_begin()].number for part in parts if part.queries_with_hits), 0)
    with_hits, hits = sum(part.queries_with_hits for part in parts), sum(part.hits for part in parts)
    return Partial(queries, with_hits, hits, first, batches=list(there), starts=queries.starts)


class Joined(Made[QuerySummary]):
    """The queries of several batches, one batch behind the other, none of them copied."""

    def __init__(self, parts: Sequence[Sequence[QuerySummary]]) -> None:
        self.parts = parts
        *self.starts, self.total = accumulate(map(len, parts), initial=0)

    def __len__(self) -> int:
        return self.total

    def item(self, place: int) -> QuerySummary:
        part = bisect_right(self.starts, place) - 1
        return self.parts[part][place - self.starts[part]]


def _batches(store: WorkStore, run_id: str, end: str) -> dict[int, Info]:
    """The files of batches that end so, by number and in that order."""
    there = {info.key.rpartition("/")[2]: info for info in store.listing(run_key(run_id, "out"))}
    numbered = {name.removesuffix(end): info for name, info in there.items() if name.endswith(end)}
    return dict(sorted((int(number), info) for number, info in numbered.items() if number.isdecimal()))


class Remembered:
    """The numbers of batches that were read last, of at most so many bytes together; for many threads."""

    def __init__(self, room: int) -> None:
        self.room, self.size = room, 0
        self.kept: OrderedDict[tuple[str, Info], Summary] = OrderedDict()
        self.lock = Lock()

    def get(self, key: tuple[str, Info]) -> Summary | None:
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
            return self.kept.get(key)

    def put(self, key: tuple[str, Info], found: Summary) -> None:
        with self.lock:
            if key not in self.kept:
                self.size += key[1].size
            self.kept[key] = found
            while self.size > self.room:
                (_, left), _ = self.kept.popitem(last=False)
                self.size -= left.size


REMEMBERED = Remembered(ROOM)


def _read(store: WorkStore, infos: Sequence[Info]) -> list[Summary]:
    found = {info: REMEMBERED.get((store.url, info)) for info in infos}
    missing = [info for info, summary in found.items() if summary is None]
    for info, data in zip(missing, store.get_all(missing), strict=True):
        found[info] = read = Summary.from_json(data)
        REMEMBERED.put((store.url, info), read)
    return [summary for summary in found.values() if summary is not None]
