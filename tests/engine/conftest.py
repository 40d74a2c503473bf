from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from submits.work import WorkStore
from tests.blast.conftest import made, profiles
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import RunningCluster, running_cluster
from tests.world import REPOSITORY

__all__ = ["made", "profiles"]


@pytest.fixture
def store(tmp_path: Path) -> WorkStore:
    return WorkStore(str(tmp_path / "work"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    rights = (REPOSITORY / "deploy/engine/rbac.yaml",)
    with running_cluster(tmp_path_factory.mktemp("cluster"), first_retry=0.05, manifests=rights) as running:
        yield running


@pytest.fixture
def stage(cluster: RunningCluster, store: WorkStore, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(cluster, store, tmp_path)
    yield stage
    stage.clear()
