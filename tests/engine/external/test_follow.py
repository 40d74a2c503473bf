"""From what elastic-blast leaves behind to an outcome: when it ended, and how."""

from __future__ import annotations

import errno
import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from submits.blast.facts import DatabaseFacts
from submits.engine.errors import EngineError, Exit
from submits.engine.external.follow import AFTER, LATE, SILENT, SOON, WHOLE, follow, judge
from submits.engine.external.settings import FILE, Handed
from submits.engine.outcome import read_outcome
from submits.gates import naming
from submits.states import Reason
from submits.work import Unstored, WorkStore, run_key
from tests.engine.external.leaving import asked, at, handed, left, out, whole
from tests.engine.external.test_fork import three
from tests.engine.story import Stage
from tests.gates.trying import body

__all__ = ["at"]


class Time:
    """Passes only where something waits; then `changes` come about, one a wait."""

    def __init__(self, *changes: Any) -> None:
        self.now, self.changes = 1000.0, list(changes)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.changes:
            self.changes.pop(0)()


def test_an_archive_without_its_database_is_elsewhere(stage: Stage, made: dict[str, DatabaseFacts], at: Path) -> None:
    run_id = stage.prepared(three(), made["globins"])
    asked(at, 1, run_id)
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


def test_what_a_cut_off_submit_has_left_counts_before_that_it_was_cut_off(stage: Stage, run_id: str, at: Path) -> None:
    """It had been submitted, and could not keep that: its results come, and then its word."""
    asked(at, 2, run_id)
    left(at, out(0), gzip.compress(b""), run_id)
    time = Time(*[lambda: None] * 30, lambda: whole(at, run_id, 2))
    one = Followed(stage, run_id, handed(at, run_id, markers="ours", submitted=False))
    assert one.to_its_end(time) is Exit.OK
    assert time.now > 1030 + SOON


@pytest.mark.parametrize("submitted", [True, False])
def test_its_word_counts_although_its_finalizer_is_gone(stage: Stage, run_id: str, at: Path, submitted: bool) -> None:
    whole(at, run_id, 1)
    assert Followed(stage, run_id, handed(at, run_id, submitted=submitted)).to_its_end(Time()) is Exit.OK
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and outcome.status == "succeeded"


def test_a_success_that_comes_early_waits_for_the_rest_of_its_batches(stage: Stage, run_id: str, at: Path) -> None:
    """Those that come keep it waiting, and so does a Job that is at work; the queries' own may go meanwhile."""
    asked(at, 3, run_id)
    left(at, "metadata/SUCCESS.txt", b"", run_id)
    left(at, out(1), gzip.compress(b""), run_id)
    stage.api.create("jobs", body("blast", run_id, "blast-at-work"))
    quiet = [lambda: None] * 300
    time = Time(
        *quiet,
        lambda: stage.api.delete("jobs", "blast-at-work"),
        lambda: shutil.rmtree(at / run_id / "ab12/query_batches"),
        *[lambda: None] * 20,
        lambda: left(at, out(0), gzip.compress(b""), run_id),
        *[lambda: None] * 20,
        lambda: left(at, out(2), gzip.compress(b""), run_id),
    )
    assert Followed(stage, run_id, handed(at, run_id)).to_its_end(time) is Exit.OK
    assert time.now - 1000 > WHOLE and not time.changes
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and (outcome.status, outcome.batches) == ("succeeded", 3)


@pytest.mark.parametrize("lost", [0, 2])
def test_a_success_whose_results_do_not_come_is_elsewhere(stage: Stage, run_id: str, at: Path, lost: int) -> None:
    whole(at, run_id, 3)
    (at / run_id / "ab12" / out(lost)).unlink()
    time = Time()
    assert Followed(stage, run_id, handed(at, run_id)).to_its_end(time) is Exit.UNKNOWN
    assert WHOLE <= time.now - 1000 <= WHOLE + 2 * LATE
    outcome = read_outcome(stage.store, run_id)
    assert outcome is not None and outcome.reason == Reason.RESULTS_ELSEWHERE
    assert f"missing: {lost:03d}" in outcome.detail


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


@pytest.mark.parametrize("times", [3, 1000])
@pytest.mark.parametrize(
    ("verb", "end", "error"),
    [
        ("open", ".out.gz", Unstored("no answer within 8 s")),
        ("open", ".out.gz", OSError(errno.EIO, "the file system is away")),
        ("writing", ".tsv", Unstored("no answer within 8 s")),
    ],
)
def test_a_store_that_fails_while_results_are_read_says_nothing_of_them(
    stage: Stage, run_id: str, at: Path, monkeypatch: pytest.MonkeyPatch,
    verb: str, end: str, error: OSError, times: int,
) -> None:  # fmt: skip
    """They are read again, and then left to the next try: a search that has succeeded does not end by it."""
    whole(at, run_id, 2)
    real, failures = getattr(WorkStore, verb), iter(range(times))

    def away(self: WorkStore, key: str) -> Any:
        if key.endswith(end) and next(failures, None) is not None:
            raise error
        return real(self, key)

    monkeypatch.setattr(WorkStore, verb, away)
    time = Time()
    one = Followed(stage, run_id, handed(at, run_id))
    if times == 3:
        assert one.to_its_end(time) is Exit.OK
        outcome = read_outcome(stage.store, run_id)
        assert outcome is not None and (outcome.status, outcome.batches) == ("succeeded", 2)
    else:
        with pytest.raises(EngineError, match="cannot be followed") as caught:
            one.to_its_end(time)
        assert caught.value.status is Exit.NOT_READY and time.now - 1000 > SILENT
        assert read_outcome(stage.store, run_id) is None
