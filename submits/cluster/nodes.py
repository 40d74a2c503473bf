"""How much memory the largest node has for Pods: what asks for more than that can never run."""

from __future__ import annotations

from typing import Any

from kubernetes.utils.quantity import parse_quantity

from submits.cluster.errors import status_of
from submits.cluster.verbs import ApiCluster

NODES = "/api/v1/nodes"
PAGE, PAGES = 500, 20  # nodes in an answer, and answers: the largest cluster that there may be has 5,000


def largest(cluster: ApiCluster) -> int | None:
    """In MiB, of the nodes that take Pods; None where we may not see the nodes, which are no namespace's, or there are
    none at this moment. Raises Unanswered."""
    nodes: list[dict[str, Any]] = []
    query = {"limit": str(PAGE)}
    for _ in range(PAGES):
        response = cluster.transport.request("GET", NODES, query, None, "application/json")
        if response.status >= 400:
            return None
        told = status_of(response.body)
        items = told.get("items")
        nodes += [node for node in items if isinstance(node, dict)] if isinstance(items, list) else []
        if not (more := (told.get("metadata") or {}).get("continue")):
            break
        query["continue"] = str(more)
    taking = [node for node in nodes if not (node.get("spec") or {}).get("unschedulable")]
    amounts = [((node.get("status") or {}).get("allocatable") or {}).get("memory") for node in taking]
    try:
        return max((int(parse_quantity(amount) // 2**20) for amount in amounts if amount), default=None)  # type: ignore[no-untyped-call]
    except ValueError:
        return None
