from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.onebox.cluster.fixtures import RunningCluster, embedded_cluster, running_cluster

__all__ = ["embedded_cluster"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    """One for a whole file: its tests use names of their own. Failed Pods are tried again at once."""
    state: Path = tmp_path_factory.mktemp("cluster")
    with running_cluster(state, first_retry=0.01) as running:
        yield running
