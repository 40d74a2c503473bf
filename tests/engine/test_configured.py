"""From the settings of the product to the Pods of a search, by the file that a submit is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from submits.engine import jobs
from submits.engine.settings import read
from submits.scopes import configured_scope, leashed_submit
from tests.engine.test_jobs import DB, RUN, WORK
from tests.onebox.cluster.fixtures import RunningCluster


def test_image_and_account_reach_every_pod(
    cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setattr(settings, "COORDUI_BLAST_IMAGE", "example.org/coordui:trixie")
    monkeypatch.setattr(settings, "COORDUI_ENGINE_ACCOUNT", "searcher")
    (tmp_path / "submit.ini").write_text(leashed_submit(configured_scope()).configuration)
    chosen = read(tmp_path / "submit.ini")
    bodies = [
        jobs.submit(RUN, 1, chosen, WORK),
        jobs.finalizer(RUN, 1, chosen, WORK),
        jobs.blast(RUN, 1, DB, chosen, WORK),
        jobs.formatting(RUN, "xml", 1, DB, chosen, WORK),
    ]
    pods = [body["spec"]["template"]["spec"] for body in bodies]
    assert [[each["image"] for each in pod["containers"]] for pod in pods] == [["example.org/coordui:trixie"]] * 4
    assert [pod.get("serviceAccountName") for pod in pods] == ["searcher", "searcher", None, None]


def test_how_the_pods_reach_files_is_configured_and_a_submit_knows_who_it_is_to_an_object_store(
    cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setattr(settings, "COORDUI_BLASTDB", Path("/srv/blastdb"))
    for name in ("WORK_CLAIM", "WORK_SECRET", "WORK_ACCOUNT", "BLASTDB_CLAIM"):
        monkeypatch.setattr(settings, f"COORDUI_{name}", name.lower())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    assert "AWS_SECRET_ACCESS_KEY" not in leashed_submit(configured_scope()).environment, "a directory asks nobody"
    monkeypatch.setattr(settings, "COORDUI_WORK_URL", "s3://bucket/work")
    submit = leashed_submit(configured_scope())
    assert submit.environment["AWS_SECRET_ACCESS_KEY"] == "hidden" and "hidden" not in submit.configuration
    (tmp_path / "submit.ini").write_text(submit.configuration)
    chosen = read(tmp_path / "submit.ini")
    assert (chosen.work_url, chosen.work_claim, chosen.work_secret, chosen.work_account) == (
        "s3://bucket/work", "work_claim", "work_secret", "work_account",
    )  # fmt: skip
    assert (chosen.database_claim, chosen.database_root) == ("blastdb_claim", "/srv/blastdb")
