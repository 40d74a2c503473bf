"""A whole installation on a state directory of its own, its processes by name, and its rows read from outside."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg

from tests.onebox.running import Running
from tests.story.visitor import Visitor

Row = tuple[object, ...]


def start(up: Callable[..., Running], state: Path, **environment: str) -> tuple[Running, Visitor]:
    running = up("--port", "0", "--state", str(state), **environment)
    return running, Visitor(signin_address(running))


def signin_address(running: Running) -> str:
    said = running.says("/signin/", within=60)
    return [word for word in said.split() if "/signin/" in word][-1]


def rows(state: Path, query: str, database: str = "") -> list[Row]:
    """`database` is the address of a PostgreSQL database, if it is not SQLite's file in the state directory."""
    if database:
        with psycopg.connect(database, connect_timeout=5) as connection:
            return connection.execute(query.encode()).fetchall()
    connected = sqlite3.connect(state / "db.sqlite3", timeout=20)
    try:
        return connected.execute(query).fetchall()
    finally:
        connected.close()


def completed_events(state: Path) -> dict[str, int]:
    """By submission: how often it was completed."""
    found = rows(
        state,
        "select s.key, count(e.id) from submits_submission s left join submits_event e"
        " on e.submission_id = s.id and e.status = 'completed' group by s.id",
    )
    return {str(key): int(str(number)) for key, number in found}


def command_lines(running: Running) -> dict[int, str]:
    found = {}
    for pid in running.left():
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    return found


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def long_query(queries: int = 16) -> str:
    """Some work against the globins; more than ten queries make a second batch."""
    residues = "MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLG" * 14
    return "".join(f">q{n}\n{residues}\n" for n in range(queries))
