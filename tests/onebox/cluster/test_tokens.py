"""ServiceAccounts' tokens: whose they are, and when they are void."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, RunningCluster, running_cluster
from tests.onebox.cluster.test_rbac import ACCOUNTS, as_user, somebody, token_of, who

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
