"""Many searches at once, through the whole product: the ceiling, one submit at a time, first come first served."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from submits.cluster import Connection, connect
from tests.onebox.running import Running
from tests.story.audit import audited, journalled
from tests.story.installation import completed_events, long_query, rows, start
from tests.story.visitor import Visitor
from tests.world import SCALE, until

SEARCHES = 8 if SCALE == 1 else 20 * SCALE
CEILING = 2  # low enough for searches of some seconds to reach it while others are being submitted


@pytest.mark.timeout(400 * SCALE)
def test_many_at_once(up: Callable[..., Running], note: Callable[[str, object], None], tmp_path: Path) -> None:
    state, journal_file = tmp_path / "s", tmp_path / "journal"
    environment = {
        "COORDUI_SUBMIT_JOURNAL": str(journal_file),
        "COORDUI_PROTOCOL_SCALE": "0.2",
        "BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS": "120",
        "BLAST_MAX_RUN_CONCURRENCY": str(CEILING),
    }
    running, visitor = start(up, state, **environment)
    with audited(state / "kubeconfig") as audit, journalled(journal_file) as journal:
        keys = [visitor.search(long_query(4), "globins", evalue="1000", title=f"number {n}") for n in range(SEARCHES)]
        board = until(lambda: full_board(visitor), 30)
        assert board["active_submissions"] == f"{board['active']}/{CEILING}"
        kubectl_shows_what_the_page_shows(visitor, state)
        ended = [visitor.reaches(key, "completed", "failed", within=150 * SCALE) for key in keys]
        assert [one["status"] for one in ended] == ["completed"] * SEARCHES
        assert all(one["hits"] > 0 for one in ended)
        audit.seen_to(connect(Connection(str(state / "kubeconfig"), "default")).list("jobs").version)
    note("searches thrown in at once", len(keys))
    note("revisions of Jobs watched", audit.revisions)
    note("most runs live at any of them (ceiling 2)", audit.most_live)
    note("submits that overlapped", len(journal.overlaps))
    assert audit.gaps == []
    assert audit.most_live == CEILING
    assert journal.overlaps == set()
    assert (len(journal.started), set(journal.started.values())) == (SEARCHES, {1})
    assert {len(uids) for uids in audit.finalizers.values()} == {1}
    assert list(completed_events(state).values()) == [1] * SEARCHES
    assert admitted_in_order(state)
    assert running.stop(within=40) == 0
    assert running.left() == []


def full_board(visitor: Visitor) -> Any:
    board = visitor.json("/gate.json")
    return board if board["active"] == CEILING and board["line"] else None


def kubectl_shows_what_the_page_shows(visitor: Visitor, state: Path) -> None:
    """The holder and the running searches, by the real kubectl. Both move on, so the two are read until they agree."""
    kubectl = shutil.which("kubectl", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert kubectl

    def get(kind: str, *more: str) -> Any:
        command = [kubectl or "", f"--kubeconfig={state}/kubeconfig", "get", kind, "-o", "json", *more]
        found = json.loads(subprocess.check_output(command, timeout=20))["items"]
        return found

    def agree() -> bool:
        board = visitor.json("/gate.json")
        leases = {lease["metadata"]["name"]: lease for lease in get("leases")}
        holder = leases["elb-blast-submit-default"]["spec"].get("holderIdentity") or None
        tickets = sum(name.startswith("elb-ticket-") for name in leases)
        return bool(board["lease_holder"] == holder and len(board["line"]) == tickets)

    until(agree, 30)
    table = subprocess.check_output(
        [kubectl, f"--kubeconfig={state}/kubeconfig", "get", "leases,jobs"], timeout=20, text=True
    )
    assert "lease.coordination.k8s.io/elb-blast-submit-default" in table
    assert "job.batch/elb-finalizer-" in table


def admitted_in_order(state: Path) -> bool:
    """First in line, first through: tickets are taken in some order by the preparing workers, tokens follow it."""
    order = rows(state, "select ticket_at, submitted_at from submits_submission order by token")
    tickets = [str(row[0])[:19] for row in order]  # to the second: the API server's stamp
    return tickets == sorted(tickets)
