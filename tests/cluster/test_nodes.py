"""How large the largest node is, and who may know."""

from __future__ import annotations

from pathlib import Path

from coordui.onebox.cluster.runner.node import Size
from submits.cluster import Connection, connect, nodes
from tests.gates.wire import wired
from tests.onebox.cluster.fixtures import running_cluster


def test_the_largest_node_is_told_and_one_that_takes_no_pods_is_none(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "state", size=Size(memory="3000Mi")) as server:
        api = connect(Connection(str(server.kubeconfig), "default"))
        assert nodes.largest(api) == 3000
        cordon = {"spec": {"unschedulable": True}}
        server.call("PATCH", "/api/v1/nodes/onebox", cordon, "application/merge-patch+json").ok()
        assert nodes.largest(api) is None
        refused, wire = wired(server)
        wire.refuse("nodes$", 'User "coordui" cannot list resource "nodes"')
        assert nodes.largest(refused) is None
