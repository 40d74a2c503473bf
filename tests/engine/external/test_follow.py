"""From what elastic-blast leaves behind to an outcome: when it ended, how, and what of it can be read."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from submits.blast.facts import DatabaseFacts
from submits.engine.errors import EngineError, Exit
from submits.engine.external import results
from submits.engine.external.follow import AFTER, SILENT, follow, judge
from submits.engine.external.results import Ending, Unreadable
from submits.engine.external.settings import FILE, Handed
from submits.engine.outcome import read_outcome
from submits.engine.prepare import read_plan
from submits.gates import naming
from submits.states import Reason
from submits.work import run_key
from tests.engine.external.test_fork import three
from tests.engine.story import Stage
from tests.gates.trying import body

RUN = "job-" + "0" * 32


class Time:
    """Passes only where something waits; then `changes` come about, one a wait."""

    def __init__(self, *changes: Any) -> None:
        self.now, self.changes = 1000.0, list(changes)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.changes:
            self.changes.pop(0)()


@pytest.fixture
def at(tmp_path: Path) -> Path:
    found = tmp_path / "results"
    found.mkdir()
    return found


def handed(at: Path, run_id: str = RUN, **changed: Any) -> Handed:
    found = Handed("ab12", f"gs://b/{run_id}/ab12", str(at), f"{run_id}/ab12", "table", "cli", "1", 30, submitted=True)
    return replace(found, **changed)


def left(at: Path, name: str, content: bytes = b"", run_id: str = RUN) -> None:
    path = at / run_id / "ab12" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize("below", ["", f"{RUN}/"])
def test_its_words_are_found_below_the_address_and_below_the_id(at: Path, below: str) -> None:
    assert results.ending(handed(at), RUN) is None
    left(at, f"{below}metadata/SUCCESS.txt")
    assert results.ending(handed(at), RUN) == Ending("succeeded")
    left(at, f"{below}metadata/FAILURE.txt", b"BLAST engine error\n")
    left(at, f"{below}metadata/FAILURE_details.txt", b"out of memory\n")
    assert results.ending(handed(at), RUN) == Ending("failed", "BLAST engine error\n\nout of memory")
    assert results.ending(handed(at, key=f"{RUN}/other"), RUN) is None  # another try's


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "not all of it is at gs://b/.*: there is no batch"),
        ({"batch_000-blastp-db.out.gz": b"", "batch_002-blastp-db.out.gz": b""}, r"its batches are \[0, 2\]"),
        ({"batch_000-blastp-db.out.gz": b"no gzip"}, "cannot be read: Not a gzipped file"),
        ({"batch_000-blastp-db.out.gz": gzip.compress(b"x" * 5000)[:-8]}, "cannot be read: Compressed file ended"),
        ({"batch_000-blastp-db.out.gz": gzip.compress(b"a\tb\n")}, "is no table as it was asked for: 2 cells"),
    ],
)
def test_what_is_not_whole_is_no_result(
    stage: Stage, made: dict[str, DatabaseFacts], at: Path, files: dict[str, bytes], sentence: str
) -> None:
    plan = read_plan(stage.store, stage.prepared(three(), made["globins"]))
    for name, content in files.items():
        left(at, name, content, plan.run_id)
    with pytest.raises(Unreadable, match=sentence):
        results.collect(stage.store, plan, handed(at, plan.run_id))


def test_an_archive_without_its_database_is_elsewhere(stage: Stage, made: dict[str, DatabaseFacts], at: Path) -> None:
    run_id = stage.prepared(three(), made["globins"])
    left(at, "batch_000-blastp-globins.out.gz", gzip.compress(b"no archive"), run_id)
    left(at, "metadata/SUCCESS.txt", b"", run_id)
    ours = handed(at, run_id, form="archive", markers="ours")
    stage.store.put(run_key(run_id, FILE), ours.to_json())
    assert follow(stage.api, stage.store, run_id, "ab12", wait=Time().wait) is Exit.UNKNOWN
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None
    assert (outcome.reason, outcome.message) == (Reason.RESULTS_ELSEWHERE, f"Its results are at gs://b/{run_id}/ab12.")
    assert "cannot be read with the database that is here" in outcome.detail


def job(app: str, *conditions: str) -> dict[str, Any]:
    made = [{"type": kind, "status": "True", "reason": "R", "message": "words"} for kind in conditions]
    return {"metadata": {"name": app, "labels": {"app": app}}, "status": {"conditions": made}}


@pytest.mark.parametrize(
    ("finalizer", "blast", "kind"),
    [
        (["Complete"], [["Complete"], ["Complete"]], "succeeded"),
        (["Complete"], [["SuccessCriteriaMet", "Complete"]], "succeeded"),
        (["Complete"], [["Complete"], ["Failed"]], "failed"),
        (["Complete"], [["Complete"], []], "failed"),
        (["Complete"], [], "failed"),
        (["Failed"], [["Complete"]], "failed"),
    ],
)
def test_a_finalizer_that_completed_says_nothing_of_its_batches(
    finalizer: list[str], blast: list[list[str]], kind: str
) -> None:
    assert judge(job("finalizer", *finalizer), tuple(job("blast", *held) for held in blast)).kind == kind


class Followed:
    def __init__(self, stage: Stage, run_id: str, handed: Handed) -> None:
        self.stage, self.run_id = stage, run_id
        self.put(handed)

    def put(self, handed: Handed) -> None:
        self.stage.store.put(run_key(self.run_id, FILE), handed.to_json())

    def to_its_end(self, time: Time) -> Exit:
        return follow(self.stage.api, self.stage.store, self.run_id, "ab12", wait=time.wait, now=lambda: time.now)


@pytest.fixture
def run_id(stage: Stage, made: dict[str, DatabaseFacts]) -> str:
    return stage.prepared(three(), made["globins"])


def test_a_submit_that_was_cut_off_ends_the_search_that_only_we_mark(stage: Stage, run_id: str, at: Path) -> None:
    time = Time()
    one = Followed(stage, run_id, handed(at, run_id, markers="ours", submitted=False))
    assert one.to_its_end(time) is Exit.UNKNOWN
    assert 1030 <= time.now <= 1035
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and outcome.detail.startswith("its submit was cut off")


def test_with_its_own_marker_the_finalizer_decides_whether_there_is_anything(
    stage: Stage, run_id: str, at: Path
) -> None:
    cut = handed(at, run_id, submitted=False)
    assert Followed(stage, run_id, cut).to_its_end(Time()) is Exit.OK
    assert Followed(stage, run_id, handed(at, run_id)).to_its_end(Time()) is Exit.OK
    assert read_outcome(stage.store, run_id) is None
    stage.api.create("jobs", body("finalizer", run_id, naming.finalizer(run_id)))
    time = Time(*[lambda: None] * 8, lambda: left(at, "metadata/FAILURE.txt", b"words", run_id))
    assert Followed(stage, run_id, cut).to_its_end(time) is Exit.UNKNOWN
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and outcome.detail == "words"


def test_a_later_try_is_another_pods(stage: Stage, run_id: str, at: Path) -> None:
    one = Followed(stage, run_id, handed(at, run_id, markers="ours"))

    def handed_over_again() -> None:
        one.put(handed(at, run_id, markers="ours", attempt="cd34"))
        left(at, "metadata/FAILURE.txt", b"words", run_id)

    assert one.to_its_end(Time(handed_over_again)) is Exit.OK
    assert read_outcome(stage.store, run_id) is None


def test_an_end_without_a_word_is_waited_for_and_then_judged(stage: Stage, run_id: str, at: Path) -> None:
    finalizer = body("finalizer", run_id, naming.finalizer(run_id))
    finalizer["spec"] |= {"parallelism": 1, "backoffLimit": 0}
    finalizer["spec"]["template"]["spec"]["containers"][0]["command"] = ["true"]
    stage.api.create("jobs", finalizer)
    stage.finalizer(run_id, "Complete")
    time = Time()
    assert Followed(stage, run_id, handed(at, run_id)).to_its_end(time) is Exit.UNKNOWN
    assert time.now - 1000 >= AFTER
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and "ended without a word" in outcome.detail


def test_a_place_that_cannot_be_read_is_asked_again_and_then_left_to_the_next_try(
    stage: Stage, run_id: str, at: Path
) -> None:
    time = Time()
    one = Followed(stage, run_id, replace(handed(at, run_id, markers="ours"), at="https://nowhere/x"))
    with pytest.raises(EngineError, match="cannot be followed") as caught:
        one.to_its_end(time)
    assert caught.value.status is Exit.NOT_READY and time.now - 1000 > SILENT
    assert read_outcome(stage.store, run_id) is None
