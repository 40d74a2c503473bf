"""The file: its revision, its log and its index survive a restart, a compaction and a change of layout."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.storage import store as store_module
from coordui.onebox.cluster.storage.resources import CONFIGMAPS, JOBS, LEASES
from coordui.onebox.cluster.storage.selectors import parse
from coordui.onebox.cluster.storage.store import FIRST_REVISION, Store
from tests.onebox.cluster.fixtures import running_cluster


@contextmanager
def opened(path: Path | str, **words: Any) -> Iterator[Store]:
    store = Store(path, **words)
    try:
        yield store
    finally:
        store.close()


def entry(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name, "labels": labels}}


def names(store: Store, **words: Any) -> list[str]:
    return [row.name for row in store.select(CONFIGMAPS, **words)]


@pytest.mark.parametrize("durable", [False, True])
def test_the_revision_survives_even_if_the_log_is_empty(tmp_path: Path, durable: bool) -> None:
    with opened(tmp_path / "db", durable=durable) as store:
        for name in "abc":
            store.add(CONFIGMAPS, entry(name))
        store.remove(CONFIGMAPS, entry("c"))
    with opened(tmp_path / "db") as store:
        assert (store.revision, store.compacted) == (FIRST_REVISION + 4, FIRST_REVISION)
        store.compact(store.revision)
    with opened(tmp_path / "db") as store:
        assert (store.revision, store.compacted, names(store)) == (FIRST_REVISION + 4, FIRST_REVISION + 4, ["a", "b"])


def test_the_log_is_cut_by_itself_and_the_objects_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LOG_KEPT", 100)
    monkeypatch.setattr(store_module, "LOG_SLACK", 20)
    with opened(":memory:") as store:
        with store.transaction():
            for number in range(121):
                store.add(CONFIGMAPS, entry(f"n{number:05}"))
        assert store.compacted == store.revision - 100
        assert len(list(store.history.since(0, CONFIGMAPS, None))) == 100
        assert len(names(store)) == 121
        assert len(names(store, revision=store.compacted)) == 21


def test_a_file_of_another_layout_keeps_its_objects(tmp_path: Path) -> None:
    """Its index and log are made anew, and nobody can go on from a revision whose log is gone."""
    path = tmp_path / "db"
    with opened(path) as store:
        store.add(CONFIGMAPS, entry("a", k="1"))
        store.add(LEASES, entry("b", k="1"))
        revision = store.revision
    raw = sqlite3.connect(path)
    raw.executescript("DELETE FROM terms; DROP TABLE log; CREATE TABLE log(revision INTEGER PRIMARY KEY, before TEXT);")
    raw.execute("INSERT INTO log VALUES(?, NULL)", (revision,))
    raw.execute("PRAGMA user_version=1")
    raw.commit()
    raw.close()
    with opened(path) as store:
        assert store.revision == store.compacted == revision + 1
        assert names(store, selector=parse(CONFIGMAPS, "k=1", "")) == ["a"]
        store.replace(CONFIGMAPS, entry("a", k="1"), entry("a", k="2"))
    with opened(path) as store:
        assert (store.revision, store.compacted) == (revision + 2, revision + 1)
        assert names(store, selector=parse(CONFIGMAPS, "k=1", "")) == []


def test_the_past_is_told_from_the_log() -> None:
    with opened(":memory:", now=iter(range(100)).__next__) as store:
        store.add(JOBS, {**entry("j"), "status": {}})
        first = store.revision
        store.replace(JOBS, {**entry("j"), "status": {}}, {**entry("j"), "status": {"succeeded": 1}})
        store.remove(JOBS, {**entry("j"), "status": {"succeeded": 1}})
        waiting = parse(JOBS, "", "status.successful=0")
        assert [len(store.select(JOBS, None, waiting, revision=first + step)) for step in (-1, 0, 1, 2)] == [0, 1, 0, 0]
        then = [store.body_at(JOBS, "", "j", first + step) for step in (-1, 0, 1, 2)]
        assert [body is None for body in then] == [True, False, False, True]
        assert [store.history.revision_at(moment) for moment in (-1, 0, 1.5)] == [None, first, first + 1]
        events = list(store.history.since(0, JOBS, None))
        types = [(event.type, event.before is None, event.after is None) for event in events]
        assert types == [("ADDED", True, False), ("MODIFIED", False, False), ("DELETED", False, True)]


def test_only_its_owner_reads_the_state(tmp_path: Path) -> None:
    """Also where others could before."""
    place = tmp_path / "cluster"
    place.mkdir(mode=0o755)
    for name in ("cluster.sqlite3", "cluster.sqlite3-wal"):
        (place / name).touch(0o644)
    with running_cluster(tmp_path, run_jobs=False):
        files = sorted(place.glob("cluster.sqlite3*"))
        assert len(files) == 3 and {file.stat().st_mode & 0o777 for file in files} == {0o600}
        assert place.stat().st_mode & 0o777 == 0o700
