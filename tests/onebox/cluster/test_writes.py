"""Creating, replacing, patching: compare-and-swap, and errors with the real server's words."""

from __future__ import annotations

import concurrent.futures
from collections import Counter
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.onebox.cluster.fixtures import APPLY, CONFIGMAPS, JSON_PATCH, LEASES, MERGE, STRATEGIC, RunningCluster

ME = "11111111-2222"


def lease(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"holderIdentity": ME, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def made(cluster: RunningCluster, name: str) -> Any:
    return cluster.call("POST", LEASES, lease(name)).ok()


def failure(cluster: RunningCluster, code: int, reason: str, *request: Any) -> Any:
    reply = cluster.call(*request)
    assert (reply.code, reply.body["reason"]) == (code, reason), reply.body
    assert (reply.body["kind"], reply.body["status"], reply.body["code"]) == ("Status", "Failure", code)
    return reply.body


def test_create_gives_identity_and_revision(cluster: RunningCluster) -> None:
    reply = cluster.call("POST", LEASES, lease("c1", uid="mine", generation=7, resourceVersion=""))
    meta = reply.ok()["metadata"]
    assert reply.code == 201
    assert (reply.body["kind"], reply.body["apiVersion"]) == ("Lease", "coordination.k8s.io/v1")
    assert meta["uid"] != "mine" and meta["namespace"] == cluster.namespace and int(meta["resourceVersion"]) > 0
    assert "generation" not in meta
    assert cluster.call("GET", f"{LEASES}/c1").body == reply.body


def test_create_twice(cluster: RunningCluster) -> None:
    made(cluster, "twice")
    found = failure(cluster, 409, "AlreadyExists", "POST", LEASES, lease("twice"))
    assert found["message"] == 'leases.coordination.k8s.io "twice" already exists'
    assert found["details"] == {"name": "twice", "group": "coordination.k8s.io", "kind": "leases"}


def test_refused_creations(cluster: RunningCluster) -> None:
    found = failure(cluster, 422, "Invalid", "POST", LEASES, lease("Bad_Name!"))
    assert found["message"].startswith('Lease.coordination.k8s.io "Bad_Name!" is invalid: metadata.name: Invalid value')
    assert found["details"]["causes"][0]["field"] == "metadata.name"
    failure(cluster, 400, "BadRequest", "POST", LEASES, lease("x", namespace="other"))
    failure(cluster, 400, "BadRequest", "POST", LEASES, lease("x", resourceVersion="5"))
    failure(cluster, 422, "Invalid", "POST", LEASES, {"metadata": {}})
    failure(cluster, 400, "BadRequest", "POST", LEASES, {"kind": "Job", "metadata": {"name": "x"}})
    failure(cluster, 400, "BadRequest", "POST", LEASES, ["no object"])
    failure(cluster, 405, "MethodNotAllowed", "POST", f"{LEASES}/x", {})
    missing = failure(cluster, 404, "NotFound", "POST", LEASES.replace("default", "nowhere"), lease("x"))
    assert missing["details"]["kind"] == "namespaces"


def test_generate_name(cluster: RunningCluster) -> None:
    body = lease("x") | {"metadata": {"generateName": "gen-"}}
    names = {cluster.call("POST", LEASES, body).ok()["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2 and all(len(name) == 9 and name.startswith("gen-") for name in names)


def test_dry_run_keeps_nothing(cluster: RunningCluster) -> None:
    old = made(cluster, "dry")
    cluster.call("POST", f"{LEASES}?dryRun=All", lease("dry-2")).ok()
    change = {"spec": {"holderIdentity": "other"}}
    assert cluster.call("PATCH", f"{LEASES}/dry?dryRun=All", change, MERGE).ok()["spec"]["holderIdentity"] == "other"
    cluster.call("DELETE", f"{LEASES}/dry?dryRun=All").ok()
    assert cluster.call("GET", f"{LEASES}/dry").ok() == old
    assert cluster.call("PUT", f"{LEASES}/dry?dryRun=All", old | change).ok()["spec"] == change["spec"]
    cluster.call("PUT", f"{LEASES}/dry-2?dryRun=All", lease("dry-2")).ok()
    applied = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "dry-2"}}
    cluster.call("PATCH", f"{LEASES}/dry-2?dryRun=All&fieldManager=me", applied, APPLY).ok()
    assert cluster.call("GET", f"{LEASES}/dry").ok() == old
    assert cluster.call("GET", f"{LEASES}/dry-2").code == 404
    for option in ("dryRun=Some", "fieldValidation=Sometimes"):
        found = failure(cluster, 422, "Invalid", "POST", f"{LEASES}?{option}", lease("dry-2"))
        assert found["message"].startswith('CreateOptions.meta.k8s.io "" is invalid: ')


def test_put_is_compare_and_swap(cluster: RunningCluster) -> None:
    old = made(cluster, "cas")
    old["spec"]["holderIdentity"] = "a"
    new = cluster.call("PUT", f"{LEASES}/cas", old).ok()
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    found = failure(cluster, 409, "Conflict", "PUT", f"{LEASES}/cas", old | {"spec": {"holderIdentity": "b"}})
    assert found["message"] == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "cas": the object has been modified; please '
        "apply your changes to the latest version and try again"
    )


