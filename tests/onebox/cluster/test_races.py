"""Many at once: one winner a write, nothing lost, and nobody who does not read can hold up or fill the server."""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.http import watches
from coordui.onebox.cluster.http.shapes import Metadata, Plain, Shape
from coordui.onebox.cluster.inprocess import LocalCluster, LocalWatch
from coordui.onebox.cluster.storage import resources
from coordui.onebox.cluster.storage.selectors import EVERYTHING
from tests.onebox.cluster.fixtures import (
    APPLY,
    CONFIGMAPS,
    JSON_PATCH,
    LEASES,
    MERGE,
    STRATEGIC,
    Cluster,
    running_cluster,
    until,
)
from tests.world import SCALE

THREADS, ROUNDS = 50, 20
EVENT, LARGE = 2_000, 100_000  # characters


def test_one_winner_a_round_and_nothing_lost(cluster: Cluster) -> None:
    """Each round everybody reads, then everybody writes what was read, with one more in it."""
    cluster.call("POST", LEASES, {"metadata": {"name": "race"}, "spec": {"leaseTransitions": 0}}).ok()
    start = cluster.call("GET", f"{LEASES}/race").ok()["metadata"]["resourceVersion"]
    barrier = threading.Barrier(THREADS)
    codes: list[list[int]] = [[] for _ in range(ROUNDS)]
    failed: list[BaseException] = []

    def race() -> None:
        try:
            with cluster.kept(60) as call:
                for won in codes:
                    barrier.wait(60)
                    lease = call("GET", f"{LEASES}/race").ok()
                    lease["spec"]["leaseTransitions"] += 1
                    barrier.wait(60)
                    won.append(call("PUT", f"{LEASES}/race", lease).code)
        except BaseException as why:
            failed.append(why)
            barrier.abort()

    threads = [threading.Thread(target=race) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    assert not failed, failed[0]
    assert [Counter(won) for won in codes] == [{200: 1, 409: THREADS - 1}] * ROUNDS
    assert cluster.call("GET", f"{LEASES}/race").ok()["spec"]["leaseTransitions"] == ROUNDS
    events = cluster.events(f"{LEASES}/race?watch=1&resourceVersion={start}&timeoutSeconds=5", ROUNDS)
    assert [obj["spec"]["leaseTransitions"] for _, obj in events] == list(range(1, ROUNDS + 1))


PATCHES = {"merge": MERGE, "strategic": STRATEGIC, "json": JSON_PATCH, "apply": APPLY}


def written(local: LocalCluster, how: str, name: str, revision: str | None, holder: str) -> int:
    """The status of a write of that kind that carries that revision."""
    meta = {"name": name, **({"resourceVersion": revision} if revision else {})}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
    body: Any = lease | {"spec": {"holderIdentity": holder}}
    url, query = f"{LEASES}/{name}", {"fieldManager": "f", **({"force": "true"} if how == "apply" else {})}
    if how == "put":
        return local.call("PUT", url, body=body).status
    if how == "delete":
        condition = {"preconditions": {"resourceVersion": revision}} if revision else {}
        return local.call("DELETE", url, body=condition).status
    if how == "json":
        body = [{"op": "add", "path": "/spec/holderIdentity", "value": holder}]
        if revision:
            body.append({"op": "replace", "path": "/metadata/resourceVersion", "value": revision})
    return local.call("PATCH", url, query, {"content-type": PATCHES[how]}, body).status


def test_a_write_with_a_revision_succeeds_exactly_if_it_is_the_current_one() -> None:
    """Or if there is no object, and the verb makes one."""
    local, chance = LocalCluster(seed=5), random.Random(5)
    seen: dict[str, list[str]] = {"a": [], "b": []}
    tried: Counter[tuple[str, bool]] = Counter()
    for _ in range(500 * SCALE):
        name = chance.choice("ab")
        found = local.call("GET", f"{LEASES}/{name}")
        now = found.json()["metadata"]["resourceVersion"] if found.status == 200 else None
        if now:
            seen[name].append(now)
        revision = chance.choice([now, chance.choice(seen[name]) if seen[name] else None, None, "99999999"])
        how = chance.choice(["put", "delete", *PATCHES])
        status = written(local, how, name, revision, str(chance.randrange(3)))
        if now and revision:
            assert (status < 300) == (revision == now), (how, revision, now, status)
            assert status < 300 or status == 409
            tried[how, status < 300] += 1
        elif how in ("merge", "strategic", "json") and not now:
            assert status == 404
    local.close()
    assert len(tried) == 12 and min(tried.values()) > 5


def watching(local: LocalCluster, path: str) -> LocalWatch:
    watch = local.watch(path)
    assert isinstance(watch, LocalWatch)
    return watch


@pytest.mark.parametrize("behind", [3, 15, 60])
def test_a_watch_that_is_read_late_misses_nothing(behind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the hub still has the events, or only the log; in one piece or in many."""
    monkeypatch.setattr(watches, "RECENT", 20 * EVENT)
    monkeypatch.setattr(watches, "CHUNK", 7 * EVENT)
    local = LocalCluster()
    watch = watching(local, CONFIGMAPS)
    assert watch.events() == []
    local.call("POST", CONFIGMAPS, body={"metadata": {"name": "x", "labels": {"n": "x"}}})
    for number in range(behind):
        patch = {"metadata": {"labels": {"n": str(number)}}}
        local.call("PATCH", f"{CONFIGMAPS}/x", headers={"content-type": MERGE}, body=patch)
    found = [obj["metadata"]["labels"]["n"] for _, obj in watch.events()]
    assert found == ["x", *map(str, range(behind))]
    local.close()


def test_large_events_are_held_by_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the hub nor a watch that is not read has more of them than fit, recent or from the log."""
    monkeypatch.setattr(watches, "RECENT", 4 * LARGE)
    monkeypatch.setattr(watches, "CHUNK", LARGE)
    local = LocalCluster()
    path = f"{CONFIGMAPS}/large"
    local.call("POST", CONFIGMAPS, body={"metadata": {"name": "large"}})
    late = opened(local, Plain(resources.CONFIGMAPS))
    for number in range(12):
        patch = {"data": {"fill": str(number) + "x" * LARGE}}
        assert local.call("PATCH", path, headers={"content-type": MERGE}, body=patch).status == 200
        assert local.api.hub.held <= 4 * LARGE
    pieces = []
    while (piece := late.take()) is not None:
        pieces.append(len(piece))
    assert len(pieces) == 12 and max(pieces) < 2 * LARGE
    local.close()


def test_who_sees_the_same_is_sent_the_same_line() -> None:
    """Made once, however many watch; and who sees it in a form of his own has it made for him."""
    local = LocalCluster()
    shape = CountingShape(resources.CONFIGMAPS)
    many, partial = [opened(local, shape) for _ in range(5)], opened(local, Metadata())
    for name in "ab":
        local.call("POST", CONFIGMAPS, body={"metadata": {"name": name}, "data": {"k": "v"}})
    texts = {watch.take_all() for watch in many}
    assert (len(texts), shape.made) == (1, 2)
    assert b'"data"' in texts.pop() and b'"data"' not in partial.take_all()
    local.call("DELETE", f"{CONFIGMAPS}/a")
    assert {watch.take_all().count(b"DELETED") for watch in many} == {1} and shape.made == 3
    local.close()


def opened(local: LocalCluster, shape: Shape) -> watches.Watch:
    """Of all ConfigMaps, from now on."""
    scope = watches.Scope(resources.CONFIGMAPS, None, EVERYTHING)
    return local.api.hub.open(scope, local.core.store.revision, initial=False, mark=False, shape=shape)


class CountingShape(Plain):
    made = 0

    def event(self, body: str) -> str:
        self.made += 1
        return self.one(body)


def test_a_watch_that_lags_behind_the_log_is_told_so() -> None:
    local = LocalCluster()
    late, idle = watching(local, CONFIGMAPS), watching(local, LEASES)
    for watch in (late, idle):
        assert watch.events() == []
    for name in "abc":
        local.call("POST", CONFIGMAPS, body={"metadata": {"name": name}})
    local.core.store.compact(local.core.store.revision - 1)
    ((kind, status),) = late.events()
    assert (kind, status["reason"]) == ("ERROR", "Expired")
    # To whom nothing happened, nothing was lost.
    local.call("POST", LEASES, body={"metadata": {"name": "later"}})
    assert [kind for kind, _ in idle.events()] == ["ADDED"]
    local.close()


def test_who_does_not_read_is_cut_and_holds_up_nobody(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        cluster.inside(lambda _: setattr(cluster.server.api.hub, "patience", 0.2))
        deaf = [unread(cluster, f"{CONFIGMAPS}?watch=1") for _ in range(20)]
        with cluster.stream(f"{CONFIGMAPS}?watch=1&labelSelector=n") as lines, cluster.kept() as call:
            until(lambda: cluster.inside(lambda _: len(cluster.server.api.hub.open_watches)) == 21)
            for number in range(60):
                labels, data = {"n": str(number)}, {"fill": "x" * 100_000}
                call("POST", CONFIGMAPS, {"metadata": {"name": f"n{number}", "labels": labels}, "data": data}).ok()
                assert json.loads(next(lines))["object"]["metadata"]["labels"] == labels
            until(lambda: cluster.inside(lambda _: len(cluster.server.api.hub.open_watches)) == 1)
        for connection in deaf:
            connection.close()


def unread(cluster: Cluster, path: str) -> ssl.SSLSocket:
    """A request on a connection with hardly any room, whose answer nobody reads."""
    host, _, port = cluster.url.removeprefix("https://").partition(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect((host, int(port)))
    connection = cluster.context().wrap_socket(plain, server_hostname=host)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\n\r\n".encode())
    return connection
