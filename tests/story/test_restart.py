"""Ctrl-C and start again: every search and result is where it was, and one that was running runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.onebox.running import Running
from tests.story.installation import completed_events, long_query, start
from tests.story.visitor import Visitor
from tests.world import until

QUICK = ">probe\nMVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLG\n"


@pytest.mark.timeout(300)
def test_a_search_outlives_a_restart(up: Callable[..., Running], tmp_path: Path) -> None:
    state = tmp_path / "s"
    running, visitor = start(up, state, COORDUI_PROTOCOL_SCALE="0.1", BLAST_MAX_RUN_CONCURRENCY="1")
    quick = visitor.search(QUICK, "globins", title="the quick one")
    visitor.reaches(quick, "completed")
    table = visitor.text(f"/searches/{quick}/hits.tsv")
    assert table.count("\n") > 10
    longer = visitor.search(long_query(30), "globins", evalue="1000", max_target_seqs="500")
    queued = visitor.search(QUICK, "globins", title="waiting behind it")
    visitor.reaches(longer, "running")
    waiting = until(lambda: waits_for_a_place(visitor, queued), 30)
    assert (waiting["active_submissions"], waiting["position"]) == ("1/1", 1)
    assert waiting["wait_elapsed"] >= 0
    assert running.stop(within=60) == 0
    assert running.left() == []

    again, visitor = start(up, state, COORDUI_PROTOCOL_SCALE="0.1", BLAST_MAX_RUN_CONCURRENCY="1")
    assert visitor.text(f"/searches/{quick}/hits.tsv") == table
    for key in (longer, queued):
        assert visitor.reaches(key, "completed", "failed", within=90)["status"] == "completed"
    assert set(completed_events(state).values()) == {1}
    assert again.stop(within=60) == 0
    assert again.left() == []


def waits_for_a_place(visitor: Visitor, key: str) -> Any:
    state = visitor.state(key)
    return state if state["gate"] == "B_full" and state["reason"] == "waiting_for_capacity" else None
