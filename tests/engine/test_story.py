"""Whole searches on the embedded cluster: submit, Jobs, outcome, and what happens when something dies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from submits import demo
from submits.blast import databases
from submits.blast.facts import DatabaseFacts
from submits.blast.summary import Summary
from submits.engine import jobs, submit
from submits.engine.jobs import Names
from submits.engine.prepare import out_key, read_plan
from submits.engine.progress import Failed, state_of
from submits.engine.settings import Settings
from submits.engine.words import explain
from submits.states import Reason
from submits.work import run_key
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import until


def alive(stage: Stage, run_id: str) -> set[str]:
    ended = {"Complete", "Failed"}
    return {
        name
        for name, job in stage.jobs(run_id).items()
        if not ended & {c["type"] for c in job["status"].get("conditions", ()) if c["status"] == "True"}
    }


def test_a_search_in_many_batches(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"], letters=100)
    done = stage.submit(run_id)
    assert (done.returncode, done.stderr) == (0, "")
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.queries, outcome.batches, outcome.message) == ("succeeded", 3, 3, "")
    assert outcome.blast == "2.12.0+" and outcome.queries_with_hits == 3 and outcome.hits > 90
    summary = Summary.from_json(stage.store.get(run_key(run_id, "summary.json")))
    assert (summary.hits, summary.queries[0].name) == (outcome.hits, "HBB_HUMAN")
    job = stage.finalizer(run_id, "Complete")
    assert job["metadata"]["annotations"]["coordui/batches"] == "3"
    names = Names(run_id)
    expected = {names.finalizer, names.submit, *(names.blast(n) for n in (1, 2, 3))}
    assert set(stage.jobs(run_id)) == expected and until(lambda: not alive(stage, run_id), 60)


def test_nucleotides_and_a_query_without_hits(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(f">none\n{'ACCT' * 20}\n{demo.records('reads', 2)}", made["lambda"])
    stage.submit(run_id)
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.queries, outcome.queries_with_hits, outcome.batches) == ("succeeded", 3, 2, 1)


def test_a_search_that_fails_says_what_blast_said_and_frees_its_place(stage: Stage, tmp_path: Path) -> None:
    source = demo.databases()[0].fasta
    facts = databases.format_fasta(source, tmp_path / "db" / "gone", "Gone")
    run_id = stage.prepared(demo.EXAMPLE.query(), facts, letters=100)
    for file in (tmp_path / "db").iterdir():
        file.unlink()
    stage.submit(run_id)
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.hits) == ("failed", 0)
    assert outcome.reason == "database_unreadable" and outcome.message.startswith(
        "BLAST could not read the database (batch "
    )
    assert "BLAST Database error: No alias or index file found" in outcome.detail
    job = stage.finalizer(run_id, "Failed")
    assert job["status"]["failed"] == 1, "a failed search takes its own further tries away"
    assert until(lambda: not alive(stage, run_id), 60)


def test_a_batch_whose_pod_dies_is_run_again(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.windows("globins", 60, 24), made["globins"], letters=10_000, evalue="1000")
    stage.submit(run_id)
    stage.kill("batch", run_id)
    outcome = stage.outcome(run_id)
    assert outcome.status == "succeeded" and outcome.queries_with_hits > 150
    failed = [job["status"].get("failed", 0) for job in stage.jobs(run_id, "blast").values()]
    assert sum(failed) >= 1


def test_a_finalizer_that_dies_is_run_again(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.windows("globins", 60, 24), made["globins"], evalue="1000")
    stage.submit(run_id)
    stage.kill("finalize", run_id)
    assert stage.outcome(run_id).status == "succeeded"
    assert stage.finalizer(run_id, "Complete")["status"]["failed"] == 1


def test_a_job_that_is_taken_away_fails_the_search(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.windows("globins", 60, 12), made["globins"], evalue="1000")
    stage.submit(run_id)
    name = Names(run_id).blast(1)
    (pid, *_) = until(lambda: stage.processes("batch", run_id))
    stage.api.delete("jobs", name)
    outcome = stage.outcome(run_id)
    # The finalizer may have been slower to look than we to take it away; then it never saw the Job.
    seen, never_seen = "was taken away before it was done", "1 of 1 batches have no Job although all were started"
    assert outcome.reason == "batch_gone" and (seen in outcome.message or never_seen in outcome.message)
    stage.finalizer(run_id, "Failed")
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_batch_over_its_time_is_stopped_and_says_so(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    run_id = stage.prepared(demo.windows("globins", 60, 2), made["globins"], evalue="1000")
    stage.submit(run_id, blast_deadline=1)
    outcome = stage.outcome(run_id)
    sentence = "It took longer than a batch may take, its wait for room included."
    assert (outcome.reason, outcome.message) == ("deadline_exceeded", sentence)
    assert outcome.detail.startswith("DeadlineExceeded")
    stage.finalizer(run_id, "Failed")


def half_made(stage: Stage, database: DatabaseFacts) -> str:
    """A finalizer alone, as a submit leaves it that was killed between its two Jobs."""
    run_id = stage.prepared(demo.EXAMPLE.query(), database)
    settings = Settings(work_url=stage.store.url, patience=6)
    stage.store.put(run_key(run_id, "engine.json"), settings.to_json())
    stage.api.create("jobs", jobs.finalizer(run_id, 1, settings, submit.run_directory(stage.store, run_id)))
    return run_id


def test_a_run_whose_submit_was_cut_off_is_finished_by_its_finalizer(
    stage: Stage, made: dict[str, DatabaseFacts]
) -> None:
    run_id = half_made(stage, made["globins"])
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.queries_with_hits) == ("succeeded", 3)
    assert set(stage.jobs(run_id)) == {Names(run_id).finalizer, Names(run_id).submit, Names(run_id).blast(1)}
    stage.finalizer(run_id, "Complete")


def test_batches_that_were_never_started_fail_the_search(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    stage.cluster.faults.add("status", code=403, verb="create", resource="jobs", labels={"app": "submit"})
    run_id = half_made(stage, made["globins"])
    outcome = stage.outcome(run_id)
    assert outcome.reason == "not_started" and "its batches never started" in outcome.message
    stage.finalizer(run_id, "Failed")


def test_batches_that_could_not_be_started_fail_the_search(stage: Stage, made: dict[str, DatabaseFacts]) -> None:
    """The batches' Jobs are refused; the submit Job's own words reach the outcome."""
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"])
    faults = stage.cluster.faults
    faults.add("delay", times=2, method="POST", path="/jobs")
    faults.add("status", code=403, method="POST", path="/jobs")
    try:
        assert stage.submit(run_id).returncode == 0
        outcome = stage.outcome(run_id)
    finally:
        faults.clear()
    assert outcome.status == "failed" and "could not be started" in outcome.message
    assert f"POST jobs/{Names(run_id).blast(1)} in default" in outcome.detail
    stage.finalizer(run_id, "Failed")


def killed(stage: Stage, run_id: str, batch: int, *command: str, **container: object) -> Failed:
    """A batch's Job that has failed for good, in a Pod that did something else."""
    name = Names(run_id).blast(batch)
    labels = {"app": "blast", "elb-job-id": run_id}
    body = {"name": "blast", "image": "none", "command": list(command), **container}
    template = {"metadata": {"labels": labels}, "spec": {"restartPolicy": "Never", "containers": [body]}}
    spec = {"backoffLimit": 0, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}
    stage.api.create("jobs", job)
    state, reason, message = state_of(stage.cluster.job_condition(name, "Failed", seconds=60))
    assert state == "failed"
    return Failed(batch, reason, message)


