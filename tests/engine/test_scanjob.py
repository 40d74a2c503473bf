"""A volume of databases that only the cluster sees: a Job of the embedded cluster looks at it, and the rows follow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as current
from django.core.management import CommandError

from submits import catalogue, demo, scopes, tasks
from submits.blast.databases import format_fasta
from submits.blast.facts import DatabaseFacts
from submits.engine import jobs, scanjob, scanning
from submits.engine.diagnosis import HeldUp, held_up
from submits.gates.counting import is_counted
from submits.management.commands.provision import Command as Provision
from submits.models import Database
from submits.scopes import default_scope, engine_settings
from submits.states import Reason
from submits.work import WorkStore
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import PODS, until

pytestmark = pytest.mark.django_db


@pytest.fixture
def volume(stage: Stage, store: WorkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the cluster sees it; the dashboard never looks there itself."""
    volume = tmp_path / "volume"
    volume.mkdir()
    current.LAYOUT.make()
    monkeypatch.setattr(current, "COORDUI_BLASTDB", volume)
    monkeypatch.setattr(current, "COORDUI_BLASTDB_SCAN", "cluster")
    monkeypatch.setattr(current, "COORDUI_WORK_URL", store.url)
    monkeypatch.setattr(catalogue, "connect", lambda scope: stage.api)
    scopes.store.cache_clear()
    yield volume
    for job in stage.api.list("jobs", labels="app=scan").items:
        stage.api.delete("jobs", job["metadata"]["name"])
    scopes.store.cache_clear()


def looked(stage: Stage) -> None:
    """One look from its beginning to its end."""
    tasks.look_for_databases()

    def ended() -> bool:
        tasks.look_at_scan()
        return not stage.api.list("jobs", labels="app=scan").items

    until(ended, 60)


def test_a_database_appears_on_the_volume_and_is_searched(stage: Stage, volume: Path) -> None:
    globins = demo.databases()[0]
    format_fasta(globins.fasta, volume / "proteins" / "globins", globins.title)
    tasks.look_at_scan()
    assert stage.api.list("jobs", labels="app=scan").items == (), "only when a look is due"
    tasks.look_for_databases()
    tasks.look_for_databases()
    (job,) = stage.api.list("jobs", labels="app=scan").items
    assert not is_counted(job) and "elb-job-id" not in json.dumps(job["metadata"])
    looked(stage)
    row = Database.objects.get()
    assert (row.key, row.ready, row.path) == ("proteins-globins", True, f"{volume}/proteins/globins")
    names = ("key", "title", "path", "molecule", "sequences", "letters", "formatted", "taxonomy")
    run_id = stage.prepared(demo.EXAMPLE.query(), DatabaseFacts(**{name: getattr(row, name) for name in names}))
    stage.submit(run_id)
    assert stage.outcome(run_id).status == "succeeded" and stage.outcome(run_id).hits > 0
    (volume / "proteins" / "globins.psq").write_bytes(b"half")
    looked(stage)
    row.refresh_from_db()
    assert not row.ready and row.trouble.startswith("it is damaged or half copied: globins.psq has 4 bytes")


def test_what_keeps_it_from_looking_is_told_and_takes_nothing_out(
    stage: Stage, volume: Path, store: WorkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    format_fasta(demo.databases()[3].fasta, volume / "a", "A")
    looked(stage)
    volume.rename(volume.parent / "away")
    tasks.look_for_databases()

    def told() -> str:
        tasks.look_at_scan()
        return scanning.last(store).trouble

    words = until(told, 30)
    assert words.startswith("The Job that looks at the databases") and str(volume) in words
    assert Database.objects.get().ready and scanning.last(store).found[0].key == "a"
    (volume.parent / "away").rename(volume)
    monkeypatch.setattr("submits.engine.jobs._PROGRAM", "false")
    for job in stage.api.list("jobs", labels="app=scan").items:
        stage.api.delete("jobs", job["metadata"]["name"])
    looked(stage)
    assert scanning.last(store).trouble.startswith("The Job that looks at the databases has failed: ")
    assert Database.objects.get().ready


def test_a_pod_that_is_slow_to_start_is_no_trouble_of_the_place(
    stage: Stage, volume: Path, store: WorkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node has room for this one: what its kubelet would say is written into its status."""
    settings = replace(engine_settings(default_scope()), memory_mib=2**23)
    known: list[HeldUp | None] = []

    def noticed(pods: Any, now: datetime) -> HeldUp | None:
        known.append(held_up(pods, now))
        return known[-1]

    monkeypatch.setattr(scanjob, "held_up", noticed)

    def told() -> str:
        return scanjob.look(stage.api, store, settings, begin=True).trouble

    until(lambda: told().startswith(f"{scanjob.WAITS}: "), 20)
    placed = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}

    def told_of_a_slow_one() -> list[str]:
        (pod,) = stage.cluster.call("GET", f"{PODS}?labelSelector=job-name").ok()["items"]
        pod["status"] = {"phase": "Pending", "conditions": [placed]}
        stage.cluster.call("PUT", f"{PODS}/{pod['metadata']['name']}/status", pod)  # a conflict is tried again
        store.delete(scanning.REPORT)
        trouble = told()
        return [trouble] if known[-1] and known[-1].reason is Reason.START_DELAYED else []

    assert until(told_of_a_slow_one, 20) == [""]


def test_a_start_does_not_look_where_only_the_cluster_can(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    volume.rmdir()
    Provision().own_databases(default_scope())
    assert not Database.objects.exists()
    monkeypatch.setattr(current, "COORDUI_BLASTDB_SCAN", "dashboard")
    with pytest.raises(CommandError, match="there is no directory"):
        Provision().own_databases(default_scope())


def test_a_start_offers_what_was_found_last(stage: Stage, volume: Path) -> None:
    format_fasta(demo.databases()[3].fasta, volume / "a", "A")
    looked(stage)
    Database.objects.all().delete()
    Provision().own_databases(default_scope())
    assert Database.objects.get().ready
    body = jobs.scan(engine_settings(default_scope()), None)
    assert body["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
