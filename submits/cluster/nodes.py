"""How much memory the largest node has for Pods: what asks for more than that can never run."""

from __future__ import annotations

from kubernetes.utils.quantity import parse_quantity

from submits.cluster.errors import status_of
from submits.cluster.verbs import ApiCluster

NODES = "/api/v1/nodes"


def largest(cluster: ApiCluster) -> int | None:
    """In MiB, of the nodes that take Pods; None where we may not see the nodes, which are no namespace's, or there are
    none at this moment. Raises Unanswered."""
    response = cluster.transport.request("GET", NODES, {}, None, "application/json")
    if response.status >= 400:
        return None
    items = status_of(response.body).get("items")
    nodes = [node for node in items if isinstance(node, dict)] if isinstance(items, list) else []
    taking = [node for node in nodes if not (node.get("spec") or {}).get("unschedulable")]
    told = [((node.get("status") or {}).get("allocatable") or {}).get("memory") for node in taking]
    try:
        return max((int(parse_quantity(amount) // 2**20) for amount in told if amount), default=None)  # type: ignore[no-untyped-call]
    except ValueError:
        return None
