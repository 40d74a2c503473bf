"""The gates' own cluster, namespace and credential as a kubeconfig of one context, for the submit that runs under them.

Whatever the environment or a user's configuration would choose, the submit writes where the gates have counted.
"""

from __future__ import annotations

import json
import os
from typing import Any

from submits.cluster.connection import SERVICE_HOST, Connection, NotConfigured, service_account

FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def pinned_kubeconfig(connection: Connection) -> str:
    """Kubeconfig text (JSON, which is YAML) with one cluster, user and context. Raises NotConfigured."""
    if connection.kubeconfig is None:
        cluster, user = from_service_account()
    else:
        cluster, user = chosen(connection.kubeconfig, connection.context)
    context = {"cluster": "pinned", "user": "pinned", "namespace": connection.namespace}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "pinned", "cluster": cluster}],
            "users": [{"name": "pinned", "user": user}],
            "contexts": [{"name": "pinned", "context": context}],
            "current-context": "pinned",
        },
        indent=1,
    )


def from_service_account() -> tuple[dict[str, Any], dict[str, Any]]:
    account, host = service_account(), os.environ.get(SERVICE_HOST, "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise NotConfigured(f"{SERVICE_HOST} is not set: this process is not in a Pod")
    host = f"[{host}]" if ":" in host else host
    cluster = {"server": f"https://{host}:{port}", "certificate-authority": str(account / "ca.crt")}
    return cluster, {"tokenFile": str(account / "token")}


def chosen(kubeconfig: str, context: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cluster and user that the client itself would take from these files, with their paths made absolute."""
    from kubernetes.config.kube_config import KubeConfigMerger

    try:
        merged = KubeConfigMerger(kubeconfig).config.value  # type: ignore[no-untyped-call]
        wanted = context or merged["current-context"]
        names = entry(merged["contexts"], wanted, "context")
        return entry(merged["clusters"], names["cluster"], "cluster"), entry(merged["users"], names["user"], "user")
    except Exception as error:  # a file in any shape: whatever the client's reader raises, it cannot be used
        raise NotConfigured(f"{kubeconfig}: {type(error).__name__}: {error}") from error


def entry(nodes: list[Any], name: str, kind: str) -> dict[str, Any]:
    node = next(node for node in nodes if node.value["name"] == name)
    found = dict(node.value[kind])
    beside = os.path.dirname(os.path.abspath(node.path))
    for key in FILES:
        if found.get(key):
            found[key] = os.path.join(beside, os.path.expanduser(found[key]))
    command = (found.get("exec") or {}).get("command", "")
    if os.sep in command:
        found["exec"] = {**found["exec"], "command": os.path.join(beside, command)}
    return found
