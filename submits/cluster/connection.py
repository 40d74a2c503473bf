"""Where the cluster is and who we are there: a kubeconfig, or what a Pod finds on its node."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from submits.gates.ports import ClusterError

if TYPE_CHECKING:
    from kubernetes.client import Configuration

SERVICE_HOST = "KUBERNETES_SERVICE_HOST"

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class NotConfigured(ClusterError):
    """There is no usable description of the cluster where it was looked for."""


@dataclass(frozen=True)
class Connection:
    """A scope's address. Without a kubeconfig: the Pod's own service account."""

    kubeconfig: str | None
    namespace: str
    context: str | None = None

    def configuration(self) -> Configuration:
        """A fresh client configuration, credentials read anew. Raises NotConfigured.

        The client is imported here: it takes a third of a second, and the web never talks to the cluster.
        """
        from kubernetes.client import Configuration
        from kubernetes.config.incluster_config import InClusterConfigLoader
        from kubernetes.config.kube_config import load_kube_config

        configuration = Configuration()
        # A write is repeated by the gates, who know what its answer means; never underneath them.
        configuration.retries = False
        try:
            if self.kubeconfig:
                load_kube_config(  # type: ignore[no-untyped-call]  # the official client's loaders have no types
                    self.kubeconfig, self.context, configuration, persist_config=False
                )
            else:
                account = service_account()
                loader = InClusterConfigLoader(str(account / "token"), str(account / "ca.crt"))  # type: ignore[no-untyped-call]
                loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        except Exception as error:  # a half-written file: the loaders let YAML's and base64's errors out
            where = self.kubeconfig or "the Pod's service account"
            raise NotConfigured(f"the cluster's address cannot be read from {where}: {error}") from error
        return configuration


def service_account() -> Path:
    """The directory of a Pod's credentials: the usual one, or where `COORDUI_SERVICEACCOUNT` says."""
    return Path(os.environ.get("COORDUI_SERVICEACCOUNT", SERVICE_ACCOUNT))


def from_environment() -> Connection:
    """Inside a Pod its own cluster and namespace; else `KUBECONFIG` and `COORDUI_NAMESPACE`. Raises NotConfigured."""
    if os.environ.get(SERVICE_HOST):
        try:
            namespace = (service_account() / "namespace").read_text().strip()
        except OSError as error:
            raise NotConfigured(f"the Pod's namespace cannot be read: {error}") from error
        return Connection(kubeconfig=None, namespace=namespace)
    kubeconfig = os.environ.get("KUBECONFIG")
    if not kubeconfig:
        raise NotConfigured("neither in a Pod nor is KUBECONFIG set: there is no cluster to talk to")
    return Connection(kubeconfig=kubeconfig, namespace=os.environ.get("COORDUI_NAMESPACE", "default"))
