"""The API without sockets, threads or an event loop: the same answers, and the same ones in every run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.inprocess import Answer, LocalCluster, LocalTimers, LocalWatch
from coordui.onebox.cluster.storage import workqueue
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, LEASES, MERGE

START = datetime(2026, 1, 1, tzinfo=UTC)


class Time:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = START

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def local(time: Time, **words: Any) -> LocalCluster:
    return LocalCluster(Clock(lambda: time.now), seed=1, sleep=time.move, **words)


def lease(name: str, holder: str = "a", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "spec": {"holderIdentity": holder}}


def watching(cluster: LocalCluster, path: str, **query: str) -> LocalWatch:
    watch = cluster.watch(path, query)
    assert isinstance(watch, LocalWatch)
    return watch


def story(time: Time) -> list[Answer]:
    """A few calls of every kind, and what they answer."""
    cluster = local(time)
    found = [cluster.call("POST", LEASES, body=lease("one")), cluster.call("POST", LEASES, body=lease("one"))]
    time.move(5)
    patch = b'{"spec":{"holderIdentity":"b"}}'
    found.append(cluster.call("PATCH", f"{LEASES}/one", {"fieldManager": "m"}, {"content-type": MERGE}, patch))
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["true"]}]}
    job = {"metadata": {"generateName": "j-"}, "spec": {"parallelism": 0, "template": {"spec": pod}}}
    found.append(cluster.call("POST", JOBS, body=job))
    found += [cluster.call("GET", JOBS), cluster.call("DELETE", f"{LEASES}/one"), cluster.call("GET", f"{LEASES}/one")]
    cluster.close()
    return found


def test_it_answers_like_the_server_and_the_same_in_every_run() -> None:
    first, again = story(Time()), story(Time())
    assert first == again
    assert [answer.status for answer in first] == [201, 409, 200, 201, 200, 200, 404]
    made, patched = first[0].json()["metadata"], first[2].json()
    assert made["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert patched["spec"]["holderIdentity"] == "b" and patched["metadata"]["uid"] == made["uid"]
    assert patched["metadata"]["managedFields"][-1]["time"] == "2026-01-01T00:00:05Z"
    assert parsedate_to_datetime(first[2].headers["date"]) == START + timedelta(seconds=5)
    assert len({answer.json()["metadata"].get("uid") for answer in (first[0], first[3])}) == 2


def test_a_watch_tells_what_has_happened_since_the_last_look() -> None:
    cluster = local(Time())
    cluster.call("POST", LEASES, body=lease("one"))
    watch = watching(cluster, LEASES)
    assert [(kind, obj["metadata"]["name"]) for kind, obj in watch.events()] == [("ADDED", "one")]
    assert watch.events() == []
    cluster.call("POST", CONFIGMAPS, body={"metadata": {"name": "other"}})
    assert watch.events() == []
    cluster.call("DELETE", f"{LEASES}/one")
    assert [kind for kind, _ in watch.events()] == ["DELETED"]
    refused = cluster.watch(LEASES, {"resourceVersionMatch": "Exact"})
    assert isinstance(refused, Answer) and refused.status == 422
    old = watching(cluster, LEASES, resourceVersion="1")
    ((kind, status),) = old.events()
    assert (kind, status["code"], old.events()) == ("ERROR", 410, [])


def test_a_watch_that_is_let_go_is_closed() -> None:
    cluster = local(Time())
    watch = watching(cluster, LEASES)
    assert len(cluster.api.hub.open_watches) == 1
    del watch
    assert not cluster.api.hub.open_watches


def test_garbage_is_collected_when_it_is_told_to() -> None:
    cluster = local(Time())
    owner = cluster.call("POST", LEASES, body=lease("owner")).json()["metadata"]["uid"]
    reference = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": "owner", "uid": owner}
    cluster.call("POST", LEASES, body=lease("owned", ownerReferences=[reference]))
    cluster.settle()
    cluster.call("DELETE", f"{LEASES}/owner")
    assert cluster.call("GET", f"{LEASES}/owned").status == 200
    cluster.settle()
    assert cluster.call("GET", f"{LEASES}/owned").status == 404


def test_faults_without_a_wire() -> None:
    time = Time()
    cluster = local(time)
    cluster.faults.add("drop_request", verb="create", name="lost", times=1)
    cluster.faults.add("drop_response", verb="create", name="kept", times=1)
    for name, status in (("lost", 404), ("kept", 200)):
        with pytest.raises(ConnectionResetError):
            cluster.call("POST", LEASES, body=lease(name))
        assert cluster.call("GET", f"{LEASES}/{name}").status == status
    cluster.faults.add("delay", seconds=3, times=1)
    assert cluster.call("GET", LEASES).status == 200
    assert time.now == START + timedelta(seconds=3.02)  # two broken connections take ten milliseconds each


def test_what_is_no_request_is_refused() -> None:
    cluster = local(Time())
    with pytest.raises(ValueError, match="use watch"):
        cluster.call("GET", LEASES, {"watch": "1"})
    assert cluster.call("GET", LEASES, headers={"Authorization": "Bearer other"}).status == 401
    assert cluster.call("POST", LEASES, body=b"{").status == 400


def test_what_the_server_does_by_itself_lets_requests_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workqueue, "_SLICE", -1.0)  # one key a turn
    timers, done = LocalTimers(Clock(lambda: START)), list[str]()
    queue = workqueue.WorkQueue(done.append, timers)
    for key in "abc":
        queue.add(key)
    timers.call_soon(done.append, "request")
    timers.run()
    assert done == ["a", "request", "b", "c"]
