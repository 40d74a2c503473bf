"""What the product stands on goes away and comes back: the store, the database, the cluster's API, a gatekeeper.

One installation for all of it, on PostgreSQL where that is installed; the last test looks at what they left.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from coordui.onebox.supervisor.claim import free_port
from coordui.onebox.supervisor.specs import server_program
from submits.cluster import Connection, connect
from submits.gates import naming
from submits.states import REASONS, Phase, Reason, Status
from tests.onebox.running import Running
from tests.postgres import Server
from tests.story import ended
from tests.story.audit import Audit, Journal, audited, is_ended, journalled
from tests.story.holding import Faults, drained
from tests.story.installation import command_lines, start
from tests.story.matrix import DATABASE, LONGER, PHASES, QUICK, Site, kill_at
from tests.story.test_matrix import SETTINGS, Note, long_only, seed
from tests.world import REPOSITORY, until

pytestmark = pytest.mark.timeout(240)
PAGES = ("/", "/gate/", "/searches/")
NO_ANSWER = REASONS[Reason.COORDINATION_UNAVAILABLE].sentence


class Store:
    """A key-value store of the test's own, so that it can stay away."""

    def __init__(self, directory: Path) -> None:
        self.port, self.directory = free_port("127.0.0.1", 0), directory
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory), "--save", ""]
        self.process = subprocess.Popen([server_program(), *words], stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None


@dataclass
class Whole(Site):
    store: Store | None = None
    audit: Audit | None = None
    journal: Journal | None = None

    def press(self, query: str = QUICK, ends: Status = Status.COMPLETED) -> str:
        key = self.visitor.search(query, "globins", evalue="1000", max_target_seqs="500")
        self.ended[key] = ends
        return key

    def reaches(self, key: str, *statuses: str, within: float = 90) -> None:
        until(lambda: str(self.row(key, "status")[0]) in statuses, within)

    def manage(self, *words: str) -> subprocess.Popen[bytes]:
        """A command with the gatekeeper's own environment."""
        pid = self.gatekeeper()
        pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        environment = dict(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
        environment.pop(b"COORDUI_READY_FILE", None)
        return subprocess.Popen([sys.executable, "manage.py", *words], cwd=REPOSITORY, env=environment)

    def gatekeeper(self) -> int:
        return until(lambda: self.find("gatekeeper", Phase.IN_LINE, ""), 30)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, perhaps_postgres: Server | None) -> Iterator[Whole]:
    place = tmp_path_factory.mktemp("whole")
    state, journal_file, store = place / "s", place / "journal", Store(place)
    settings = {**SETTINGS, "COORDUI_SUBMIT_JOURNAL": str(journal_file), "REDIS_URL": f"redis://127.0.0.1:{store.port}"}
    database = perhaps_postgres.fresh() if perhaps_postgres else ""
    if database:
        settings["DATABASE_URL"] = database
    store.start()
    running: Running | None = None
    try:
        running = Running(["--port", "0", "--state", str(state)], settings)
        _, visitor = start(lambda *words, **environment: running, state)
        with audited(state / "kubeconfig") as audit, journalled(journal_file) as journal:
            yield Whole(running, visitor, state, perhaps_postgres, database, {}, store, audit, journal)
    finally:
        store.kill()
        if running is not None:
            running.kill()
            running.is_gone()


def test_without_the_store_searches_run_all_the_same(whole: Whole) -> None:
    assert whole.store is not None
    whole.store.kill()
    key = whole.press()
    whole.reaches(key, Status.COMPLETED)
    for page in (*PAGES, f"/searches/{key}/"):
        assert whole.visitor.text(page)
    assert whole.visitor.json("/gate.json")["stale"] is False
    assert "without the broker" in (whole.state / "logs" / "gatekeeper.log").read_text()
    whole.store.start()


@long_only
def test_a_search_that_four_processes_run_at_once_is_run_once(whole: Whole) -> None:
    """The gatekeeper's child, a worker, and these two."""
    key = whole.press()
    pk = str(whole.row(key, "id")[0])
    for child in [whole.manage("runsearch", pk) for _ in range(2)]:
        assert child.wait(60) == 0
    whole.reaches(key, Status.COMPLETED)


def test_without_the_database_searches_go_on_and_are_picked_up_later(whole: Whole, postgres: Server) -> None:
    key = whole.press(LONGER)
    whole.reaches(key, Status.RUNNING)
    postgres.end(signal.SIGINT)
    try:
        with pytest.raises(urllib.error.HTTPError) as refused:
            whole.visitor.text("/healthz/web")
        assert refused.value.code == 503
        refused.value.close()
        until(lambda: finalizer_has_ended(whole, key), 90)
    finally:
        postgres.start()
    whole.reaches(key, Status.COMPLETED)
    until(lambda: whole.visitor.state_if_up(key), 30)


def finalizer_has_ended(whole: Whole, key: str) -> bool:
    cluster = connect(Connection(str(whole.state / "kubeconfig"), "default"))
    return is_ended(cluster.get("jobs", naming.finalizer(naming.run_id(key))).object)


def test_one_row_of_the_table_on_postgresql(whole: Whole, postgres: Server, note: Note) -> None:
    chosen = seed()
    note("the row's seed on PostgreSQL (MATRIX_SEED)", chosen)
    phase, begun = random.Random(chosen).choice(PHASES), time.monotonic()
    outcome = kill_at(whole, DATABASE, phase)
    note(f"killed: {DATABASE:<20} at {phase:<16} {'PostgreSQL':<10}", f"{outcome}, {time.monotonic() - begun:.0f} s")


def test_without_the_api_every_page_says_so_and_it_comes_back_by_itself(whole: Whole, note: Note) -> None:
    faults, gates = Faults(whole.state), set[str]()

    def is_said(address: str, words: str) -> bool:
        gates.add(whole.visitor.json("/gate.json")["gate"])
        return words in whole.visitor.text(address)

    with drained(whole.state):
        key = whole.press()
        until(lambda: whole.row(key, "reason")[0] == Reason.DRAINED, 30)
        with faults.away():
            begun = time.monotonic()
            for address in (f"/searches/{key}.json", "/searches.json"):
                until(lambda address=address: is_said(address, Reason.COORDINATION_UNAVAILABLE), 30)  # type: ignore[misc]
            until(lambda: is_said("/gate.json", '"unknown"'), 30)
            note("the API is away: said everywhere after", f"{time.monotonic() - begun:.1f} s")
            assert is_said(f"/searches/{key}/", NO_ANSWER) and is_said("/searches/", NO_ANSWER)
            assert is_said("/gate/", "Gate <b>unknown</b>")
        until(lambda: whole.row(key, "reason")[0] == Reason.DRAINED, 30)
    whole.reaches(key, Status.COMPLETED)
    assert gates <= {"open", "unknown"}


@long_only
def test_a_spare_gatekeeper_goes_on_and_two_at_once_do_no_harm(whole: Whole) -> None:
    spare = whole.manage("gatekeeper")
    first = next(pid for pid in gatekeepers(whole) if pid != spare.pid)
    try:
        with stopped(first):
            key = whole.press()
            whole.reaches(key, Status.COMPLETED)
        whole.reaches(whole.press(), Status.COMPLETED)
    finally:
        spare.kill()
        spare.wait(10)


def gatekeepers(whole: Whole) -> list[int]:
    def both() -> list[int]:
        lines = command_lines(whole.running).items()
        found = [pid for pid, line in lines if "manage.py\0gatekeeper" in line and "leash.py" not in line]
        return found if len(found) == 2 else []

    return until(both, 30)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_all_of_them_have_ended_once_and_nothing_is_left(whole: Whole) -> None:
    assert whole.audit is not None and whole.journal is not None
    ended.nothing_is_left(whole.state)
    ended.ended_once(whole.state, whole.ended, whole.database)
    ended.submitted_once(whole.ended, whole.audit, whole.journal)
    assert whole.running.stop(within=60) == 0
    assert whole.running.left() == []
