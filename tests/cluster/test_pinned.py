"""The submit's kubeconfig: the gates' own cluster and credential, whatever the user's file would choose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from submits.cluster import Connection, connect, pinned_kubeconfig
from submits.cluster.connection import NotConfigured
from tests.onebox.cluster.fixtures import running_cluster

TWO = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "prod",
    "clusters": [
        {"name": "prod", "cluster": {"server": "https://prod:1"}},
        {"name": "lab", "cluster": {"server": "https://lab:2", "certificate-authority": "pki/ca.crt"}},
    ],
    "users": [
        {"name": "prod", "user": {"token": "p"}},
        {"name": "lab", "user": {"tokenFile": "/abs/token", "exec": {"command": "./login"}}},
    ],
    "contexts": [
        {"name": "prod", "context": {"cluster": "prod", "user": "prod", "namespace": "x"}},
        {"name": "lab", "context": {"cluster": "lab", "user": "lab"}},
    ],
}


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(TWO))
    return str(path)


def test_the_chosen_context_is_the_only_one(two: str, tmp_path: Path) -> None:
    pinned = json.loads(pinned_kubeconfig(Connection(two, "blast", "lab")))
    assert [c["cluster"]["server"] for c in pinned["clusters"]] == ["https://lab:2"]
    assert pinned["clusters"][0]["cluster"]["certificate-authority"] == f"{tmp_path}/pki/ca.crt"
    assert pinned["users"][0]["user"]["tokenFile"] == "/abs/token"
    assert pinned["users"][0]["user"]["exec"]["command"] == f"{tmp_path}/./login"
    assert pinned["contexts"][0]["context"]["namespace"] == "blast"
    assert "prod" not in json.dumps(pinned)


def test_without_a_context_the_files_own_is_pinned(two: str) -> None:
    assert "https://prod:1" in pinned_kubeconfig(Connection(two, "blast"))


@pytest.mark.parametrize("text", ["", "}{", "kind: Config", "[]"])
def test_a_file_in_no_usable_shape_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(NotConfigured, match=str(path)):
        pinned_kubeconfig(Connection(str(path), "blast"))
    with pytest.raises(NotConfigured, match=str(path)):
        connect(Connection(str(path), "blast"))


def test_it_works_for_the_client(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "c") as server:
        path = tmp_path / "pinned"
        path.write_text(pinned_kubeconfig(Connection(str(server.kubeconfig), "default")))
        assert connect(Connection(str(path), "default")).list("leases").items == ()


def test_in_a_pod_it_names_the_service_accounts_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    monkeypatch.setenv("COORDUI_SERVICEACCOUNT", str(tmp_path))
    pinned = json.loads(pinned_kubeconfig(Connection(None, "blast")))
    assert pinned["clusters"][0]["cluster"]["server"] == "https://[fd00::1]:6443"
    assert pinned["users"][0]["user"] == {"tokenFile": f"{tmp_path}/token"}
