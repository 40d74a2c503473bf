"""A search whose Pods find no room: page and board say so in the scheduler's words, and it goes on by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from coordui.onebox.cluster.runner.node import Size
from submits import demo, live, podlogs, reconcile
from submits.blast.facts import DatabaseFacts
from submits.engine import diagnosis
from submits.engine.diagnosis import HeldUp
from submits.models import Submission
from submits.scopes import default_scope, store
from submits.shown.telling import running
from submits.states import Phase, Reason, Status
from tests.blast.conftest import made
from tests.engine.story import Stage
from tests.gates.made import job, sight
from tests.gates.wire import wired
from tests.onebox.cluster.fixtures import CORE, PODS, RunningCluster, running_cluster, until
from tests.test_gatekeeper import Turns, again
from tests.test_models import make
from tests.world import REPOSITORY, SCALE

__all__ = ["made"]
pytestmark = pytest.mark.django_db

MANY = 50 * SCALE
NO_ROOM = "0/1 nodes are available: 1 Insufficient memory."


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RunningCluster]:
    """Room for the finalizer and two batches, and no more."""
    rights = (REPOSITORY / "deploy/engine/rbac.yaml",)
    with running_cluster(tmp_path / "state", size=Size(cpu="8", memory="700Mi"), manifests=rights) as running:
        yield running


@pytest.fixture
def stage(small: RunningCluster, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(small, store(), tmp_path)
    yield stage
    stage.clear()


def taken(small: RunningCluster, memory: str) -> None:
    """Another Job has this much of the node."""
    small.job("another", "sleep", "300", container={"resources": {"requests": {"memory": memory}}})
    until(lambda: [pod for pod in small.pods_of("another") if pod["status"]["phase"] == "Running"])


def gate(client: Client, turns: Turns) -> str:
    """The board with what the gatekeeper has just published."""
    live.publish(default_scope(), turns.view())
    return client.get(reverse("gate")).content.decode()


def test_a_search_without_room_says_so_and_is_finished_when_room_comes(
    small: RunningCluster, stage: Stage, made: dict[str, DatabaseFacts], monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    taken(small, "400Mi")
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"], letters=100)
    row = make(status=Status.RUNNING, phase=Phase.STARTING, submitted_at=timezone.now(), batches=3)
    Submission.objects.filter(pk=row.pk).update(run_id=run_id)
    turns = Turns(stage.api, monkeypatch)
    client.force_login(row.owner)
    assert stage.submit(run_id).returncode == 0

    def looked() -> Submission:
        turns.turn()
        turns.keeper.copier.look(stage.api)
        turns.turn()
        return again(row)

    until(lambda: looked().reason == Reason.UNSCHEDULABLE, 30)
    held = again(row)
    assert (held.status, held.batches_done, held.detail[: len(NO_ROOM)]) == (Status.RUNNING, 0, NO_ROOM)
    page = client.get(reverse("search", args=[row.key])).content.decode()
    assert "The cluster has no room for all of it at the moment." in page and NO_ROOM in page
    assert "It goes on by itself when room comes." in page and 'class="card state wait"' in page
    board = gate(client, turns)
    assert "waits for room" in board and NO_ROOM in board
    said = client.get(reverse("search_json", args=[row.key])).json()
    assert (said["reason"], said["reason_kind"], said["detail"]) == ("unschedulable", "wait", held.detail)

    stage.api.delete("jobs", "another")
    until(lambda: looked().ended, 60)
    done = again(row)
    assert (done.status, done.reason, done.detail) == (Status.COMPLETED, "", "") and (done.hits or 0) > 90
    story = list(row.events.values_list("status", "reason"))
    assert ("running", "unschedulable") in story and {status for status, _ in story} == {"running", "completed"}
    assert "waits for room" not in gate(client, turns)


def test_a_search_whose_pods_are_refused_says_so_and_goes_on(
    small: RunningCluster, stage: Stage, made: dict[str, DatabaseFacts], monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    """By a quota here; a namespace that is `restricted` refuses them the same way: there is only a Job."""
    monkeypatch.setattr(diagnosis, "PODLESS_AFTER", timedelta(seconds=2))
    quotas = f"{CORE}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    small.call("POST", quotas, quota).ok()
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"])
    row = make(status=Status.RUNNING, phase=Phase.STARTING, submitted_at=timezone.now(), batches=1)
    Submission.objects.filter(pk=row.pk).update(run_id=run_id)
    turns = Turns(stage.api, monkeypatch)
    client.force_login(row.owner)
    assert stage.submit(run_id).returncode == 0

    def reason() -> str:
        turns.turn()
        turns.keeper.copier.look(stage.api)
        return again(row).reason

    until(lambda: reason() == Reason.NO_POD, 30)
    said = "There is no Pod for the Job elb-finalizer-"
    assert again(row).detail.startswith(said) and "says why" in again(row).detail
    board = gate(client, turns)
    assert "waits for a Pod" in board and said in board
    assert (
        "The cluster makes no Pod for a part of it." in client.get(reverse("search", args=[row.key])).content.decode()
    )
    small.call("DELETE", f"{quotas}/none").ok()
    until(lambda: reason() == "", 60)


def test_many_pods_that_wait_cost_one_list_a_look(small: RunningCluster, stage: Stage) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=timezone.now())
    labels = {"app": "blast", "elb-job-id": row.run_id}
    container = {"name": "c", "image": "none", "command": ["true"], "resources": {"requests": {"memory": "1Ti"}}}
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": MANY, "completions": MANY, "template": template}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "many", "labels": labels}, "spec": spec}
    stage.api.create("jobs", body)
    until(lambda: len(small.call("GET", f"{PODS}?labelSelector=app%3Dblast").ok()["items"]) == MANY, 60)
    copier = podlogs.Copier(row.scope)
    copier.follow(podlogs.followed(row.scope))
    api, wire = wired(small)

    def all_held() -> bool:
        wire.sent.clear()
        copier.look(api)
        return set(copier.held_up) == {row.run_id}

    until(all_held, 30)
    assert [sent.method for sent in wire.sent] == ["GET"] and copier.held_up[row.run_id].words.startswith(NO_ROOM[:12])
    wire.refuse("^GET pods", 'User "coordui" cannot list resource "pods"')
    for _ in range(podlogs.FAILURES - 1):
        copier.look(api)
        assert set(copier.held_up) == {row.run_id}, "one LIST that fails tells nothing"
    copier.look(api)
    assert copier.known == {row.run_id: None}, "nobody knows any more"
    wire.refusals.clear()
    until(all_held, 30)
    copier.follow([])
    copier.look(api)
    assert copier.known == {}


def test_a_row_is_held_up_as_long_as_its_pods_are_and_no_longer() -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=timezone.now(), batches=3, batches_done=1)
    live_jobs = sight(jobs=[job("finalizer", row.run_id, active=1), job("blast", row.run_id, active=1)])

    def followed(held: Mapping[str, HeldUp | None]) -> tuple[str, str, str]:
        reconcile.follow(row.scope, live_jobs, None, held)  # type: ignore[arg-type]  # there is nothing to ask about
        seen = again(row)
        return seen.status, seen.reason, seen.detail

    pulled = HeldUp(Reason.IMAGE_UNAVAILABLE, "ErrImagePull: no such image")
    assert followed({row.run_id: pulled}) == ("running", "image_unavailable", "ErrImagePull: no such image")
    version = again(row).version
    assert followed({row.run_id: pulled})[0] == "running" and again(row).version == version
    for unseen in ({}, {"job-another": pulled}):  # a gatekeeper that has just started has not looked at it yet
        assert followed(unseen)[:2] == ("running", "image_unavailable") and again(row).version == version
    assert followed({row.run_id: None}) == ("running", "", "")
    told = running(
        Submission(status=Status.RUNNING, phase=Phase.SEARCHING, batches=3, batches_done=1, reason="evicted")
    )
    assert told.mood == "retry" and told.sentence.startswith("1 of 3 batches done. A part of it had to leave its node")
