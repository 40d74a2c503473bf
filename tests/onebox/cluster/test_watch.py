"""Watches: nothing missed, nothing twice, in the order of the commits."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

from coordui.onebox.cluster.store import Store
from tests.onebox.cluster.fixtures import CONFIGMAPS, MERGE, RunningCluster, running_cluster


def revision(cluster: RunningCluster) -> str:
    return str(cluster.call("GET", f"{CONFIGMAPS}?limit=1").ok()["metadata"]["resourceVersion"])


def put(cluster: RunningCluster, name: str, label: str) -> Any:
    return cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"w": label}}}).ok()


def relabel(cluster: RunningCluster, name: str, label: str) -> Any:
    return cluster.call("PATCH", f"{CONFIGMAPS}/{name}", {"metadata": {"labels": {"w": label}}}, MERGE).ok()


def seen(events: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in events]


def test_replay_then_live(cluster: RunningCluster) -> None:
    start = revision(cluster)
    put(cluster, "r1", "live")
    threading.Timer(0.1, lambda: cluster.call("DELETE", f"{CONFIGMAPS}/r1")).start()
    events = cluster.events(f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dlive&resourceVersion={start}&timeoutSeconds=5", 2)
    assert seen(events) == [("ADDED", "r1"), ("DELETED", "r1")]
    added, deleted = (int(obj["metadata"]["resourceVersion"]) for _, obj in events)
    assert deleted > added > int(start)
    assert events[0][1]["kind"] == "ConfigMap"


def test_a_label_change_enters_and_leaves(cluster: RunningCluster) -> None:
    start = revision(cluster)
    put(cluster, "l1", "no")
    relabel(cluster, "l1", "yes")
    cluster.call("PATCH", f"{CONFIGMAPS}/l1", {"data": {"a": "1"}}, MERGE).ok()
    gone = relabel(cluster, "l1", "no")
    relabel(cluster, "l1", "maybe")
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dyes&resourceVersion={start}&timeoutSeconds=1"
    events = cluster.events(url, 3)
    assert [kind for kind, _ in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[2][1]["metadata"]["labels"] == {"w": "yes"}
    assert events[2][1]["metadata"]["resourceVersion"] == gone["metadata"]["resourceVersion"]


def test_without_a_revision_it_begins_with_what_is_there(cluster: RunningCluster) -> None:
    put(cluster, "s1", "there")
    put(cluster, "s2", "there")
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dthere&timeoutSeconds=1"
    assert seen(cluster.events(url, 2)) == [("ADDED", "s1"), ("ADDED", "s2")]
    events = cluster.events(f"{url}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=x", 3)
    assert [kind for kind, _ in events] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[2][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_it_ends_in_time_and_in_order(cluster: RunningCluster) -> None:
    start = time.monotonic()
    assert cluster.events(f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dnone&timeoutSeconds=1", 1) == []
    assert 0.9 < time.monotonic() - start < 4


def test_one_object(cluster: RunningCluster) -> None:
    put(cluster, "one", "x")
    put(cluster, "two", "x")
    assert seen(cluster.events(f"{CONFIGMAPS}/two?watch=1&timeoutSeconds=1", 2)) == [("ADDED", "two")]


def test_events_come_within_milliseconds(cluster: RunningCluster) -> None:
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dfast&resourceVersion={revision(cluster)}&timeoutSeconds=9"
    delays = []
    with cluster.stream(url) as lines:
        for index in range(10):
            put(cluster, f"fast{index}", "fast")
            written = time.monotonic()
            assert json.loads(next(lines))["object"]["metadata"]["name"] == f"fast{index}"
            delays.append(time.monotonic() - written)
    assert sorted(delays)[5] < 0.05, delays


def test_writers_against_watchers(cluster: RunningCluster) -> None:
    """Every watcher, whenever it came, sees the same revisions in the same order."""
    start = revision(cluster)
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dmany&resourceVersion={start}&timeoutSeconds=9"
    found: list[list[str]] = []

    def watch() -> None:
        found.append([obj["metadata"]["resourceVersion"] for _, obj in cluster.events(url, 40)])

    def write(number: int) -> None:
        for index in range(10):
            put(cluster, f"many-{number}-{index}", "many")

    watchers = [threading.Thread(target=watch) for _ in range(4)]
    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for pair in zip(writers, watchers, strict=True):
        for thread in pair:
            thread.start()
    for thread in writers + watchers:
        thread.join(20)
    assert len(found) == 4 and len(found[0]) == 40
    assert all(one == found[0] == sorted(one, key=int) for one in found)


def test_a_forgotten_revision_is_an_error_event(cluster: RunningCluster) -> None:
    ((kind, status),) = cluster.events(f"{CONFIGMAPS}?watch=1&resourceVersion=1&timeoutSeconds=2", 1)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_after_a_restart_a_watch_goes_on(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        start, address = revision(cluster), cluster.url
        put(cluster, "kept", "x")
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        assert cluster.url == address
        put(cluster, "later", "x")
        url = f"{CONFIGMAPS}?watch=1&resourceVersion={start}&timeoutSeconds=2"
        assert seen(cluster.events(url, 2)) == [("ADDED", "kept"), ("ADDED", "later")]


def test_the_log_is_cut(tmp_path: Path) -> None:
    store = Store(tmp_path / "db")
    try:
        first = store.revision
        store.compact(first + 10)
    finally:
        store.close()
    store = Store(tmp_path / "db")
    try:
        assert store.compacted == first + 10
    finally:
        store.close()


def test_a_watch_ends_when_the_server_stops(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        stream = cluster.stream(f"{CONFIGMAPS}?watch=1&resourceVersion={revision(cluster)}")
        lines = stream.__enter__()
    assert list(lines) == []
    stream.__exit__(None, None, None)