def test_put_of_the_same_keeps_the_revision(cluster: RunningCluster) -> None:
    old = made(cluster, "noop")
    assert cluster.call("PUT", f"{LEASES}/noop", old).ok() == old
    assert cluster.call("PATCH", f"{LEASES}/noop", {"spec": {"holderIdentity": ME}}, MERGE).ok() == old


def test_put_of_a_lease_needs_a_revision(cluster: RunningCluster) -> None:
    made(cluster, "norv")
    failure(cluster, 422, "Invalid", "PUT", f"{LEASES}/norv", lease("norv"))
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "norv"}}).ok()
    body = {"metadata": {"name": "norv"}, "data": {"a": "1"}}
    assert cluster.call("PUT", f"{CONFIGMAPS}/norv", body).ok()["data"] == {"a": "1"}


def test_put_of_a_missing_lease_creates_it_unless_it_has_a_uid(cluster: RunningCluster) -> None:
    reply = cluster.call("PUT", f"{LEASES}/up", lease("up", resourceVersion="7"))
    assert reply.code == 201
    cluster.call("DELETE", f"{LEASES}/up").ok()
    failure(cluster, 409, "Conflict", "PUT", f"{LEASES}/up", reply.body)
    cluster.call("POST", LEASES, lease("up")).ok()
    failure(cluster, 409, "Conflict", "PUT", f"{LEASES}/up", reply.body)
    failure(cluster, 404, "NotFound", "PUT", f"{CONFIGMAPS}/nope", {"metadata": {"name": "nope"}})
    failure(cluster, 400, "BadRequest", "PUT", f"{LEASES}/up", lease("other"))


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
def test_a_revision_inside_a_patch_is_compare_and_swap(cluster: RunningCluster, kind: str) -> None:
    name = "rv-merge" if kind == MERGE else "rv-strategic"
    old = made(cluster, name)
    patch = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "spec": {"holderIdentity": "a"}}
    assert cluster.call("PATCH", f"{LEASES}/{name}", patch, kind).ok()["spec"]["leaseDurationSeconds"] == 15
    patch["spec"] = {"holderIdentity": "b"}
    failure(cluster, 409, "Conflict", "PATCH", f"{LEASES}/{name}", patch, kind)
    assert cluster.call("GET", f"{LEASES}/{name}").ok()["spec"]["holderIdentity"] == "a"


def test_json_patch_of_a_holder(cluster: RunningCluster) -> None:
    made(cluster, "jp")
    cluster.call("PATCH", f"{LEASES}/jp", {"metadata": {"annotations": {"keep": "me"}}}, MERGE).ok()
    test = {"op": "test", "path": "/spec/holderIdentity", "value": ME}
    beat = {"op": "replace", "path": "/spec/renewTime", "value": "2026-01-01T00:00:10.000000Z"}
    for _ in range(2):
        new = cluster.call("PATCH", f"{LEASES}/jp", [test, beat], JSON_PATCH).ok()
    assert new["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"
    assert new["metadata"]["annotations"] == {"keep": "me"}
    release = {"op": "replace", "path": "/spec/holderIdentity", "value": ""}
    assert cluster.call("PATCH", f"{LEASES}/jp", [test, release], JSON_PATCH).ok()["spec"]["holderIdentity"] == ""
    failure(cluster, 422, "Invalid", "PATCH", f"{LEASES}/jp", [test, beat], JSON_PATCH)
    failure(cluster, 404, "NotFound", "PATCH", f"{LEASES}/jp-gone", [test, beat], JSON_PATCH)


def test_json_patch_is_as_lenient_as_the_real_one(cluster: RunningCluster) -> None:
    cluster.call("POST", LEASES, {"metadata": {"name": "lenient"}}).ok()
    accepted: list[dict[str, Any]] = [
        {"op": "test", "path": "/spec/holderIdentity", "value": None},
        {"op": "replace", "path": "/spec/holderIdentity", "value": "x"},
    ]
    for operation in accepted:
        cluster.call("PATCH", f"{LEASES}/lenient", [operation], JSON_PATCH).ok()
    refused: list[dict[str, Any]] = [
        {"op": "remove", "path": "/spec/renewTime"},
        {"op": "add", "path": "/nowhere/at/all", "value": 1},
        {"op": "replace", "path": "/nowhere/at/all", "value": 1},
    ]
    for operation in refused:
        failure(cluster, 422, "Invalid", "PATCH", f"{LEASES}/lenient", [operation], JSON_PATCH)


def test_unknown_patch_type(cluster: RunningCluster) -> None:
    failure(cluster, 415, "UnsupportedMediaType", "PATCH", f"{LEASES}/x", {}, "text/x-what")


def test_apply_creates_then_drops_what_is_no_longer_applied(cluster: RunningCluster) -> None:
    url = f"{CONFIGMAPS}/ssa?fieldManager=me&force=true"
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "ssa"}, "data": {"a": "1", "b": "1"}}
    assert cluster.call("PATCH", url, body, APPLY).code == 201
    cluster.call("PATCH", f"{CONFIGMAPS}/ssa", {"data": {"c": "3"}}, MERGE).ok()
    body["data"] = {"a": "2"}
    assert cluster.call("PATCH", url, body, APPLY).ok()["data"] == {"a": "2", "c": "3"}


