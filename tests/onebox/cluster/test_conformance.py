"""The conformance tests run against any cluster: here against the embedded one, by its kubeconfig like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.onebox.cluster import test_lists, test_watch
from tests.onebox.cluster.conftest import chosen_cluster
from tests.onebox.cluster.fixtures import RunningCluster
from tests.onebox.cluster.remote import RemoteCluster


def test_it_is_the_same_from_outside(
    embedded_cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a namespace of its own, which goes; and without what only the embedded cluster has."""
    monkeypatch.setenv("TEST_KUBECONFIG", str(embedded_cluster.kubeconfig))
    with chosen_cluster(tmp_path) as cluster:
        assert isinstance(cluster, RemoteCluster) and cluster.namespace.startswith("conformance-")
        test_lists.test_pods_by_phase(cluster)
        test_watch.test_one_object(cluster)
        with pytest.raises(pytest.skip.Exception, match="needs what only the embedded cluster has"):
            test_watch.test_after_a_compaction_a_watch_is_told_so(cluster)
    found = embedded_cluster.call("GET", "/api/v1/namespaces").ok()["items"]
    assert not [item for item in found if item["metadata"]["name"] == cluster.namespace]
