"""ServiceAccounts' tokens: whose they are, and when they are void."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.inprocess import LocalCluster
from coordui.onebox.cluster.manifests import apply_manifests
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, PODS, RunningCluster, running_cluster, until
from tests.onebox.cluster.looking import ended_pod, make_pod, reasons, sh
from tests.onebox.cluster.test_rbac import ACCOUNTS, as_user, rule, somebody, token_of, who
from tests.world import REPOSITORY

ME = "system:serviceaccount:default:{}"


def test_tokens_end_with_time_account_and_binding(cluster: RunningCluster) -> None:
    client = somebody(cluster)
    name = who(client).rpartition(":")[2]
    assert cluster.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": 60}}).code == 422
    cluster.call("POST", CONFIGMAPS.replace("configmaps", "secrets"), {"metadata": {"name": name}}).ok()
    bound = as_user(cluster, token_of(cluster, name, boundObjectRef={"kind": "Secret", "name": name}))
    assert who(bound) == ME.format(name)
    cluster.call("DELETE", f"{CORE}/secrets/{name}").ok()
    assert bound.call("GET", "/api").code == 401
    elsewhere = as_user(cluster, token_of(cluster, name, audiences=["vault"]))
    assert elsewhere.call("GET", "/api").code == 401
    cluster.faults.clock.offset = 3500
    try:
        assert client.call("GET", "/api").code == 200
        cluster.faults.clock.offset = 3600
        assert client.call("GET", "/api").code == 401
    finally:
        cluster.faults.clear()
    cluster.call("DELETE", f"{ACCOUNTS}/{name}").ok()
    cluster.call("POST", ACCOUNTS, {"metadata": {"name": name}}).ok()
    assert client.call("GET", "/api").code == 401, "the account of that name is another one"


def test_a_secret_holds_a_token_until_it_goes(cluster: RunningCluster) -> None:
    client = somebody(cluster)
    name = who(client).rpartition(":")[2]
    secret = {
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": name}},
        "type": "kubernetes.io/service-account-token",
    }
    nobodys = secret | {"metadata": {"name": name}}
    assert cluster.call("POST", f"{CORE}/secrets", nobodys).code == 422
    cluster.call("POST", f"{CORE}/secrets", secret).ok()
    held = cluster.call("GET", f"{CORE}/secrets/{name}").ok()["data"]
    assert base64.b64decode(held["ca.crt"]).decode() == cluster.ca.read_text()
    by_secret = as_user(cluster, base64.b64decode(held["token"]).decode())
    assert who(by_secret) == ME.format(name)
    cluster.call("DELETE", f"{CORE}/secrets/{name}").ok()
    assert by_secret.call("GET", "/api").code == 401
    cluster.call("POST", f"{CORE}/secrets", secret).ok()
    cluster.call("DELETE", f"{ACCOUNTS}/{name}").ok()
    assert cluster.call("GET", f"{CORE}/secrets/{name}").code == 404


def test_a_forged_token_is_nobody(cluster: RunningCluster) -> None:
    client = somebody(cluster)
    head, claims, signature = client.token.split(".")
    other = token_of(cluster, "default").split(".")
    for token in (
        f"{head}.{claims}.",
        f"{head}.{other[1]}.{signature}",
        f"{head}.{claims}",
        "a.b.c",
        f".{signature}",
        "é",
    ):
        with_token = cluster.call("GET", "/api", Authorization=f"Bearer {token}".encode().decode("latin-1"))
        assert with_token.code == 401


def test_a_token_outlives_a_restart(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        token = token_of(cluster, "default")
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        assert who(as_user(cluster, token)) == ME.format("default")


# -- of Pods


def test_a_pod_is_its_own_account_for_as_long_as_it_is_there(cluster: RunningCluster, tmp_path: Path) -> None:
    """With what that account may do and nothing more."""
    name = who(somebody(cluster, rule("", "configmaps", "list"))).rpartition(":")[2]
    script = f"cp -r $COORDUI_SERVICEACCOUNT {tmp_path}/found; touch {tmp_path}/copied; exec sleep 64.4"
    for pod, account in (("plain", "default"), ("named", name)):
        make_pod(cluster, pod, sh(script), serviceAccountName=account)
        until((tmp_path / "copied").exists)
        found = {file.name: file.read_text() for file in (tmp_path / "found").iterdir()}
        assert (found["namespace"], found["ca.crt"]) == ("default", cluster.ca.read_text())
        client = as_user(cluster, found["token"])
        assert who(client) == ME.format(account)
        assert client.call("GET", CONFIGMAPS).code == (200 if account == name else 403)
        assert client.call("GET", f"{CORE}/secrets").code == 403
        cluster.call("DELETE", f"{PODS}/{pod}?gracePeriodSeconds=0").ok()
        until(lambda client=client: client.call("GET", "/api").code == 401)  # type: ignore[misc]
        shutil.rmtree(tmp_path / "found")
        (tmp_path / "copied").unlink()


def test_who_needs_no_token_gets_none(cluster: RunningCluster) -> None:
    """By the Pod's word or, where it says nothing, by its account's."""
    cluster.call("POST", ACCOUNTS, {"metadata": {"name": "tokenless"}, "automountServiceAccountToken": False}).ok()
    own: dict[str, Any] = {"serviceAccountName": "tokenless"}
    for pod, spec, gets in (
        ("without", {"automountServiceAccountToken": False}, False),
        ("by-account", own, False),
        ("after-all", own | {"automountServiceAccountToken": True}, True),
    ):
        make_pod(cluster, pod, sh('test -n "$COORDUI_SERVICEACCOUNT"'), **spec)
        assert (ended_pod(cluster, pod)["status"]["phase"] == "Succeeded") == gets, pod


def test_no_pod_is_made_for_an_account_that_is_not_there(cluster: RunningCluster) -> None:
    """A Job says so, and goes on when the account has come."""
    job = cluster.job("later", "true", pod={"serviceAccountName": "coming"})
    until(lambda: "FailedCreate" in reasons(cluster, job))
    pod = {"serviceAccountName": "coming", "containers": [{"name": "c", "image": "none"}]}
    refused = cluster.call("POST", PODS, {"metadata": {"name": "now"}, "spec": pod})
    assert refused.code == 403 and refused.body["message"] == (
        'pods "now" is forbidden: error looking up service account default/coming: serviceaccount "coming" not found'
    )
    cluster.call("POST", ACCOUNTS, {"metadata": {"name": "coming"}}).ok()
    cluster.job_condition("later", "Complete")


# -- what is there from the start


def test_manifests_are_applied_at_every_start(tmp_path: Path) -> None:
    """The engine's own among them: what its Pods need, in the namespace of the searches, which is made."""
    manifest = REPOSITORY / "deploy/engine/rbac.yaml"
    place = "/api/v1/namespaces/searches"
    jobs = "/apis/batch/v1/namespaces/searches/jobs"
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/searches/roles"
    for _ in range(2):
        with running_cluster(tmp_path, run_jobs=False, manifests=(manifest,), namespace="searches") as cluster:
            (role,) = cluster.call("GET", roles).ok()["items"]
            assert role["metadata"]["name"] == "coordui-engine"
            client = as_user(cluster, token_of(cluster, "coordui-engine", f"{place}/serviceaccounts"))
            assert client.call("GET", jobs).code == client.call("GET", f"{place}/pods").code == 200
            assert client.call("DELETE", f"{jobs}/none").code == client.call("GET", f"{jobs}/none").code == 404
            assert client.call("GET", f"{place}/secrets").code == client.call("GET", CONFIGMAPS).code == 403
            other = as_user(cluster, token_of(cluster, "default", f"{place}/serviceaccounts"))
            assert other.call("GET", jobs).code == 403
            cluster.call("DELETE", f"{roles}/coordui-engine").ok()


@pytest.mark.parametrize("text", ["kind: Role", "- a", "{", "apiVersion: v1\nkind: Robot\nmetadata: {name: x}"])
def test_a_manifest_that_cannot_be_applied_is_told(tmp_path: Path, text: str) -> None:
    manifest = tmp_path / "wrong.yaml"
    manifest.write_text(text)
    with pytest.raises(ValueError, match=r"wrong\.yaml cannot be applied"):
        apply_manifests(LocalCluster().core.registry, [manifest], "default")
