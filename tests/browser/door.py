"""Another party at door A, as an older API service would stand there: by the Lease alone, in the real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from submits.cluster import ApiCluster, Connection, connect
from submits.gates import naming
from submits.gates.objects import micro_time
from submits.gates.ports import AlreadyExists, Conflict, NotFound, Object
from tests.world import until

NAMESPACE = "default"


@contextmanager
def held_by_the_api(state: Path) -> Iterator[str]:
    """Nobody else gets in meanwhile. Yields its holderIdentity."""
    cluster = connect(Connection(str(state / "kubeconfig"), NAMESPACE))
    holder = naming.holder("openapi")
    until(lambda: taken(cluster, holder), 20)
    try:
        yield holder
    finally:
        operations = [
            {"op": "test", "path": "/spec/holderIdentity", "value": holder},
            {"op": "replace", "path": "/spec/holderIdentity", "value": ""},
        ]
        cluster.patch("leases", naming.gate(NAMESPACE), operations)


def taken(cluster: ApiCluster, holder: str) -> bool:
    now = micro_time(datetime.now(UTC))
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 900, "acquireTime": now, "renewTime": now}
    body: Object = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    name = naming.gate(NAMESPACE)
    try:
        found = cluster.get("leases", name).object
        if found["spec"].get("holderIdentity"):
            return False
        kept = {key: found["metadata"][key] for key in ("name", "uid", "resourceVersion")}
        cluster.replace("leases", name, {**body, "metadata": kept})
    except NotFound:
        try:
            cluster.create("leases", {**body, "metadata": {"name": name}})
        except AlreadyExists:
            return False
    except Conflict:
        return False
    return True
