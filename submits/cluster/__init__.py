"""The Kubernetes adapter: transport below; verbs, compare-and-swap and error translation above.

The only package of `submits` that imports `kubernetes`, for configuration, credentials and connections.
"""

from __future__ import annotations

from submits.cluster.connection import Connection, from_environment
from submits.cluster.pinned import pinned_kubeconfig
from submits.cluster.verbs import ApiCluster, connect

__all__ = ["ApiCluster", "Connection", "connect", "from_environment", "pinned_kubeconfig"]
