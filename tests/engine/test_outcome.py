from __future__ import annotations

from submits.engine.outcome import Outcome, read_outcome, write_outcome
from submits.work import WorkStore
from tests.engine.story import new_id


def test_the_first_outcome_stands(store: WorkStore) -> None:
    run_id = new_id()
    assert read_outcome(store, run_id) is None
    first = Outcome("succeeded", 2, 1, 7, 1, "2.12.0+", detail="Warning: “ë”")
    assert write_outcome(store, run_id, first) == first
    assert write_outcome(store, run_id, Outcome("failed", 2, 0, 0, 1, "", "no")) == first
    assert read_outcome(store, run_id) == first
