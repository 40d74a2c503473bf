"""The adapter against the embedded cluster: verbs, paging, watches, and a wire that breaks."""

from __future__ import annotations

import queue
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection, connect, from_environment
from submits.cluster.connection import NotConfigured
from submits.cluster.reflector import Heard, Reflector, Source
from submits.cluster.seen import Seen, has_moved, sources
from submits.cluster.transport import Response
from submits.gates import naming
from submits.gates.ports import (
    AlreadyExists,
    Change,
    ClusterError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    Listing,
    NotFound,
    Object,
    Unanswered,
)
from submits.states import Reason
from tests.gates.made import RULES
from tests.onebox.cluster.fixtures import RunningCluster


def lease(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "labels": labels},
        "spec": {"holderIdentity": "me"},
    }


def config_map(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


def test_what_is_created_is_got_with_the_servers_clock(cluster: ApiCluster) -> None:
    made = cluster.create("leases", lease("one"))
    found = cluster.get("leases", "one")
    assert found.object["metadata"]["uid"] == made.object["metadata"]["uid"]
    assert abs(found.date - datetime.now(UTC)) < timedelta(seconds=5)


def test_a_clock_that_is_off_is_seen_as_it_is(cluster: ApiCluster, server: RunningCluster) -> None:
    server.faults.clock.offset = 3600
    cluster.create("leases", lease("late"))
    assert cluster.get("leases", "late").date - datetime.now(UTC) > timedelta(minutes=59)


def test_the_errors_of_a_real_exchange(cluster: ApiCluster) -> None:
    made = cluster.create("leases", lease("one")).object
    with pytest.raises(AlreadyExists, match="POST leases/one in default"):
        cluster.create("leases", lease("one"))
    with pytest.raises(NotFound):
        cluster.get("leases", "none")
    stale = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}}
    with pytest.raises(Conflict):
        cluster.replace("leases", "one", stale)
    with pytest.raises(Invalid):
        cluster.patch("leases", "one", [{"op": "test", "path": "/spec/holderIdentity", "value": "you"}])
    cluster.patch("leases", "one", [{"op": "replace", "path": "/spec/holderIdentity", "value": "you"}])
    assert cluster.get("leases", "one").object["spec"]["holderIdentity"] == "you"


def test_a_delete_spares_an_object_of_another_uid_and_what_is_gone_is_deleted(cluster: ApiCluster) -> None:
    cluster.create("leases", lease("one"))
    cluster.delete("leases", "one", uid="another")
    uid = cluster.get("leases", "one").object["metadata"]["uid"]
    cluster.delete("leases", "one", uid)
    cluster.delete("leases", "one", uid)
    with pytest.raises(NotFound):
        cluster.get("leases", "one")


