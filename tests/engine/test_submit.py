"""The submit against a cluster that misbehaves: what is there afterwards is all or nothing, or shows itself."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.cluster import ApiCluster, Connection
from submits.cluster.transport import HttpTransport, Response
from submits.engine import jobs, launch, submit, tries
from submits.engine.errors import EngineError, Exit, status_of
from submits.engine.jobs import Names
from submits.engine.settings import FILE, Settings
from submits.gates.ports import Forbidden, Unanswered
from submits.work import run_key
from tests.engine.story import Stage, new_id
from tests.onebox.cluster.fixtures import until

POST = {"method": "POST", "path": "/jobs"}


class Losing(HttpTransport):
    """A connection that breaks after the server has done what the create number `lost` asked for."""

    def __init__(self, connection: Connection, lost: int) -> None:
        super().__init__(connection)
        self.lost, self.creates = lost, 0

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        response = super().request(method, path, query, body, content_type)
        self.creates += method == "POST"
        if method == "POST" and self.creates == self.lost:
            raise Unanswered(f"{method} {path}: no answer")
        return response


@pytest.fixture
def run_id(stage: Stage, made: dict[str, DatabaseFacts]) -> str:
    return stage.prepared(demo.EXAMPLE.query(), made["globins"])


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "PAUSE", 0.01)


def run(stage: Stage, run_id: str) -> None:
    submit.submit(stage.api, stage.store, run_id, Settings(work_url=stage.store.url))


def test_the_finalizer_comes_first(stage: Stage, run_id: str) -> None:
    version = stage.api.list("jobs").version
    run(stage, run_id)
    changes = stage.api.watch("jobs", version, labels=f"elb-job-id={run_id}", seconds=1)
    added = [change.object["metadata"]["name"] for change in changes if change.type == "ADDED"]
    assert added[:2] == [Names(run_id).finalizer, Names(run_id).submit]


def test_submitting_twice_is_one_search(stage: Stage, run_id: str) -> None:
    run(stage, run_id)
    before = stage.jobs(run_id, "finalizer,submit")
    run(stage, run_id)
    assert {job["metadata"]["uid"] for job in stage.jobs(run_id, "finalizer,submit").values()} == {
        job["metadata"]["uid"] for job in before.values()
    }
    assert stage.outcome(run_id).status == "succeeded"
    with pytest.raises(EngineError, match="has ended already"):
        run(stage, run_id)


@pytest.mark.parametrize("lost", [1, 2])
def test_an_answer_that_is_lost_is_asked_for_again(stage: Stage, run_id: str, lost: int) -> None:
    connection = Connection(str(stage.cluster.kubeconfig), "default")
    losing = Losing(connection, lost)
    submit.submit(ApiCluster(losing, "default"), stage.store, run_id, Settings(work_url=stage.store.url))
    losing.pool.clear()
    assert losing.creates == 3
    assert stage.outcome(run_id).status == "succeeded"
    assert len(stage.jobs(run_id)) == 3


@pytest.mark.usefixtures("hasty")
def test_a_cluster_that_refuses_the_second_job_gets_the_first_taken_back(stage: Stage, run_id: str) -> None:
    stage.cluster.faults.add("delay", times=1, **POST)
    rule = stage.cluster.faults.add("status", code=503, **POST)
    with pytest.raises(EngineError, match="had no answer and may still arrive") as caught:
        run(stage, run_id)
    assert status_of(caught.value) is Exit.IN_DOUBT and rule.used == 4
    assert until(lambda: stage.jobs(run_id) == {})


@pytest.mark.usefixtures("hasty")
def test_a_create_without_an_answer_is_told_although_its_repetition_was_answered(stage: Stage, run_id: str) -> None:
    """The first copy of the request may arrive long after what the second one made has been taken back."""
    stage.cluster.faults.add("drop_request", times=1, **POST)
    stage.cluster.faults.add("delay", times=1, **POST)
    stage.cluster.faults.add("status", code=403, **POST)
    with pytest.raises(EngineError, match=f"the request for {Names(run_id).finalizer} had no answer") as caught:
        run(stage, run_id)
    assert status_of(caught.value) is Exit.IN_DOUBT
    assert until(lambda: stage.jobs(run_id) == {})


def test_a_refusal_alone_leaves_no_doubt(stage: Stage, run_id: str) -> None:
    stage.cluster.faults.add("status", code=403, **POST)
    with pytest.raises(Forbidden):
        run(stage, run_id)


@pytest.mark.usefixtures("hasty")
def test_what_cannot_be_taken_back_stays_in_sight(stage: Stage, run_id: str) -> None:
    stage.cluster.faults.add("delay", times=1, **POST)
    stage.cluster.faults.add("status", code=503, **POST)
    stage.cluster.faults.add("status", code=503, method="DELETE")
    with pytest.raises(EngineError):
        run(stage, run_id)
    assert list(stage.jobs(run_id)) == [Names(run_id).finalizer]


def test_another_searchs_name_is_not_taken_over(stage: Stage, run_id: str) -> None:
    other = new_id()[:-8] + run_id[-8:]
    labels = {"app": "finalizer", "elb-job-id": other}
    stage.cluster.job(Names(run_id).finalizer, "sleep", "30", labels=labels)
    with pytest.raises(EngineError, match="another search's Job") as caught:
        run(stage, run_id)
    assert caught.value.status is Exit.CLUSTER and stage.jobs(run_id) == {}
    assert list(stage.jobs(other)) == [Names(run_id).finalizer]
    stage.api.delete("jobs", Names(run_id).finalizer)


def test_a_submit_told_to_stop_takes_back_what_it_made(stage: Stage, run_id: str) -> None:
    """SIGTERM comes between two tries of the second create."""
    stage.cluster.faults.add("delay", times=1, **POST)
    rule = stage.cluster.faults.add("status", code=503, **POST)
    argv, environment = stage.command(run_id)
    process = subprocess.Popen(argv, env=environment, stderr=subprocess.PIPE, text=True)
    until(lambda: rule.used)
    assert list(stage.jobs(run_id)) == [Names(run_id).finalizer]
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == Exit.IN_DOUBT and "interrupted" in stderr  # a 503 is no answer
    assert until(lambda: stage.jobs(run_id) == {})


def test_a_submit_job_that_lands_after_it_was_taken_back_launches_nothing(stage: Stage, run_id: str) -> None:
    settings = Settings(work_url=stage.store.url)
    stage.store.put(run_key(run_id, FILE), settings.to_json())
    stage.api.create("jobs", jobs.submit(run_id, 1, settings, submit.run_directory(stage.store, run_id)))
    until(lambda: stage.store.exists(run_key(run_id, launch.WORDS)))
    assert b"its submit was taken back" in stage.store.get(run_key(run_id, launch.WORDS))
    stage.cluster.job_condition(Names(run_id).submit, "Failed", seconds=60)
    assert stage.jobs(run_id, "blast") == {}
