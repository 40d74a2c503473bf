"""What a run that did not end well has left: the tables of the batches that were done."""

from __future__ import annotations

from collections.abc import Iterator

from submits.engine.prepare import out_key
from submits.work import WorkStore, run_key


def done_batches(store: WorkStore, run_id: str) -> list[int]:
    """Their numbers, in order. A table appears whole or not at all, so one that is there is a batch that was done."""
    tables = (key.rpartition("/")[2] for key in store.names(run_key(run_id, "out")) if key.endswith(".tsv"))
    return sorted(int(name[:-4]) for name in tables if name[:-4].isdecimal())


def rows(store: WorkStore, run_id: str, batches: list[int]) -> Iterator[bytes]:
    """The rows of these batches, in their order, under the inner names of the queries."""
    for batch in batches:
        with store.open(out_key(run_id, batch, "tsv")) as table:
            yield from table
