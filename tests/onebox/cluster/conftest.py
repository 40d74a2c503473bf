from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.onebox.cluster.fixtures import Cluster, embedded_cluster, running_cluster

__all__ = ["embedded_cluster"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for a whole file: its tests use names of their own."""
    with chosen_cluster(tmp_path_factory.mktemp("cluster")) as chosen:
        yield chosen


@contextmanager
def chosen_cluster(state: Path) -> Iterator[Cluster]:
    """The embedded one, where failed Pods are tried again at once; with TEST_KUBECONFIG a namespace of that cluster."""
    if kubeconfig := os.environ.get("TEST_KUBECONFIG"):
        from tests.onebox.cluster.remote import remote_cluster

        with remote_cluster(Path(kubeconfig)) as remote:
            yield remote
        return
    with running_cluster(state, first_retry=0.01) as running:
        yield running
