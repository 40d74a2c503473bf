"""The conformance tests run against any cluster: here against one that was started on its own, by its kubeconfig."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.onebox.cluster.remote import remote_cluster
from tests.world import REPOSITORY

SOME = "test_label_selectors or test_metadata_alone or test_pods_by_phase or test_after_a_compaction"


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of `manage.py cluster`."""
    command = [sys.executable, "manage.py", "cluster", "--state", str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert "cluster ready at https://127.0.0.1:" in process.stdout.readline()
            yield tmp_path / "kubeconfig"
        finally:
            process.terminate()


def test_it_is_the_same_from_outside(kubeconfig: Path) -> None:
    folder = Path(__file__).parent
    files = [str(folder / name) for name in ("test_lists.py", "test_watch.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-k", SOME, *files]
    environment = {**os.environ, "TEST_KUBECONFIG": str(kubeconfig)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 passed, 1 skipped" in done.stdout
    assert "needs what only the embedded cluster has" in done.stdout
    with remote_cluster(kubeconfig) as cluster:
        found = cluster.call("GET", "/api/v1/namespaces").ok()["items"]
        names = [item["metadata"]["name"] for item in found]
        assert [name for name in names if name.startswith("conformance-")] == [cluster.namespace]
