"""Requests that nobody sends by mistake: paths without names, numbers that no field could hold, keys that lead away.

Each is answered with what is wrong with it, and nothing of it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from coordui.onebox.cluster.http.connection import HEAD_BYTES
from coordui.onebox.cluster.inprocess import Answer, LocalCluster
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, JOBS, JSON, LEASES, MERGE, PODS, Cluster

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
HUGE = "9" * 23


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    found = LocalCluster(seed=1)
    yield found
    found.close()


def ask(local: LocalCluster, method: str, path: str, body: Any = None, kind: str = JSON) -> Answer:
    path, _, query = path.partition("?")
    pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
    return local.call(method, path, pairs, {"content-type": kind}, body)


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "none", "command": ["true"]}]}}


# -- paths and methods


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{PODS}//status"),
        ("POST", f"{PODS}//status"),
        ("DELETE", f"{PODS}//status"),
        ("DELETE", f"{JOBS}//status"),
        ("GET", "/api/v1/namespaces//pods"),
        ("POST", "/api//v1/namespaces/default/pods"),
        ("POST", "/apis/authorization.k8s.io/v1/namespaces//selfsubjectaccessreviews"),
    ],
)
def test_an_empty_name_is_no_name(local: LocalCluster, method: str, path: str) -> None:
    assert ask(local, "POST", PODS, pod("there")).status in (201, 409)
    assert ask(local, method, path, pod("more") if method == "POST" else None).status == 404
    assert [item["metadata"]["name"] for item in ask(local, "GET", PODS).json()["items"]] == ["there"]


def test_a_role_for_a_subresource_reaches_nothing_else(local: LocalCluster) -> None:
    """Who may delete collections of pods/status may not delete Pods."""
    rule = {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["*"]}
    ask(local, "POST", PODS, pod("mine"))
    assert ask(local, "POST", f"{ROLES}/roles", {"metadata": {"name": "status"}, "rules": [rule]}).status == 201
    binding = {
        "metadata": {"name": "status"},
        "roleRef": {"kind": "Role", "name": "status"},
        "subjects": [{"kind": "User", "name": "ann"}],
    }
    assert ask(local, "POST", f"{ROLES}/rolebindings", binding).status == 201
    for method in ("DELETE", "POST", "GET"):
        found = local.call(method, f"{PODS}//status", headers={"impersonate-user": "ann"}, body=pod("other"))
        assert found.status in (403, 404)
    assert ask(local, "GET", f"{PODS}/mine").status == 200


@pytest.mark.parametrize(
    ("method", "subresource", "codes"),
    [
        ("PUT", "log", 405),
        ("PATCH", "log", 405),
        ("POST", "log", 405),
        ("DELETE", "log", 405),
        ("DELETE", "status", 405),
        ("POST", "status", 405),
        ("PATCH", "status", 200),
    ],
)
def test_what_a_subresource_of_a_pod_takes(local: LocalCluster, method: str, subresource: str, codes: int) -> None:
    ask(local, "POST", PODS, pod("sub"))
    changed = {**pod("sub"), "spec": {"containers": []}}
    kind = MERGE if method == "PATCH" else JSON
    assert ask(local, method, f"{PODS}/sub/{subresource}", changed, kind).status == codes
    assert len(ask(local, "GET", f"{PODS}/sub").json()["spec"]["containers"]) == 1


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_a_token_is_only_ever_made(local: LocalCluster, method: str) -> None:
    assert ask(local, method, f"{CORE}/serviceaccounts/default/token", {}, MERGE).status == 405


# -- numbers, selectors and options


@pytest.mark.parametrize(
    ("method", "path", "body", "codes"),
    [
        ("GET", f"{PODS}?limit={HUGE}", None, 400),
        ("GET", f"{PODS}?limit={2**63 - 1}", None, 200),
        ("GET", f"{PODS}?limit={'9' * 5000}", None, 400),
        ("GET", f"{PODS}?limit=x", None, 400),
        ("GET", f"{PODS}?resourceVersion={'9' * 5000}", None, 400),
        ("GET", f"{PODS}?resourceVersion={2**64}", None, 400),
        ("GET", f"{PODS}?resourceVersion={2**64 - 1}", None, 504),
        ("GET", f"{PODS}?watch=1&timeoutSeconds={HUGE}", None, 400),
        ("GET", f"{PODS}?labelSelector={','.join(f'a{n}' for n in range(1100))}", None, 400),
        ("GET", f"{PODS}?labelSelector=a in ({','.join(map(str, range(10_001)))})", None, 400),
        ("GET", f"{PODS}?labelSelector={','.join(f'a{n}' for n in range(500))}", None, 200),
        ("GET", f"{PODS}?continue={'W' * 100_000}", None, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"preconditions": "x"}, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"preconditions": {"uid": 5}}, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"dryRun": 5}, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"dryRun": [5]}, 422),
        ("DELETE", f"{CONFIGMAPS}/none", {"gracePeriodSeconds": "5"}, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"orphanDependents": "yes"}, 400),
        ("DELETE", f"{CONFIGMAPS}/none", {"propagationPolicy": ["Orphan"]}, 400),
        ("DELETE", f"{CONFIGMAPS}/none?gracePeriodSeconds={HUGE}", None, 400),
        ("POST", f"{CORE}/serviceaccounts/default/token", {"spec": {"audiences": 5}}, 400),
        ("POST", f"{CORE}/serviceaccounts/default/token", {"spec": {"audiences": "me"}}, 400),
        ("POST", f"{CORE}/serviceaccounts/default/token", {"spec": {"audiences": [5]}}, 400),
        ("POST", f"{CONFIGMAPS}?fieldManager={'m' * 129}", {"metadata": {"name": "m"}}, 422),
        ("POST", f"{CONFIGMAPS}?fieldManager=a\nb", {"metadata": {"name": "m"}}, 422),
    ],
)
def test_what_no_request_can_mean(local: LocalCluster, method: str, path: str, body: Any, codes: int) -> None:
    found = ask(local, method, path, body)
    assert found.status == codes, found.body[:300]
    assert codes < 300 or found.json()["kind"] == "Status"
    assert not local.api.hub.open_watches


def test_a_deletion_may_wait_long_but_not_for_ever(local: LocalCluster) -> None:
    body = pod("patient")
    body["spec"]["nodeName"] = "onebox"
    ask(local, "POST", PODS, body)
    held = ask(local, "DELETE", f"{PODS}/patient?gracePeriodSeconds=99999999999999")
    assert held.status == 200 and held.json()["metadata"]["deletionGracePeriodSeconds"] == 10**9


def test_groups_alone_are_nobody(local: LocalCluster) -> None:
    found = local.call("GET", PODS, headers={"impersonate-group": "system:masters"})
    assert (found.status, "without impersonating a user" in found.json()["message"]) == (400, True)


def test_a_head_without_an_end_is_cut(cluster: Cluster) -> None:
    """431 as soon as it is too much, and not when it is complete."""
    with cluster.connection(10) as connection:
        connection.putrequest("GET", CONFIGMAPS)
        connection.putheader("x-filler", "x" * (HEAD_BYTES + 200_000))
        connection.send(b"\r\n".join([*connection._buffer, b""]))  # type: ignore[attr-defined]
        assert connection.sock is not None
        assert connection.sock.recv(12) == b"HTTP/1.1 431"
    long = f"{CONFIGMAPS}?labelSelector=n+in+({'x' * 60}" + f",{'x' * 60}" * 1000 + ")"
    assert cluster.call("GET", long).code == 200


# -- what an object may not be


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (CONFIGMAPS, {"data": {"a/b": "x"}}, "data[a/b]"),
        (CONFIGMAPS, {"data": {"..": "x"}}, "data[..]"),
        (CONFIGMAPS, {"data": {".": "x"}}, "data[.]"),
        (CONFIGMAPS, {"data": {" ": "x"}}, "data[ ]"),
        (CONFIGMAPS, {"binaryData": {"..a": "eA=="}}, "binaryData[..a]"),
        (CONFIGMAPS, {"data": {"a": "x"}, "binaryData": {"a": "eA=="}}, "data[a]"),
        (f"{CORE}/secrets", {"stringData": {"a/b": "x"}}, "data[a/b]"),
        (CONFIGMAPS, {"metadata": {"finalizers": ["mine"]}}, "metadata.finalizers[0]"),
    ],
)
def test_keys_and_finalizers(local: LocalCluster, path: str, body: Any, field: str) -> None:
    body = {**body, "metadata": {"name": "keys", **body.get("metadata", {})}}
    found = ask(local, "POST", path, body)
    assert found.status == 422, found.body
    assert [cause["field"] for cause in found.json()["details"]["causes"]] == [field]


def test_keys_and_finalizers_that_are_right(local: LocalCluster) -> None:
    body = {"metadata": {"name": "right", "finalizers": ["orphan", "example.com/x"]}, "data": {".a": "", "A_b.c-1": ""}}
    assert ask(local, "POST", CONFIGMAPS, body).status == 201


@pytest.mark.parametrize(
    ("volume", "field"),
    [
        ({"configMap": {"name": "c", "defaultMode": 0o1000}}, "configMap.defaultMode"),
        ({"secret": {"secretName": "c", "defaultMode": -1}}, "secret.defaultMode"),
        ({"configMap": {"name": "c", "items": [{"key": "a", "path": "b", "mode": 4096}]}}, "configMap.items[0].mode"),
        (
            {"projected": {"sources": [{"secret": {"name": "c", "items": [{"key": "a", "path": "b", "mode": 999}]}}]}},
            "projected.sources[0].secret.items[0].mode",
        ),
    ],
)
def test_the_modes_of_files(local: LocalCluster, volume: dict[str, Any], field: str) -> None:
    body = pod("modes")
    body["spec"]["volumes"] = [{"name": "v", **volume}]
    found = ask(local, "POST", PODS, body)
    assert found.status == 422, found.body
    (cause,) = found.json()["details"]["causes"]
    assert cause["field"] == f"spec.volumes[0].{field}" and "between 0 and 0777 (octal)" in cause["message"]


def test_mount_paths_of_one_line(local: LocalCluster) -> None:
    body = pod("lines")
    body["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    body["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/tmp/a\nb", "subPath": "\x7f"}]
    causes = ask(local, "POST", PODS, body).json()["details"]["causes"]
    start = "spec.containers[0].volumeMounts[0]"
    assert [cause["field"] for cause in causes] == [f"{start}.mountPath", f"{start}.subPath"]


def test_revision_zero_is_any(local: LocalCluster) -> None:
    for path, body, code in ((CONFIGMAPS, {"data": {"a": "b"}}, 200), (LEASES, {"spec": {"holderIdentity": "b"}}, 422)):
        zero = {"metadata": {"name": "zero", "resourceVersion": "0"}}
        assert ask(local, "POST", path, zero).status == 201
        assert ask(local, "PUT", f"{path}/zero", {**zero, **body}).status == code


def test_a_dry_run_tells_no_revision_that_is_not_there(local: LocalCluster) -> None:
    made = ask(local, "POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "dry"}}).json()["metadata"]
    assert "resourceVersion" not in made and made["uid"]
    old = ask(local, "POST", CONFIGMAPS, {"metadata": {"name": "dry"}}).json()["metadata"]["resourceVersion"]
    changed = ask(local, "PATCH", f"{CONFIGMAPS}/dry?dryRun=All", {"data": {"a": "b"}}, MERGE).json()
    assert (changed["data"], changed["metadata"]["resourceVersion"]) == ({"a": "b"}, old)
    gone = ask(local, "DELETE", f"{CONFIGMAPS}?dryRun=All&fieldSelector=metadata.name=dry").json()["items"]
    assert [item["metadata"]["resourceVersion"] for item in gone] == [old]
