"""A row of the table of kills; then Ctrl-C, and start again: every search and result is where it was, and one that was
running runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from submits.states import Status
from tests.onebox.running import Running
from tests.story import ended
from tests.story.installation import start
from tests.story.matrix import LONGER, QUICK, Site
from tests.story.test_matrix import SETTINGS, Note, one_row, seed, take, witnessed
from tests.story.visitor import Visitor
from tests.world import until


@pytest.mark.timeout(300)
def test_one_row_of_the_table_and_then_a_restart(up: Callable[..., Running], note: Note, tmp_path: Path) -> None:
    state, journal_file, chosen = tmp_path / "s", tmp_path / "journal", seed()
    settings = {**SETTINGS, "COORDUI_SUBMIT_JOURNAL": str(journal_file), "BLAST_MAX_RUN_CONCURRENCY": "1"}
    running, visitor = start(up, state, **settings)
    made = Site(running, visitor, state)
    note("the row's seed (MATRIX_SEED)", chosen)
    with witnessed(made, journal_file):
        take(made, [one_row(chosen)], note)
    earlier = {key: table(visitor, key) for key, status in made.ended.items() if status == Status.COMPLETED}
    running_on = visitor.search(LONGER, "globins", evalue="1000", max_target_seqs="500")
    queued = visitor.search(QUICK, "globins", title="waiting behind it")
    visitor.reaches(running_on, "running")
    waiting = until(lambda: waits_for_a_place(visitor, queued), 30)
    assert (waiting["active_submissions"], waiting["position"]) == ("1/1", 1)
    assert waiting["wait_elapsed"] >= 0
    assert running.stop(within=60) == 0
    assert running.left() == []

    again, visitor = start(up, state, **settings)
    assert {key: table(visitor, key) for key in earlier} == earlier
    for key in (running_on, queued):
        assert visitor.reaches(key, "completed", "failed", within=90)["status"] == "completed"
        made.ended[key] = Status.COMPLETED
        assert table(visitor, key).count("\n") > 10
    ended.ended_once(state, made.ended)
    assert again.stop(within=60) == 0
    assert again.left() == []


def table(visitor: Visitor, key: str) -> str:
    return visitor.text(f"/searches/{key}/hits.tsv")


def waits_for_a_place(visitor: Visitor, key: str) -> Any:
    state = visitor.state(key)
    return state if state["gate"] == "B_full" and state["reason"] == "waiting_for_capacity" else None
