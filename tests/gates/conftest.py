from __future__ import annotations

import pytest

from submits.cluster import Connection, connect
from tests.gates.trying import body
from tests.onebox.cluster.fixtures import RunningCluster


@pytest.fixture(scope="module")
def server(server: RunningCluster) -> RunningCluster:
    """It has made a Job before: the first one loads the schema, for longer than a scaled heartbeat."""
    warm = connect(Connection(str(server.kubeconfig), "default"))
    warm.create("jobs", body("none", None, "the-first"))
    warm.delete("jobs", "the-first")
    return server