def test_what_the_cluster_did_to_a_pod_is_told_beside_what_blast_said(
    stage: Stage, made: dict[str, DatabaseFacts]
) -> None:
    """BLAST's own record of an earlier try stands beside the Pod's end, which counts."""
    run_id = stage.prepared(demo.EXAMPLE.query(), made["globins"], letters=100)
    plan = read_plan(stage.store, run_id)
    hungry = [sys.executable, "-c", "held = bytearray(400 << 20); held[::4096] = b'x' * len(held[::4096]); input()"]
    over = killed(stage, run_id, 1, *hungry, resources={"limits": {"memory": "64Mi"}}, stdin=True)
    for batch, status, words in ((1, 3, "BLAST engine error: no"), (2, 137, "")):
        record = {"exit": status, "stderr": words, "seconds": 1.0, "argv": ["blastp"]}
        stage.store.put(out_key(run_id, batch, "json"), json.dumps(record).encode())
    reason, sentence, detail = explain(stage.api, stage.store, plan, over)
    assert (reason, sentence) == (Reason.OUT_OF_MEMORY, "It needed more memory than there was (batch 1 of 3).")
    assert detail.startswith("OOMKilled")
    reason, sentence, detail = explain(stage.api, stage.store, plan, killed(stage, run_id, 2, "sh", "-c", "exit 137"))
    assert reason == Reason.KILLED and sentence.startswith("BLAST was killed") and "its status was 137" in detail
    unrecorded = killed(stage, run_id, 3, "sh", "-c", "exit 1")
    reason, _, detail = explain(stage.api, stage.store, plan, unrecorded)
    assert reason == Reason.SEARCH_FAILED and detail.startswith("BackoffLimitExceeded")
