from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from submits.cluster import ApiCluster, Connection, connect
from submits.gates import naming
from submits.gates.ports import NotFound
from tests.onebox.cluster.fixtures import RunningCluster, running_cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def cluster(server: RunningCluster) -> Iterator[ApiCluster]:
    connected = connect(Connection(str(server.kubeconfig), "default"))
    yield connected
    server.faults.clear()
    for job in connected.list("jobs").items:
        connected.delete("jobs", job["metadata"]["name"])
    for lease in connected.list("leases").items:
        connected.delete("leases", lease["metadata"]["name"])
    with contextlib.suppress(NotFound):
        connected.delete("configmaps", naming.CONTROLS)
