"""elastic-blast as the engine: what is refused at the start, what `/readyz` says, and a whole search through it."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from django.core.exceptions import ImproperlyConfigured

from submits import cancel, checks, elastic, readiness, reconcile
from submits.cluster import ApiCluster
from submits.engine.errors import EngineError
from submits.engine.external.capabilities import probe
from submits.engine.external.markers import READER
from submits.engine.external.settings import FILE, Handed
from submits.engine.outcome import write_outcome
from submits.gates import naming
from submits.gates.backends import Backend
from submits.models import Submission
from submits.scopes import rules, store
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.cancelling import Runs, outcome
from tests.engine.external.driving import fork
from tests.gates.trying import body
from tests.onebox.cluster.fixtures import RunningCluster
from tests.onebox.running import Running
from tests.story.installation import start
from tests.story.visitor import Visitor
from tests.test_models import make
from tests.world import until

HOUR = timedelta(hours=1)
UPSTREAM = """#!/bin/sh
case "$1" in
    --version) echo "elastic-blast 1.5.0" ;;
    submit) echo "usage: elastic-blast submit [-h] [--cfg FILE] [--dry-run]" ;;
esac
"""


@pytest.fixture(autouse=True)
def chosen(settings: Any, tmp_path: Path) -> Any:
    elastic.capabilities.cache_clear()
    settings.COORDUI_ENGINE = "elastic-blast"
    settings.COORDUI_ELASTIC_BLAST = str(fork(tmp_path))
    settings.COORDUI_ELASTIC_BLAST_RESULTS = f"file://{tmp_path}"
    settings.COORDUI_ELASTIC_BLAST_RESULTS_AT = str(tmp_path)
    return settings


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "script"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_what_fits_is_not_refused(chosen: Any) -> None:
    assert checks.broken_rules() == [] == elastic.broken_program(Backend.K8S)
    said = "elastic-blast 1.3.1.fork keeps the id it is given, marks its Jobs with it, and says what it did as JSON"
    assert str(elastic.found()) == said


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("RESULTS", "", "is no place for results"),
        ("RESULTS", "az://container/results", "is no place for results"),
        ("RESULTS", "gs://bucket/two words", "is no place for results"),
        ("RESULTS_AT", "https://account.blob.core.windows.net/c", "cannot be read there: https:// is not known"),
        ("RESULTS_AT", "relative", "cannot be read there"),
        ("DATABASE", "nt", "does not say where the key goes"),
        ("DATABASE", "gs://b/{key}/{key}", "does not say where"),
        ("CONFIG", "[cluster]\nsize = 3\n", r"\[cluster\] size is not a setting of elastic-blast"),
    ],
)
def test_a_setting_that_cannot_be_used_stops_every_process(
    chosen: Any, tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    given: str | Path = value
    if name == "CONFIG":
        given = tmp_path / "given.ini"
        given.write_text(value)
    setattr(chosen, f"COORDUI_ELASTIC_BLAST_{name}", given)
    with pytest.raises(ImproperlyConfigured, match=rf"COORDUI_ELASTIC_BLAST_{name}: .*{sentence}.*\(submits\.E020\)"):
        checks.refuse_to_start()
    chosen.COORDUI_ENGINE = "builtin"
    checks.refuse_to_start()


def test_upstream_is_refused_where_nobody_would_mark_its_searches(chosen: Any, tmp_path: Path) -> None:
    chosen.COORDUI_ELASTIC_BLAST = script(tmp_path, UPSTREAM)
    (broken,) = elastic.broken_program(Backend.K8S)
    assert (broken.key, "makes no finalizer, so no gate can see" in broken.sentence) == ("E022", True)
    assert "COORDUI_ELASTIC_BLAST_MARKERS=ours" in broken.hint
    assert elastic.broken_program(Backend.LOCK) == []
    chosen.COORDUI_ELASTIC_BLAST_MARKERS = "ours"
    assert elastic.broken_program(Backend.K8S) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be run: No such file or directory"),
        ("#!/bin/sh\necho 1.0\n", "is no elastic-blast: its submit takes no --cfg"),
        ("#!/bin/sh\necho broken >&2; exit 3\n", "ended with status 3: broken"),
    ],
)
def test_a_program_that_is_none_is_said_in_one_sentence(chosen: Any, tmp_path: Path, text: str, sentence: str) -> None:
    chosen.COORDUI_ELASTIC_BLAST = script(tmp_path, text) if text else "/nowhere/elastic-blast"
    (broken,) = elastic.broken_program(Backend.K8S)
    assert broken.key == "E021" and sentence in broken.sentence
    elastic.keep(store(), [broken])
    assert elastic.kept(store()) == broken.sentence
    assert "flags = \n" in elastic.section(rules())  # the submit says it again, and starts nothing


def test_one_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submits.engine.external.capabilities.WITHIN", 0.2)
    with pytest.raises(EngineError, match=r"did not answer within 0\.2 s"):
        probe(script(tmp_path, "#!/bin/sh\nexec sleep 30\n"), {"PATH": os.environ["PATH"]})


def test_it_is_asked_once_a_process(chosen: Any, tmp_path: Path) -> None:
    chosen.COORDUI_ELASTIC_BLAST = script(tmp_path, f"{UPSTREAM}echo >>{tmp_path}/asked\n")
    for _ in range(3):
        elastic.found()
    assert (tmp_path / "asked").read_text() == "\n\n"


@pytest.mark.django_db
def test_readiness_says_what_was_found(chosen: Any) -> None:
    store().delete(elastic.FOUND)
    assert readiness.look()[0]["engine"].why == elastic.UNASKED
    elastic.keep(store(), [])
    assert readiness.look()[0]["engine"].ok
    chosen.COORDUI_ENGINE = "builtin"
    assert "engine" not in readiness.look()[0]


@pytest.mark.django_db
def test_a_search_whose_results_are_still_read_has_not_failed(cluster: ApiCluster, server: RunningCluster) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING)
    finalizer = body("finalizer", row.run_id, naming.finalizer(row.run_id))
    finalizer["spec"] |= {"parallelism": 1}
    finalizer["spec"]["template"]["spec"]["containers"][0]["command"] = ["true"]
    cluster.create("jobs", finalizer)
    done = server.job_condition(naming.finalizer(row.run_id), "Complete")
    cluster.create("jobs", body(READER, row.run_id, "elb-read-1"))
    later = datetime.now(UTC) + timedelta(hours=1)
    reconcile.step(row, [done], cluster, later, {})
    assert row.status == Status.RUNNING
    cluster.delete("jobs", "elb-read-1")
    read = {**body(READER, row.run_id, "elb-read-2"), "spec": finalizer["spec"]}
    cluster.create("jobs", read)
    server.job_condition("elb-read-2", "Complete")
    done["status"]["completionTime"] = "2026-01-01T00:00:00Z"
    reconcile.step(row, [done], cluster, datetime.now(UTC), {})
    assert row.status == Status.RUNNING, "what it wrote may be seen here a moment later"
    reconcile.step(row, [done], cluster, later, {})
    assert (row.status, row.reason) == (Status.FAILED, Reason.SEARCH_FAILED)


@pytest.mark.django_db
def test_one_whose_finalizer_is_gone_is_not_lost_while_it_is_read(cluster: ApiCluster) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=datetime.now(UTC) - timedelta(hours=1))
    cluster.create("jobs", body(READER, row.run_id, "elb-read-1"))
    reconcile.step(row, [], cluster, datetime.now(UTC), {})
    assert row.status == Status.RUNNING
    cluster.delete("jobs", "elb-read-1")
    reconcile.step(row, [], cluster, datetime.now(UTC), {})
    assert (row.status, row.reason) == (Status.FAILED, Reason.RUN_LOST)


@pytest.mark.django_db
def test_an_outcome_that_is_written_while_the_row_is_looked_at_ends_it(
    cluster: ApiCluster, server: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=datetime.now(UTC) - HOUR)
    handed(row.run_id, "cli")
    ended(server, cluster, body(READER, row.run_id, "elb-read-ab12"), "Failed")
    listed = reconcile.readers

    def meanwhile(submission: Submission, asked: ApiCluster) -> Any:
        write_outcome(store(), row.run_id, outcome("succeeded"))
        return listed(submission, asked)

    monkeypatch.setattr(reconcile, "readers", meanwhile)
    reconcile.step(row, [], cluster, datetime.now(UTC), {})
    assert row.status == Status.COMPLETED


@pytest.mark.django_db
def test_a_reader_that_has_no_condition_yet_is_waited_for(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=datetime.now(UTC) - HOUR)
    handed(row.run_id, "cli")
    counted = body(READER, row.run_id, "elb-read-ab12") | {"status": {"succeeded": 1}}
    monkeypatch.setattr(reconcile, "readers", lambda *asked: (counted,))
    reconcile.step(row, [], cluster, datetime.now(UTC), {})
    assert row.status == Status.RUNNING
    counted["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]}
    reconcile.step(row, [], cluster, datetime.now(UTC), {})
    assert row.reason == Reason.RESULTS_UNREAD and row.detail.endswith("has failed: DeadlineExceeded")


def handed(run_id: str, markers: Literal["cli", "ours"]) -> Handed:
    made = Handed("ab12", f"gs://b/{run_id}/ab12", "/nowhere", f"{run_id}/ab12", "table", markers, "1", 30)
    store().put(run_key(run_id, FILE), made.to_json())
    return made


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("followed", "reason", "words"),
    [
        ("Failed", Reason.RESULTS_UNREAD, "The Job that follows it has failed: "),
        ("gone", Reason.RESULTS_UNREAD, "The Job that follows it is gone."),
        ("Complete", Reason.RUN_LOST, "no finalizer"),
    ],
)
def test_results_that_nobody_could_read_may_be_there(
    cluster: ApiCluster, server: RunningCluster, followed: str, reason: Reason, words: str
) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING, submitted_at=datetime.now(UTC) - timedelta(hours=1))
    results = handed(row.run_id, "cli").results
    for attempt, end in [("0000", {"Failed": "Complete"}.get(followed, "Failed")), ("ab12", followed)]:
        if end != "gone":
            ended(server, cluster, body(READER, row.run_id, f"elb-read-{attempt}"), end)
    reconcile.step(row, [], cluster, datetime.now(UTC) + reconcile.OUTCOME_AFTER, {})
    assert (row.status, row.reason) == (Status.FAILED, reason) and words in row.detail
    assert (f"are at {results}." in row.detail) == (reason is Reason.RESULTS_UNREAD)


@pytest.mark.django_db
@pytest.mark.parametrize("engine", ["elastic-blast", "builtin"])
def test_a_finalizer_of_ours_that_fails_has_not_read_them(
    cluster: ApiCluster, server: RunningCluster, engine: str
) -> None:
    row = make(status=Status.RUNNING, phase=Phase.SEARCHING)
    if engine == "elastic-blast":
        handed(row.run_id, "ours")
    failed = ended(server, cluster, body("finalizer", row.run_id, naming.finalizer(row.run_id)), "Failed")
    reconcile.step(row, [failed], cluster, datetime.now(UTC), {})
    unread = engine == "elastic-blast"
    assert row.reason == (Reason.RESULTS_UNREAD if unread else Reason.SEARCH_FAILED)
    assert ("has failed: " in row.detail) == unread


def ended(server: RunningCluster, cluster: ApiCluster, job: dict[str, Any], how: str) -> dict[str, Any]:
    """A Job that has run to this end."""
    job["spec"] |= {"parallelism": 1, "backoffLimit": 0}
    job["spec"]["template"]["spec"]["containers"][0]["command"] = ["true" if how == "Complete" else "false"]
    cluster.create("jobs", job)
    found: dict[str, Any] = server.job_condition(job["metadata"]["name"], how)
    return found


@pytest.mark.django_db
def test_a_cancel_takes_away_the_job_that_reads_as_well(cluster: ApiCluster, server: RunningCluster) -> None:
    run = Runs(server, cluster)()
    run.parts()
    run.job(READER, "elb-read-1", "sleep", "300")
    until(lambda: len(cancel.pods_of(run.row, run.cluster)) == 1)
    until(run.over, 20)
    assert (run.row.status, run.left()) == (Status.CANCELLED, [])
    order = run.deleted()
    assert order.index("elb-read-1") < order.index(naming.finalizer(run.row.run_id))


def test_a_whole_search_in_an_installation(up: Callable[..., Running], tmp_path: Path) -> None:
    state, results = tmp_path / "s", tmp_path / "results"
    results.mkdir()
    environment = {
        "COORDUI_ENGINE": "elastic-blast",
        "COORDUI_ELASTIC_BLAST": str(fork(tmp_path)),
        "COORDUI_ELASTIC_BLAST_RESULTS": f"file://{results}",
        "COORDUI_ELASTIC_BLAST_PASS": "FORK_BLASTDB",
        "FORK_BLASTDB": str(state / "blastdb"),
    }
    running, visitor = start(up, state, **environment)
    key = visitor.search(">one\nVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPK\n", "globins")
    ended = visitor.reaches(key, "completed", "failed", within=90)
    assert ended["status"] == "completed" and ended["hits"] > 0, ended
    assert visitor.json("/readyz")["checks"]["engine"] == {"ok": True, "why": ""}
    shows_where_it_was_searched(visitor, key, results)
    assert running.stop() == 0


def shows_where_it_was_searched(visitor: Visitor, key: str, results: Path) -> None:
    page = visitor.text(f"/searches/{key}/")
    assert "elastic-blast 1.3.1.fork" in page and f"file://{results}/job-" in page
    assert 'id="to-formats"' in page  # of an archive every format can be made
    assert "its finalizer carries the id job-" in visitor.text(f"/searches/{key}/log/")
