"""Where its results are, whether they are whole, and what of them can be read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from submits.blast.facts import DatabaseFacts
from submits.engine.external import results
from submits.engine.external.results import Ending, Seen, Unreadable
from submits.engine.prepare import read_plan
from tests.engine.external.leaving import RUN, asked, at, handed, left, out
from tests.engine.external.test_fork import three
from tests.engine.story import Stage

__all__ = ["at"]


@pytest.mark.parametrize("below", ["", f"{RUN}/"])
def test_its_words_are_found_below_the_address_and_below_the_id(at: Path, below: str) -> None:
    assert results.look(handed(at), RUN).ending is None
    left(at, f"{below}metadata/SUCCESS.txt")
    assert results.look(handed(at), RUN).ending == Ending("succeeded")
    left(at, f"{below}metadata/FAILURE.txt", b"BLAST engine error\n")
    left(at, f"{below}metadata/FAILURE_details.txt", b"out of memory\n")
    assert results.look(handed(at), RUN).ending == Ending("failed", "BLAST engine error\n\nout of memory")
    assert results.look(handed(at, key=f"{RUN}/other"), RUN) == Seen()  # another try's


@pytest.mark.parametrize(
    ("batches", "whole"),
    [([0, 1, 2], True), ([1, 2], False), ([0, 1], False), ([0, 2], False), ([], False), ([0, 1, 2, 3], False)],
)
@pytest.mark.parametrize("said", ["by the batches of its queries", "by its number of Jobs", "by nothing"])
def test_it_is_whole_with_results_of_each_batch_that_it_made_and_no_other(
    at: Path, batches: list[int], whole: bool, said: str
) -> None:
    for number in batches:
        left(at, out(number))
    if said == "by the batches of its queries":
        asked(at, 3)
    elif said == "by its number of Jobs":
        left(at, "metadata/num_jobs_submitted.txt", b"3\n")
    assert results.look(handed(at), RUN).whole == (whole and said != "by nothing")


def test_batches_of_queries_that_do_not_begin_at_the_first_are_not_all_of_them(at: Path) -> None:
    for number in (1, 2):
        left(at, f"query_batches/batch_{number:03d}.fa")
        left(at, out(number))
    assert not results.look(handed(at), RUN).whole


@pytest.mark.parametrize(
    ("many", "files", "sentence"),
    [
        (0, {out(0): b""}, "not all of it is at gs://b/.*: nothing says how many batches there were"),
        (3, {}, "it made 3 batches, and there are results of 0; missing: 000, 001, 002"),
        (3, {out(1): b"", out(2): b""}, "there are results of 2; missing: 000"),
        (1, {out(0): b"no gzip"}, "cannot be read: Not a gzipped file"),
        (1, {out(0): gzip.compress(b"x" * 5000)[:-8]}, "cannot be read: Compressed file ended"),
        (1, {out(0): gzip.compress(b"a\tb\n")}, "is no table as it was asked for: 2 cells"),
    ],
)
def test_what_is_not_whole_is_no_result(
    stage: Stage, made: dict[str, DatabaseFacts], at: Path, many: int, files: dict[str, bytes], sentence: str
) -> None:
    plan = read_plan(stage.store, stage.prepared(three(), made["globins"]))
    asked(at, many, plan.run_id)
    for name, content in files.items():
        left(at, name, content, plan.run_id)
    ours = handed(at, plan.run_id)
    with pytest.raises(Unreadable, match=sentence):
        results.collect(stage.store, plan, ours, results.look(ours, plan.run_id))


@pytest.mark.parametrize(
    ("formatting", "path", "sentence"), [(0.0, "", "within 0 s"), (60.0, "/nowhere", "No such file .*blast_formatter")]
)
def test_an_archive_that_is_not_read_in_time_or_by_nothing_is_elsewhere(
    stage: Stage, made: dict[str, DatabaseFacts], at: Path, monkeypatch: pytest.MonkeyPatch,
    formatting: float, path: str, sentence: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(results, "FORMATTING", formatting)
    plan = read_plan(stage.store, stage.prepared(three(), made["globins"]))
    asked(at, 1, plan.run_id)
    left(at, out(0), gzip.compress(b""), plan.run_id)
    ours = handed(at, plan.run_id, form="archive")
    monkeypatch.setenv("PATH", path or os.environ["PATH"])
    with pytest.raises(Unreadable, match=f"could not be made a table.* {sentence}"):
        results.collect(stage.store, plan, ours, results.look(ours, plan.run_id))
