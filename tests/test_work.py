"""The work store: whole files by key, and no key that leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from submits.work import Missing, WorkError, WorkStore, run_key

RUN = "job-" + "0" * 32


@pytest.fixture
def store(tmp_path: Path) -> WorkStore:
    return WorkStore(f"file://{tmp_path}/with%20space")


def test_what_is_put_is_got_and_listed(store: WorkStore) -> None:
    store.put(run_key(RUN, "out", "0001.tsv"), b"b")
    store.put(run_key(RUN, "query.fa"), b"a")
    assert store.get(run_key(RUN, "query.fa")) == b"a"
    assert store.names(f"runs/{RUN}") == [run_key(RUN, "out", "0001.tsv"), run_key(RUN, "query.fa")]
    store.remove(f"runs/{RUN}")
    assert store.names(f"runs/{RUN}") == []


def test_a_file_is_replaced_whole(store: WorkStore) -> None:
    key = run_key(RUN, "plan.json")
    store.put(key, b"old")
    with store.open(key) as reader:
        store.put(key, b"new and longer")
        assert reader.read() == b"old"
    assert store.get(key) == b"new and longer"
    assert [path.name for path in store.path(key).parent.iterdir()] == ["plan.json"]


def test_what_is_missing_is_said_by_key(store: WorkStore) -> None:
    with pytest.raises(Missing, match=r"outcome\.json"):
        store.get(run_key(RUN, "outcome.json"))
    assert not store.exists(run_key(RUN, "outcome.json"))


@pytest.mark.parametrize("key", ["../x", "runs/../../x", "/etc/passwd", "a//b", "", "a/./b", "a\0b"])
def test_no_key_leaves_the_store(store: WorkStore, key: str) -> None:
    with pytest.raises(WorkError):
        store.path(key)


@pytest.mark.parametrize("run", ["job-1", "../../etc", RUN + "/..", RUN.upper(), RUN + "\n"])
def test_only_a_run_id_of_ours_makes_a_key(run: str) -> None:
    with pytest.raises(WorkError):
        run_key(run, "query.fa")


@pytest.mark.parametrize("url", ["relative/dir", "s3://bucket/x", "file://host/dir", ""])
def test_anything_but_a_directory_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(WorkError, match="COORDUI_WORK_URL"):
        WorkStore(url)
