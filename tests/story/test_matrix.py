"""SIGKILL of every process at every phase of a search: it ends as it should, once, and leaves nothing behind.

`make test` runs one row of the table on each kind of database (in test_restart.py and test_dependencies.py), drawn by a
seed that is printed; MATRIX_SEED repeats it. `make test-long` runs the whole table.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from submits.states import Phase
from tests.onebox.running import Running
from tests.postgres import Server
from tests.story import ended
from tests.story.audit import audited, journalled
from tests.story.installation import start
from tests.story.matrix import ALWAYS, DATABASE, PHASES, Site, kill_at, pairs
from tests.world import SCALE

Note = Callable[[str, object], None]
Up = Callable[..., Running]
WHOLE = SCALE > 1
TABLE = [(process, phase) for phase in PHASES for process in pairs(phase)]
# The server itself at every phase; each of ours at one, in its turn.
ON_POSTGRESQL = {
    "the server": [(DATABASE, phase) for phase in PHASES],
    "ours": [(process, PHASES[number]) for number, process in enumerate(ALWAYS, 3)],
}
long_only = pytest.mark.skipif(not WHOLE, reason="the whole table is for make test-long")
SETTINGS = {
    "COORDUI_PROTOCOL_SCALE": "0.1",
    "BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS": "60",
    "COORDUI_CLUSTER_FAULTS": "true",
}


def seed() -> int:
    return int(os.environ.get("MATRIX_SEED") or random.randrange(10_000))


def one_row(chosen: int) -> tuple[str, Phase]:
    return random.Random(chosen).choice(TABLE)


@contextmanager
def witnessed(made: Site, journal_file: Path) -> Iterator[None]:
    """At the end all that was thrown in meanwhile has ended once, and nothing is left of it."""
    with audited(made.state / "kubeconfig") as audit, journalled(journal_file) as journal:
        yield
        ended.nothing_is_left(made.state)
    ended.ended_once(made.state, made.ended, made.database)
    ended.submitted_once(made.ended, audit, journal)


@contextmanager
def site(up: Up, state: Path, postgres: Server | None = None) -> Iterator[Site]:
    """An installation that is watched from its start to its stop."""
    journal_file, database = state.with_name("journal"), postgres.fresh() if postgres else ""
    settings = {**SETTINGS, "COORDUI_SUBMIT_JOURNAL": str(journal_file)}
    running, visitor = start(up, state, **settings, **({"DATABASE_URL": database} if database else {}))
    made = Site(running, visitor, state, postgres, database)
    with witnessed(made, journal_file):
        yield made
    assert running.stop(within=60) == 0
    assert running.left() == []


def take(made: Site, rows: list[tuple[str, Phase]], note: Note) -> None:
    """One kill after the other; each is a line of the table, also when it fails, and then the next one is taken."""
    failed = []
    kind = "PostgreSQL" if made.database else "SQLite"
    for process, phase in rows:
        begun = time.monotonic()
        try:
            outcome = kill_at(made, process, phase)
        except AssertionError as error:
            outcome = "FAILED"
            failed.append(f"{process} at {phase}: {error}")
        note(f"killed: {process:<20} at {phase:<16} {kind:<10}", f"{outcome}, {time.monotonic() - begun:.0f} s")
    assert failed == []


@long_only
@pytest.mark.timeout(900)
@pytest.mark.parametrize("which", ON_POSTGRESQL)
def test_on_postgresql(which: str, up: Up, note: Note, tmp_path: Path, postgres: Server) -> None:
    with site(up, tmp_path / "s", postgres) as made:
        take(made, ON_POSTGRESQL[which], note)


@long_only
@pytest.mark.timeout(900)
@pytest.mark.parametrize("phase", PHASES)
def test_every_process_at(phase: Phase, up: Up, note: Note, tmp_path: Path) -> None:
    with site(up, tmp_path / "s") as made:
        take(made, [(process, phase) for process in pairs(phase)], note)
