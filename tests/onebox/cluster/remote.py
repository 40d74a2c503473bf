"""Any cluster in the place of the embedded one: `TEST_KUBECONFIG=FILE` runs the conformance tests against it.

Each file gets a fresh namespace, which is removed at its end. A test that asks for what only the embedded cluster has
(faults, its state, its server) is skipped.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import NoReturn

import pytest
from kubernetes.config import load_kube_config

from coordui.onebox.cluster.core import Core
from tests.onebox.cluster.fixtures import CONFIGMAPS, JOBS, LEASES, MERGE, PODS, Cluster, T, until

NAMESPACES = "/api/v1/namespaces"


@dataclass
class RemoteCluster(Cluster):
    own_namespace: str
    certificate: tuple[str, str] | None

    @property
    def namespace(self) -> str:
        return self.own_namespace

    @property
    def image(self) -> str:
        return os.environ.get("TEST_IMAGE", "busybox")

    def context(self) -> ssl.SSLContext:
        context = super().context()
        if self.certificate is not None:
            context.load_cert_chain(*self.certificate)
        return context

    def _only_embedded(self) -> NoReturn:
        pytest.skip("needs what only the embedded cluster has")

    faults = state = property(_only_embedded)

    def inside(self, work: Callable[[Core], T]) -> T:
        self._only_embedded()


@contextmanager
def remote_cluster(kubeconfig: Path) -> Iterator[RemoteCluster]:
    from kubernetes.client import Configuration

    found = Configuration()
    load_kube_config(str(kubeconfig), client_configuration=found)  # type: ignore[no-untyped-call]
    token = found.get_api_key_with_prefix("BearerToken") or ""
    certificate = (found.cert_file, found.key_file) if found.cert_file and found.key_file else None
    name = f"conformance-{token_hex(4)}"
    cluster = RemoteCluster(found.host, token.split(" ")[-1], Path(found.ssl_ca_cert or ""), name, certificate)
    cluster.call("POST", NAMESPACES, {"metadata": {"name": cluster.namespace}}).ok()
    try:
        until(lambda: cluster.call("GET", "/api/v1/namespaces/default/serviceaccounts/default").code == 200)
        yield cluster
    finally:
        cluster.call("DELETE", f"{NAMESPACES}/{cluster.namespace}")
        until(lambda: _gone(cluster), 60)


def _gone(cluster: RemoteCluster) -> bool:
    """Finalizers that a test has left on its objects would hold the namespace for ever."""
    for path in (CONFIGMAPS, LEASES, JOBS, PODS):
        for item in cluster.call("GET", path).ok()["items"]:
            if item["metadata"].get("finalizers"):
                cluster.call("PATCH", f"{path}/{item['metadata']['name']}", {"metadata": {"finalizers": None}}, MERGE)
    return cluster.call("GET", f"{NAMESPACES}/{cluster.namespace}").code == 404
