"""What a run has of its results before, or without, its end: the batches that are done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from submits.blast.summary import QuerySummary, Summary
from submits.engine.batch import HITS
from submits.engine.prepare import out_key
from submits.work import WorkStore, run_key


@dataclass(frozen=True, slots=True)
class Partial:
    """The queries of the batches that are done. `batch_of` says by a query's number in whose table its rows lie."""

    summary: Summary
    batch_of: dict[int, int]


def done_batches(store: WorkStore, run_id: str) -> list[int]:
    """Their numbers, in order. A table appears whole or not at all, so one that is there is a batch that was done."""
    return _batches(store, run_id, ".tsv")


def rows(store: WorkStore, run_id: str, batches: list[int]) -> Iterator[bytes]:
    """The rows of these batches, in their order, under the inner names of the queries."""
    for batch in batches:
        with store.open(out_key(run_id, batch, "tsv")) as table:
            yield from table


def partial(store: WorkStore, run_id: str) -> Partial | None:
    """None while no batch is done. Raises ValueError, KeyError or TypeError when the numbers of one are damaged."""
    queries: list[QuerySummary] = []
    batch_of: dict[int, int] = {}
    for batch in _batches(store, run_id, f".{HITS}"):
        found = _summary(store, run_id, batch)
        queries += found.queries
        batch_of |= {query.number: batch for query in found.queries}
    if not queries:
        return None
    hits = sum(query.hits for query in queries)
    return Partial(Summary(tuple(queries), sum(query.hits > 0 for query in queries), hits), batch_of)


def _batches(store: WorkStore, run_id: str, end: str) -> list[int]:
    names = (key.rpartition("/")[2] for key in store.names(run_key(run_id, "out")) if key.endswith(end))
    return sorted(int(name[: -len(end)]) for name in names if name[: -len(end)].isdecimal())


@lru_cache(maxsize=2_000)
def _summary(store: WorkStore, run_id: str, batch: int) -> Summary:
    """Of one batch; written once, so it is read once."""
    return Summary.from_json(store.get(out_key(run_id, batch, HITS)))