def test_a_long_list_comes_whole_in_pages(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submits.cluster.verbs.PAGE", "3")
    for number in range(10):
        cluster.create("configmaps", config_map(f"c{number}", odd=str(number % 2)))
    assert [c["metadata"]["name"] for c in cluster.list("configmaps").items] == [f"c{n}" for n in range(10)]
    assert len(cluster.list("configmaps", "odd=1").items) == 5
    assert len(cluster.list("configmaps", fields="metadata.name=c4").items) == 1


def test_of_a_long_list_one_page_at_most_is_held_as_it_came(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 finished Jobs are 250 MB as they come."""
    monkeypatch.setattr("submits.cluster.verbs.PAGE", "3")
    for number in range(7):
        cluster.create("configmaps", config_map(f"c{number}"))
    asked = cluster.transport.request
    steps: list[str] = []

    def request(*words: Any) -> Response:
        steps.append("page")
        return asked(*words)

    monkeypatch.setattr(cluster.transport, "request", request)

    def kept(item: Object) -> Object:
        steps.append("kept")
        return {"metadata": {"name": item["metadata"]["name"]}}

    found = cluster.list("configmaps", kept=kept)
    assert found.items == tuple({"metadata": {"name": f"c{number}"}} for number in range(7))
    assert steps == [*["page", "kept", "kept", "kept"] * 2, "page", "kept"]


def test_a_reflector_hands_on_what_its_source_keeps_and_the_very_same_when_it_lists_again(cluster: ApiCluster) -> None:
    """Or all that has not changed would be held twice: 20,000 finished Jobs."""

    def kept(item: Object) -> Object:
        return {"metadata": {"name": item["metadata"]["name"]}, "data": item.get("data")}

    heard: queue.Queue[Heard] = queue.Queue()
    cluster.create("configmaps", config_map("old"))
    cluster.create("configmaps", config_map("other"))
    reflector = Reflector(Source("all", "configmaps", kept=kept), cluster, heard, resync=1)
    reflector.start()
    old, other = heard_by(reflector, heard, Listing).items
    assert old == {"metadata": {"name": "old"}, "data": None}
    cluster.create("configmaps", config_map("new"))
    new = heard_by(reflector, heard, Change).object
    assert new == {"metadata": {"name": "new"}, "data": None}
    cluster.delete("configmaps", "other")
    assert heard_by(reflector, heard, Change).object is other
    again = heard_by(reflector, heard, Listing).items
    assert [id(item) for item in again] == [id(new), id(old)]
    assert reflector.known.keys() == {"old", "new"}
    cluster.patch("configmaps", "old", [{"op": "add", "path": "/data", "value": {"a": "1"}}])
    assert heard_by(reflector, heard, Change).object["data"] == {"a": "1"}
    reflector.stop()
    reflector.join(10)


def test_a_watch_tells_every_change_after_its_revision(cluster: ApiCluster) -> None:
    version = cluster.list("configmaps").version
    cluster.create("configmaps", config_map("c", mine="yes"))
    cluster.patch("configmaps", "c", [{"op": "add", "path": "/data", "value": {"a": "1"}}])
    cluster.create("configmaps", config_map("other"))
    cluster.delete("configmaps", "c")
    changes = list(cluster.watch("configmaps", version, "mine=yes", seconds=1))
    assert [(c.type, c.object["metadata"]["name"]) for c in changes] == [
        ("ADDED", "c"), ("MODIFIED", "c"), ("DELETED", "c"),
    ]  # fmt: skip


def test_a_revision_that_is_gone_is_expired(cluster: ApiCluster, server: RunningCluster) -> None:
    with pytest.raises((Expired, Invalid)):
        list(cluster.watch("configmaps", "0x", seconds=1))


@pytest.mark.parametrize("action", ["drop_request", "drop_response"])
def test_a_broken_wire_is_unanswered_and_is_not_tried_again_underneath(
    cluster: ApiCluster, server: RunningCluster, action: Any
) -> None:
    rule = server.faults.add(action, method="POST", path="leases")
    with pytest.raises(Unanswered):
        cluster.create("leases", lease("one"))
    assert rule.used == 1


def test_a_credential_is_read_again_once_when_it_is_refused(server: RunningCluster, tmp_path: Path) -> None:
    good = Path(server.kubeconfig).read_text()
    path = tmp_path / "kubeconfig"
    path.write_text(good.replace(server.token, "old-token"))
    connected = connect(Connection(str(path), "default"))
    with pytest.raises(Forbidden) as refused:
        connected.list("leases")
    assert refused.value.reason is Reason.GATE_FORBIDDEN
    path.write_text(good)
    assert connected.list("leases").items == ()


def test_a_pod_finds_its_cluster_by_its_service_account(
    server: RunningCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, port = server.url.removeprefix("https://").partition(":")
    for name, text in {"token": server.token, "ca.crt": Path(server.ca).read_text(), "namespace": "default\n"}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    monkeypatch.setenv("COORDUI_SERVICEACCOUNT", str(tmp_path))
    connection = from_environment()
    assert connection.namespace == "default"
    assert connect(connection).list("leases").items == ()


def test_without_an_address_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NotConfigured, match="KUBECONFIG"):
        from_environment()
    with pytest.raises(NotConfigured, match="/no/such/file"):
        connect(Connection("/no/such/file", "default"))


def heard_by(reflector: Reflector, heard: queue.Queue[Heard], kind: type) -> Any:
    while True:
        what = heard.get(timeout=10).what
        if isinstance(what, kind):
            return what


def test_a_reflector_lists_watches_and_lists_again_after_a_break(cluster: ApiCluster, server: RunningCluster) -> None:
    heard: queue.Queue[Heard] = queue.Queue()
    reflector = Reflector(Source("tickets", "leases", naming.TICKETS), cluster, heard, resync=1)
    reflector.start()
    assert heard_by(reflector, heard, Listing).items == ()
    cluster.create("leases", lease("t", **{naming.KIND: "ticket"}))
    assert heard_by(reflector, heard, Change).type == "ADDED"
    server.faults.add("drop_request", method="GET", path="labelSelector=coordui")
    assert isinstance(heard_by(reflector, heard, ClusterError), Unanswered)
    server.faults.clear()
    assert len(heard_by(reflector, heard, Listing).items) == 1
    reflector.stop()
    reflector.join(10)
    assert not reflector.is_alive()


def test_what_is_seen_becomes_a_sight_once_every_source_has_been_listed(cluster: ApiCluster) -> None:
    seen = Seen("default", RULES)
    cluster.create("leases", lease(naming.gate("default")))
    for source in sources("default"):
        assert not seen.synced
        listing = cluster.list(source.kind, source.labels, source.fields)
        seen.hear(Heard(source.name, listing), 5.0)
    assert seen.synced
    sight = seen.sight(8.0)
    assert (sight.gate.holder, sight.gate_seen_for) == ("me", 3.0)
    gone = Change("DELETED", cluster.get("leases", naming.gate("default")).object)
    seen.hear(Heard("gate", gone), 9.0)
    assert not seen.sight(9.0).gate.exists


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        ({}, {"a": False}, True),
        ({"a": False}, {"a": True}, True),
        ({"a": False}, {}, True),
        ({"a": True}, {}, False),
        ({"a": False}, {"a": False}, False),
    ],
)
def test_the_line_moves_when_a_search_starts_or_ends(
    before: dict[str, bool], now: dict[str, bool], moved: bool
) -> None:
    assert has_moved(before, now) is moved
