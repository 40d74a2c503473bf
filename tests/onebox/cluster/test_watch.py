"""Watches: nothing missed, nothing twice, in the order of the commits."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, MERGE, Client, Cluster, running_cluster


def revision(cluster: Client) -> str:
    return str(cluster.call("GET", f"{CONFIGMAPS}?limit=1").ok()["metadata"]["resourceVersion"])


def put(cluster: Client, name: str, label: str) -> Any:
    return cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"w": label}}}).ok()


def relabel(cluster: Client, name: str, label: str) -> Any:
    return cluster.call("PATCH", f"{CONFIGMAPS}/{name}", {"metadata": {"labels": {"w": label}}}, MERGE).ok()


def next_event(lines: Iterator[str]) -> tuple[str, Any]:
    event = json.loads(next(lines))
    return event["type"], event["object"]


def seen(events: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in events]


def test_replay_then_live(cluster: Client) -> None:
    start = revision(cluster)
    put(cluster, "r1", "live")
    threading.Timer(0.1, lambda: cluster.call("DELETE", f"{CONFIGMAPS}/r1")).start()
    events = cluster.events(f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dlive&resourceVersion={start}&timeoutSeconds=5", 2)
    assert seen(events) == [("ADDED", "r1"), ("DELETED", "r1")]
    added, deleted = (int(obj["metadata"]["resourceVersion"]) for _, obj in events)
    assert deleted > added > int(start)
    assert events[0][1]["kind"] == "ConfigMap"


def test_a_label_change_enters_and_leaves(cluster: Client) -> None:
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


def test_without_a_revision_it_begins_with_what_is_there(cluster: Client) -> None:
    put(cluster, "s1", "there")
    put(cluster, "s2", "there")
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dthere&timeoutSeconds=1"
    assert seen(cluster.events(url, 2)) == [("ADDED", "s1"), ("ADDED", "s2")]
    initial = f"{url}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    events = cluster.events(f"{initial}&allowWatchBookmarks=true&resourceVersion={revision(cluster)}", 3)
    assert [kind for kind, _ in events] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[2][1]["kind"] == "ConfigMap"
    assert events[2][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(events[2][1]["metadata"]["resourceVersion"]) >= int(events[1][1]["metadata"]["resourceVersion"])


def test_without_being_asked_it_sends_no_bookmark(cluster: Client) -> None:
    """Real servers send none within the time that anybody would wait for one."""
    put(cluster, "quiet", "quiet")
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dquiet&timeoutSeconds=1"
    assert [kind for kind, _ in cluster.events(f"{url}&allowWatchBookmarks=true", 9)] == ["ADDED"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("sendInitialEvents=true", 422),
        ("resourceVersionMatch=NotOlderThan", 422),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9999999999", 504),
        ("resourceVersion=x", 400),
    ],
)
def test_watches_that_are_refused(cluster: Client, query: str, code: int) -> None:
    assert cluster.call("GET", f"{CONFIGMAPS}?watch=1&{query}").code == code


def test_a_field_change_enters_and_leaves(cluster: Client) -> None:
    """The gates' own selector: a Job that succeeds is no longer one to count."""
    start = revision(cluster)
    cluster.job("waits", "true", suspend=True)
    url = f"{JOBS}?watch=1&fieldSelector=status.successful%3D0&resourceVersion={start}&timeoutSeconds=60"
    with cluster.stream(url) as lines:
        kind, job = next_event(lines)
        assert (kind, job["metadata"]["name"]) == ("ADDED", "waits")
        cluster.call("PATCH", f"{JOBS}/waits", {"spec": {"suspend": False}}, MERGE).ok()
        while (event := next_event(lines))[0] == "MODIFIED":
            pass
    kind, job = event
    assert (kind, job["metadata"]["name"], job["status"].get("succeeded", 0)) == ("DELETED", "waits", 0)


def test_a_revision_of_the_future_waits_for_it(cluster: Client) -> None:
    """And says nothing of what comes before."""
    future = int(put(cluster, "f0", "future")["metadata"]["resourceVersion"]) + 2
    url = f"{CONFIGMAPS}?watch=1&labelSelector=w%3Dfuture&resourceVersion={future}&timeoutSeconds=9"
    with cluster.stream(url) as lines:
        made = [put(cluster, f"f{index}", "future") for index in range(1, 6)]
        wanted = next(one for one in made if int(one["metadata"]["resourceVersion"]) > future)
        assert next_event(lines) == ("ADDED", wanted)


def test_it_ends_in_time_and_in_order(cluster: Client) -> None:
    start = time.monotonic()
    assert cluster.events(f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dnone&timeoutSeconds=1", 1) == []
    assert 0.9 < time.monotonic() - start < 4


def test_one_object(cluster: Client) -> None:
    for name in ("one", "two"):
        put(cluster, name, "x")
    with cluster.stream(f"{CONFIGMAPS}/two?watch=1") as lines:
        assert seen([next_event(lines)]) == [("ADDED", "two")]
        for name in ("one", "two"):
            relabel(cluster, name, "y")
        assert seen([next_event(lines)]) == [("MODIFIED", "two")]


def test_writers_against_watchers(cluster: Client) -> None:
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


def test_a_forgotten_revision_is_an_error_event(cluster: Client) -> None:
    ((kind, status),) = cluster.events(f"{CONFIGMAPS}?watch=1&resourceVersion=1&timeoutSeconds=2", 1)
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_after_a_compaction_a_watch_is_told_so(cluster: Cluster) -> None:
    put(cluster, "before", "x")
    start = revision(cluster)
    kept = int(put(cluster, "after", "x")["metadata"]["resourceVersion"])
    cluster.inside(lambda core: core.store.compact(kept - 1))
    url = f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion="
    ((kind, status),) = cluster.events(f"{url}{int(start) - 1}", 2)
    assert (kind, status["reason"]) == ("ERROR", "Expired")
    assert seen(cluster.events(f"{url}{kept - 1}", 1)) == [("ADDED", "after")]


def test_after_a_restart_a_watch_goes_on(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        start, address = revision(cluster), cluster.url
        put(cluster, "kept", "x")
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        assert cluster.url == address
        put(cluster, "later", "x")
        url = f"{CONFIGMAPS}?watch=1&resourceVersion={start}&timeoutSeconds=2"
        assert seen(cluster.events(url, 2)) == [("ADDED", "kept"), ("ADDED", "later")]


def test_a_watch_ends_when_the_server_stops(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        stream = cluster.stream(f"{CONFIGMAPS}?watch=1&resourceVersion={revision(cluster)}")
        lines = stream.__enter__()
    assert list(lines) == []
    stream.__exit__(None, None, None)
