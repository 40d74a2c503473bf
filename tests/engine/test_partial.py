"""The batches of a run that are done, as one result: read once, in little memory, whichever they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from submits.blast.summary import QuerySummary, Summary
from submits.blast.table import query_id
from submits.engine import partial as batches
from submits.engine.batch import HITS
from submits.engine.partial import Partial, partial
from submits.engine.prepare import out_key
from submits.work import Info, WorkStore
from tests.engine.story import new_id

EACH = 3  # queries of a batch


class Telling(WorkStore):
    """Says which files were read."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.read: list[str] = []

    def get_all(self, infos: Sequence[Info]) -> list[bytes]:
        self.read += [info.key.rpartition("/")[2] for info in infos]
        return super().get_all(infos)


@pytest.fixture
def store(tmp_path: Path) -> Telling:
    return Telling(str(tmp_path))


def done(store: WorkStore, run_id: str, batch: int, *found: int) -> None:
    """A batch that has found something for some of its queries, by their numbers."""
    numbers = range(EACH * (batch - 1) + 1, EACH * batch + 1)
    queries = [QuerySummary(query_id(number), f"n{number}", "", 9, int(number in found)) for number in numbers]
    summary = Summary(queries, len(found), len(found), min(found, default=0))
    store.put(out_key(run_id, batch, HITS), b"".join(summary.pieces()))


def had(store: WorkStore, run_id: str) -> Partial:
    found = partial(store, run_id)
    assert found is not None
    return found


def test_each_query_is_of_its_batch_whichever_are_done(store: Telling) -> None:
    run_id = new_id()
    assert partial(store, run_id) is None
    for batch, hits in ((10_000, (29_999, 30_000)), (2, ()), (9_999, (29_996,))):
        done(store, run_id, batch, *hits)
    found = had(store, run_id)
    assert [query.number for query in found.queries] == [4, 5, 6, *range(29_995, 30_001)]
    assert [found.batch_of(query) for query in found.queries] == [2] * 3 + [9_999] * 3 + [10_000] * 3
    assert (found.queries_with_hits, found.hits, found.first_with_hits, found.where_hits_begin()) == (3, 3, 29_996, 4)
    assert [query.name for query in found.queries[2:5]] == ["n6", "n29995", "n29996"]
    assert [found.place(number) for number in (1, 4, 18, 29_997, 29_998, 30_001)] == [None, 0, None, 5, 6, None]


def test_nothing_found_so_far_is_the_first_query(store: Telling) -> None:
    run_id = new_id()
    done(store, run_id, 3)
    found = had(store, run_id)
    assert (found.queries_with_hits, found.first_with_hits, found.where_hits_begin()) == (0, 0, 0)


def test_what_was_read_is_not_read_again_unless_it_is_another(store: Telling) -> None:
    run_id = new_id()
    done(store, run_id, 1)
    done(store, run_id, 2)
    assert had(store, run_id) == had(store, run_id) and store.read == ["0001.hits.json", "0002.hits.json"]
    done(store, run_id, 3)
    done(store, run_id, 1, 2)
    assert had(store, run_id).first_with_hits == 2
    assert store.read[2:] == ["0001.hits.json", "0003.hits.json"]


def test_what_is_remembered_is_bounded_by_its_bytes(store: Telling, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = new_id()
    for batch in (1, 2, 3):
        done(store, run_id, batch)
    sizes = [info.size for info in store.listing(f"runs/{run_id}/out")]
    memory = batches.Remembered(sum(sizes) - 1)
    monkeypatch.setattr(batches, "REMEMBERED", memory)
    had(store, run_id)
    assert len(memory.kept) == 2 and memory.size == sum(sizes[1:])
    store.read.clear()
    assert len(had(store, run_id).queries) == 9 and store.read == ["0001.hits.json"]
    monkeypatch.setattr(batches, "REMEMBERED", batches.Remembered(0))
    assert len(had(store, run_id).queries) == 9, "more than all the room there is"
