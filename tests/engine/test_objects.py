"""A whole search whose every file lies in an object store: the Pods fetch and bring them, by a Secret's environment."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.blast.formats import Chosen
from submits.blast.summary import Summary
from submits.engine import requested
from submits.engine.formatjob import look
from submits.engine.partial import partial
from submits.work import WorkStore, run_key
from tests.engine.story import Stage
from tests.objectstore import BUCKET, s3
from tests.onebox.cluster.fixtures import CORE, RunningCluster, until

SECRET = "blast-work"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WorkStore]:
    with s3() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield WorkStore(f"s3://{BUCKET}/searches")


@pytest.fixture
def secret(cluster: RunningCluster, store: WorkStore) -> str:
    data = {
        name: base64.b64encode(value.encode()).decode() for name, value in os.environ.items() if name.startswith("AWS_")
    }
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": data}
    cluster.call("POST", f"{CORE}/secrets", body).ok()
    return SECRET


def test_a_search_in_an_object_store(stage: Stage, secret: str, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"], letters=300)
    done = stage.submit(run_id, work_secret=secret)
    assert (done.returncode, done.stderr) == (0, "")
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.queries_with_hits, outcome.batches, outcome.message) == ("succeeded", 3, 2, "")
    summary = Summary.from_json(stage.store.get(run_key(run_id, "summary.json")))
    rows = stage.store.get(run_key(run_id, "hits.tsv"))
    assert rows.count(b"\n") == sum(query.hsps for query in summary.queries) > 90
    some = partial(stage.store, run_id)
    assert some is not None and {some.batch_of(query) for query in some.queries} == {1, 2}
    chosen = Chosen("json")
    requested.ask(stage.store, run_id, chosen)
    look(stage.api, stage.store, run_id, chosen.key)
    until(lambda: requested.standing(stage.store, run_id, chosen).state != "asked", 60)
    assert requested.standing(stage.store, run_id, chosen).state == "made"
    assert len(json.loads(stage.store.get(requested.key(run_id, chosen.file)))["BlastOutput2"]) == 3
    for pod in stage.api.list("pods").items:
        assert "hidden" not in json.dumps(pod), "a Pod names its Secret, and does not repeat it"