@pytest.mark.parametrize(
    "text", ["2001-01-01T00:00:00Z", "2001-01-01T00:00:00.123Z", "2001-01-01T00:00:00.123456", "soon"]
)
def test_micro_time_is_exact(cluster: RunningCluster, text: str) -> None:
    body = {"metadata": {"name": "micro"}, "spec": {"renewTime": text}}
    assert "parsing time" in failure(cluster, 400, "BadRequest", "POST", LEASES, body)["message"]


def test_micro_time_is_told_in_utc(cluster: RunningCluster) -> None:
    body = {"metadata": {"name": "zone"}, "spec": {"renewTime": "2001-01-01T00:00:00.000000+02:00"}}
    assert cluster.call("POST", LEASES, body).ok()["spec"]["renewTime"] == "2000-12-31T22:00:00.000000Z"


def test_values_of_the_wrong_type(cluster: RunningCluster) -> None:
    for spec in ({"leaseDurationSeconds": "15"}, {"holderIdentity": 3}, {"leaseTransitions": True}):
        failure(cluster, 400, "BadRequest", "POST", LEASES, {"metadata": {"name": "typed"}, "spec": spec})
    failure(
        cluster, 422, "Invalid", "POST", LEASES, {"metadata": {"name": "typed"}, "spec": {"leaseDurationSeconds": 0}}
    )
    failure(cluster, 400, "BadRequest", "POST", CONFIGMAPS, {"metadata": {"name": "typed"}, "data": {"a": 1}})
    failure(cluster, 400, "BadRequest", "POST", CONFIGMAPS, {"metadata": {"name": "typed", "labels": {"a": 1}}})


def test_unknown_fields(cluster: RunningCluster) -> None:
    body = lease("unknown")
    body["spec"]["holder"] = "x"
    strict = failure(cluster, 400, "BadRequest", "POST", f"{LEASES}?fieldValidation=Strict", body)
    assert 'unknown field "spec.holder"' in strict["message"]
    reply = cluster.call("POST", LEASES, body)
    assert "holder" not in reply.ok()["spec"]
    assert reply.headers["warning"] == '299 - "unknown field \\"spec.holder\\""'


def test_managed_fields_tell_who_changed_what_and_when(cluster: RunningCluster) -> None:
    def entry(obj: Any, manager: str) -> Any:
        (found,) = [item for item in obj["metadata"]["managedFields"] if item["manager"] == manager]
        return found

    reply = cluster.call("POST", f"{LEASES}?fieldManager=first", lease("managed"))
    first = entry(reply.ok(), "first")
    age = parsedate_to_datetime(reply.headers["date"]) - datetime.fromisoformat(first["time"])
    assert 0 <= age.total_seconds() <= 1
    assert set(first) == {"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"}
    assert set(first["fieldsV1"]["f:spec"]) == {"f:holderIdentity", "f:leaseDurationSeconds", "f:renewTime"}
    cluster.faults.clock.offset = 100
    try:
        change = {"spec": {"renewTime": "2026-01-01T00:00:05.000000Z"}}
        obj = cluster.call("PATCH", f"{LEASES}/managed?fieldManager=second", change, MERGE).ok()
        same = cluster.call("PATCH", f"{LEASES}/managed?fieldManager=third", change, MERGE).ok()
    finally:
        cluster.faults.clear()
    assert obj == same
    assert entry(obj, "first")["time"] == first["time"]
    assert "f:renewTime" not in entry(obj, "first")["fieldsV1"]["f:spec"]
    moved = datetime.fromisoformat(entry(obj, "second")["time"]) - datetime.fromisoformat(first["time"])
    assert 99 <= moved.total_seconds() <= 102
    assert entry(obj, "second")["fieldsV1"] == {"f:spec": {"f:renewTime": {}}}


def test_fifty_threads_one_winner(cluster: RunningCluster) -> None:
    base = made(cluster, "race")

    def go(number: int) -> int:
        body = base | {"spec": {"holderIdentity": f"t{number}"}}
        return cluster.call("PUT", f"{LEASES}/race", body, timeout=30).code

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        assert Counter(pool.map(go, range(50))) == {200: 1, 409: 49}


def test_the_token_is_needed(cluster: RunningCluster) -> None:
    for value in ("", "Bearer wrong", f"Basic {cluster.token}"):
        reply = cluster.call("GET", LEASES, Authorization=value)
        assert (reply.code, reply.body["reason"]) == (401, "Unauthorized")
    assert cluster.call("GET", "/readyz", Authorization="").code == 200


def test_private_files(cluster: RunningCluster) -> None:
    for name in ("kubeconfig", "cluster/token", "cluster/server.pem"):
        assert (cluster.state / name).stat().st_mode & 0o777 == 0o600
    assert (cluster.state / "cluster").stat().st_mode & 0o777 == 0o700
