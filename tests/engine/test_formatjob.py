"""A format that somebody asks for, made by a Job of the embedded cluster that no gate counts."""

from __future__ import annotations

import json

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.blast.formats import Chosen
from submits.engine import requested
from submits.engine.formatjob import look
from submits.engine.requested import Standing
from submits.gates.counting import is_counted
from submits.work import run_key
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import until


def waited_for(stage: Stage, run_id: str, chosen: Chosen) -> Standing:
    def ended() -> Standing | None:
        look(stage.api, stage.store, run_id, chosen.key)
        now = requested.standing(stage.store, run_id, chosen)
        return now if now.state in ("made", "failed") else None

    found = until(ended, 60)
    assert isinstance(found, Standing)
    return found


def test_a_format_is_made_by_a_job_that_no_gate_counts(stage: Stage, profiles: DatabaseFacts) -> None:
    """Of a search in profiles, which takes a database of several files and a program that has two names."""
    run_id = stage.prepared(demo.EXAMPLE.query(), profiles, letters=200)
    stage.submit(run_id)
    assert stage.outcome(run_id).status == "succeeded"
    chosen = Chosen("json")
    requested.ask(stage.store, run_id, chosen)
    requested.ask(stage.store, run_id, chosen)
    key = run_key(run_id, "out", "0001.asn")
    archive = stage.store.get(key)
    stage.store.delete(key)
    failed = waited_for(stage, run_id, chosen)
    assert (failed.state, failed.words) == ("failed", f"an archive of {run_id} is not there any more")
    stage.store.put(key, archive)
    look(stage.api, stage.store, run_id, chosen.key)
    assert requested.standing(stage.store, run_id, chosen).state == "failed", "a failure stands until it is asked again"
    requested.ask(stage.store, run_id, chosen)
    assert waited_for(stage, run_id, chosen).state == "made"
    reports = json.loads(stage.store.get(requested.key(run_id, chosen.file)))["BlastOutput2"]
    assert len(reports) == 3
    items = stage.api.list("jobs", labels=f"coordui/formats-of={run_id}").items
    assert len(items) == 2, "one for each try, however often it is looked at"
    assert not any(is_counted(job) or "elb-job-id" in job["metadata"]["labels"] for job in items)
    for job in items:
        stage.api.delete("jobs", job["metadata"]["name"])


def test_a_job_that_leaves_nothing_has_failed(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"])
    stage.submit(run_id)
    stage.outcome(run_id)
    chosen = Chosen("xml")
    requested.ask(stage.store, run_id, chosen)
    plan = stage.store.get(run_key(run_id, "plan.json"))
    look(stage.api, stage.store, run_id, chosen.key)
    stage.store.put(run_key(run_id, "plan.json"), b"{}")  # its Pod dies of this before it can say why
    until(lambda: stage.api.list("jobs", labels=f"coordui/formats-of={run_id}").items[0]["status"].get("failed"), 60)
    stage.store.put(run_key(run_id, "plan.json"), plan)
    failed = waited_for(stage, run_id, chosen)
    assert failed.state == "failed" and failed.words.startswith("The Job that makes it has ended without it")
