"""Deleting: preconditions, finalizers, propagation, namespaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, LEASES, MERGE, RunningCluster, running_cluster, until


def configmap(cluster: RunningCluster, name: str, **metadata: Any) -> Any:
    return cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name, **metadata}}).ok()


def there(cluster: RunningCluster, url: str) -> bool:
    return cluster.call("GET", url).code == 200


def owned_by(owner: Any, kind: str = "ConfigMap", version: str = "v1") -> list[dict[str, str]]:
    meta = owner["metadata"]
    return [{"apiVersion": version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}]


def test_the_answer(cluster: RunningCluster) -> None:
    uid = configmap(cluster, "gone")["metadata"]["uid"]
    reply = cluster.call("DELETE", f"{CONFIGMAPS}/gone").ok()
    assert (reply["kind"], reply["status"]) == ("Status", "Success")
    assert reply["details"] == {"name": "gone", "kind": "configmaps", "uid": uid}
    assert cluster.call("DELETE", f"{CONFIGMAPS}/gone").code == 404


def test_preconditions(cluster: RunningCluster) -> None:
    meta = configmap(cluster, "pre")["metadata"]
    cluster.call("PATCH", f"{CONFIGMAPS}/pre", {"data": {"a": "1"}}, MERGE).ok()
    for wrong in ({"uid": "other"}, {"resourceVersion": meta["resourceVersion"]}):
        reply = cluster.call("DELETE", f"{CONFIGMAPS}/pre", {"preconditions": wrong})
        assert (reply.code, reply.body["reason"]) == (409, "Conflict")
        assert "in the precondition" in reply.body["message"]
    cluster.call("DELETE", f"{CONFIGMAPS}/pre", {"preconditions": {"uid": meta["uid"]}}).ok()


def test_a_finalizer_holds_it(cluster: RunningCluster) -> None:
    configmap(cluster, "fin", finalizers=["example.com/x"])
    held = cluster.call("DELETE", f"{CONFIGMAPS}/fin").ok()
    assert held["kind"] == "ConfigMap" and held["metadata"]["deletionTimestamp"]
    assert cluster.call("GET", f"{CONFIGMAPS}/fin").ok() == held
    cluster.call("PATCH", f"{CONFIGMAPS}/fin", {"metadata": {"finalizers": None}}, MERGE).ok()
    assert not there(cluster, f"{CONFIGMAPS}/fin")


def test_what_is_being_deleted_gets_no_new_finalizers(cluster: RunningCluster) -> None:
    configmap(cluster, "ending", finalizers=["example.com/x", "example.com/y"])
    cluster.call("DELETE", f"{CONFIGMAPS}/ending").ok()

    def put(*finalizers: str) -> int:
        patch = {"metadata": {"finalizers": list(finalizers) or None}}
        return cluster.call("PATCH", f"{CONFIGMAPS}/ending", patch, MERGE).code

    assert (put("example.com/x", "example.com/z"), put("example.com/x"), put("example.com/y")) == (422, 200, 422)
    assert there(cluster, f"{CONFIGMAPS}/ending") and put() == 200 and not there(cluster, f"{CONFIGMAPS}/ending")


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("dryRun=Some", None),
        ("", {"dryRun": ["Some"]}),
        ("propagationPolicy=Sideways", None),
        ("orphanDependents=true", {"propagationPolicy": "Orphan"}),
    ],
)
def test_options_that_make_no_sense(cluster: RunningCluster, query: str, body: Any) -> None:
    reply = cluster.call("DELETE", f"{CONFIGMAPS}/any?{query}", body)
    assert (reply.code, reply.body["details"]["kind"]) == (422, "DeleteOptions")


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_a_dry_run_deletes_nothing(cluster: RunningCluster, policy: str) -> None:
    name = f"dry-{policy.lower()}"
    owner = configmap(cluster, name)
    dependent = configmap(cluster, f"{name}-dependent", ownerReferences=owned_by(owner))
    for body in ({"dryRun": ["All"], "propagationPolicy": policy}, {"propagationPolicy": policy}):
        query = "" if "dryRun" in body else "?dryRun=All"
        cluster.call("DELETE", f"{CONFIGMAPS}/{name}{query}", body).ok()
        cluster.call(
            "DELETE", f"{CONFIGMAPS}{query}{'&' if query else '?'}fieldSelector=metadata.name%3D{name}", body
        ).ok()
    assert cluster.call("GET", f"{CONFIGMAPS}/{name}").body == owner
    assert cluster.call("GET", f"{CONFIGMAPS}/{name}-dependent").body == dependent


def test_dependents_go_with_their_last_owner(cluster: RunningCluster) -> None:
    one, two = configmap(cluster, "owner1"), configmap(cluster, "owner2")
    configmap(cluster, "dependent", ownerReferences=owned_by(one) + owned_by(two))
    cluster.call("DELETE", f"{CONFIGMAPS}/owner1").ok()

    def owners() -> list[str]:
        meta = cluster.call("GET", f"{CONFIGMAPS}/dependent").ok()["metadata"]
        return [owner["name"] for owner in meta["ownerReferences"]]

    until(lambda: owners() == ["owner2"])
    cluster.call("DELETE", f"{CONFIGMAPS}/owner2").ok()
    until(lambda: not there(cluster, f"{CONFIGMAPS}/dependent"))


def test_a_dependent_of_nobody_goes(cluster: RunningCluster) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "no-such-uid"}}
    configmap(cluster, "late", ownerReferences=owned_by(ghost))
    until(lambda: not there(cluster, f"{CONFIGMAPS}/late"))


def test_an_owner_that_is_named_later_counts_too(cluster: RunningCluster) -> None:
    configmap(cluster, "adopted")
    ghost = {"metadata": {"name": "ghost", "uid": "no-such-uid"}}
    patch = {"metadata": {"ownerReferences": owned_by(ghost)}}
    cluster.call("PATCH", f"{CONFIGMAPS}/adopted", patch, MERGE).ok()
    until(lambda: not there(cluster, f"{CONFIGMAPS}/adopted"))


@pytest.mark.parametrize("wrong", [{"name": "other"}, {"kind": "Secret"}, {"apiVersion": "batch/v1"}])
def test_an_owner_is_what_it_is_called(cluster: RunningCluster, wrong: dict[str, str]) -> None:
    """And not only its uid."""
    (field,) = wrong
    (owner,) = owned_by(configmap(cluster, f"owns-{field.lower()}"))
    name = f"owned-{field.lower()}"
    configmap(cluster, f"{name}-well", ownerReferences=[owner])
    configmap(cluster, name, ownerReferences=[{**owner, **wrong}])
    until(lambda: not there(cluster, f"{CONFIGMAPS}/{name}"))
    assert there(cluster, f"{CONFIGMAPS}/{name}-well")


def test_an_owner_in_another_namespace_is_none(cluster: RunningCluster) -> None:
    owner = configmap(cluster, "far")
    elsewhere = CONFIGMAPS.replace("default", "kube-public")
    cluster.call("POST", elsewhere, {"metadata": {"name": "near", "ownerReferences": owned_by(owner)}}).ok()
    until(lambda: not there(cluster, f"{elsewhere}/near"))


def test_jobs_orphan_by_default(cluster: RunningCluster) -> None:
    job = cluster.job("orphans", "true", parallelism=0)
    configmap(cluster, "orphan", ownerReferences=owned_by(job, "Job", "batch/v1"))
    cluster.call("DELETE", f"{JOBS}/orphans").ok()
    assert "ownerReferences" not in cluster.call("GET", f"{CONFIGMAPS}/orphan").ok()["metadata"]


def test_foreground_waits_for_dependents(cluster: RunningCluster) -> None:
    job = cluster.job("front", "true", parallelism=0)
    (owner,) = owned_by(job, "Job", "batch/v1")
    blocking: Any = {**owner, "blockOwnerDeletion": True}
    configmap(cluster, "behind", ownerReferences=[blocking], finalizers=["example.com/x"])
    configmap(cluster, "beside", ownerReferences=[owner], finalizers=["example.com/x"])
    held = cluster.call("DELETE", f"{JOBS}/front?propagationPolicy=Foreground").ok()
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    until(lambda: "deletionTimestamp" in cluster.call("GET", f"{CONFIGMAPS}/behind").ok()["metadata"])
    assert there(cluster, f"{JOBS}/front")
    cluster.call("PATCH", f"{CONFIGMAPS}/behind", {"metadata": {"finalizers": None}}, MERGE).ok()
    until(lambda: not there(cluster, f"{JOBS}/front"))
    until(lambda: "deletionTimestamp" in cluster.call("GET", f"{CONFIGMAPS}/beside").ok()["metadata"])


def test_foreground_of_what_nothing_depends_on(cluster: RunningCluster) -> None:
    configmap(cluster, "alone")
    held = cluster.call("DELETE", f"{CONFIGMAPS}/alone?propagationPolicy=Foreground").ok()
    assert held["kind"] == "ConfigMap" and held["metadata"]["deletionTimestamp"]
    until(lambda: not there(cluster, f"{CONFIGMAPS}/alone"))


def test_collections(cluster: RunningCluster) -> None:
    for name, label in (("col1", "a"), ("col2", "a"), ("col3", "b")):
        configmap(cluster, name, labels={"col": label})
    cluster.call("DELETE", f"{CONFIGMAPS}?labelSelector=col%3Da").ok()
    left = cluster.call("GET", f"{CONFIGMAPS}?labelSelector=col").ok()["items"]
    assert [item["metadata"]["name"] for item in left] == ["col3"]


def test_a_namespace_goes_with_its_content(cluster: RunningCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "brief"}}).ok()
    leases = LEASES.replace("default", "brief")
    held = {"metadata": {"name": "held", "finalizers": ["example.com/x"]}}
    cluster.call("POST", leases, held).ok()
    found = cluster.call("DELETE", "/api/v1/namespaces/brief").ok()
    assert found["status"]["phase"] == "Terminating"
    reply = cluster.call("POST", leases, {"metadata": {"name": "late"}})
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    cluster.call("PATCH", f"{leases}/held", {"metadata": {"finalizers": None}}, MERGE).ok()
    until(lambda: not there(cluster, "/api/v1/namespaces/brief"))
    assert cluster.call("DELETE", "/api/v1/namespaces/default").code == 403


def test_what_a_crash_left_is_collected_at_the_start(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        owner = configmap(cluster, "owner")
        configmap(cluster, "dependent", ownerReferences=owned_by(owner))
        # As if the server died right after the owner's deletion: nothing hears of it.
        cluster.server.core.store.listeners.clear()
        cluster.call("DELETE", f"{CONFIGMAPS}/owner").ok()
        assert there(cluster, f"{CONFIGMAPS}/dependent")
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        until(lambda: not there(cluster, f"{CONFIGMAPS}/dependent"))
