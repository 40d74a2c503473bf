"""Batches with the real BLAST+, without a cluster: splitting changes nothing, failures keep BLAST's words."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from submits import demo
from submits.blast import table
from submits.blast.facts import DatabaseFacts
from submits.blast.plan import Plan, batches
from submits.blast.split import Rule
from submits.engine import batch as one
from submits.engine.batch import read_record
from submits.engine.merge import merge
from submits.engine.prepare import out_key, prepare, read_plan
from submits.work import Missing, WorkStore, run_key
from tests.engine.story import new_id, read
from tests.making import killed_while_making


def unsplit(text: str, database: DatabaseFacts, directory: Path, options: dict[str, str]) -> bytes:
    """What BLAST itself writes for all queries at once, straight as a table."""
    search = read(text, database, **options)
    query = directory / "all.fa"
    query.write_bytes(b"".join(chain.from_iterable(batches(search))))
    argv = [*search.argv(), "-query", str(query), "-parse_deflines", "-db", database.path, "-outfmt", table.OUTFMT]
    return subprocess.run(argv, check=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL).stdout


class Case(NamedTuple):
    key: str
    text: str
    letters: int
    options: dict[str, str]


def run_all(store: WorkStore, plan: Plan) -> None:
    for number in range(1, plan.batches + 1):
        assert one.run(store, plan.run_id, number) == 0, read_record(store, plan.run_id, number)


@pytest.mark.parametrize(
    "case",
    [
        Case(
            "globins", demo.EXAMPLE.query() + demo.text("sevenless") + demo.records("kinases", 4), 900, {"evalue": "10"}
        ),
        Case("globins", demo.windows("hbb_human", 20, 17), 60, {"task": "blastp-short", "evalue": "1000"}),
        Case("lambda", demo.records("reads", 9), 1100, {"task": "blastn", "evalue": "10"}),
        Case("made1", demo.records("made1", 6), 160, {"task": "megablast", "low_complexity": "no"}),
    ],
)
def test_split_and_merged_is_byte_for_byte_the_unsplit_run(
    made: dict[str, DatabaseFacts], store: WorkStore, tmp_path: Path, case: Case
) -> None:
    database = made[case.key]
    search = read(case.text, database, **case.options)
    plan = prepare(store, search, database, new_id(), rule=Rule(case.letters))
    assert plan.batches >= 3
    run_all(store, plan)
    summary = merge(store, plan)
    merged = store.get(run_key(plan.run_id, "hits.tsv"))
    assert merged == unsplit(case.text, database, tmp_path, case.options) != b""
    assert sum(query.hsps for query in summary.queries) == merged.count(b"\n")
    assert merge(store, plan) == summary
    assert store.get(run_key(plan.run_id, "hits.tsv")) == merged


def test_preparing_twice_changes_nothing(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    run_id = new_id()
    first = prepare(store, read(demo.EXAMPLE.query(), made["globins"]), made["globins"], run_id, rule=Rule(200))
    again = prepare(store, read(demo.text("globins"), made["globins"]), made["globins"], run_id)
    assert again == first == read_plan(store, run_id)
    assert len(store.names(run_key(run_id, "batches"))) == first.batches == 3


def test_a_batch_that_is_done_is_not_run_again(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    plan = prepare(store, read(demo.EXAMPLE.query(), made["globins"]), made["globins"], new_id())
    run_all(store, plan)
    record, before = read_record(store, plan.run_id, 1), store.info(out_key(plan.run_id, 1, "tsv"))
    run_all(store, plan)
    assert store.info(out_key(plan.run_id, 1, "tsv")) == before
    assert record is not None and record.argv[0] == "blastp" and record.exit == 0 and record.seconds > 0
    assert [name.rpartition("/")[2] for name in store.names(run_key(plan.run_id, "out"))] == [
        "0001.asn",
        "0001.hits.json",
        "0001.json",
        "0001.tsv",
    ]
    # Half a batch, as a killed try leaves it, is run again.
    store.delete(out_key(plan.run_id, 1, "tsv"))
    run_all(store, plan)
    assert store.exists(out_key(plan.run_id, 1, "tsv"))


def test_what_killed_pods_have_left_is_taken_away(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    plan = prepare(store, read(demo.EXAMPLE.query(), made["globins"]), made["globins"], new_id())
    directory = store.directory(run_key(plan.run_id))
    assert directory is not None
    for key in (out_key(plan.run_id, 1, "asn"), run_key(plan.run_id, "hits.tsv")):
        killed_while_making(Path(store.url), key)
    assert len(list(directory.rglob("half"))) == 2
    run_all(store, plan)
    assert len(list(directory.rglob("half"))) == 1
    merge(store, plan)
    assert list(directory.rglob(".*")) == []


def test_a_failure_keeps_blasts_status_and_words(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    gone = DatabaseFacts("gone", "Gone", "/nowhere/gone", "prot", 1, 1, "")
    plan = prepare(store, read(demo.EXAMPLE.query(), made["globins"]), gone, new_id())
    assert one.run(store, plan.run_id, 1) == 2
    record = read_record(store, plan.run_id, 1)
    assert record is not None and record.exit == 2 and "No alias or index file found" in record.stderr
    assert not store.exists(out_key(plan.run_id, 1, "tsv"))
    with pytest.raises(Missing):
        merge(store, plan)
    assert not store.exists(run_key(plan.run_id, "hits.tsv"))


def test_a_merge_of_cut_off_tables_is_refused(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    plan = prepare(store, read(demo.EXAMPLE.query(), made["globins"]), made["globins"], new_id(), rule=Rule(200))
    run_all(store, plan)
    whole = store.get(out_key(plan.run_id, 2, "tsv"))
    for spoiled in (whole[:-40], store.get(out_key(plan.run_id, 1, "tsv"))):
        store.put(out_key(plan.run_id, 2, "tsv"), spoiled)
        with pytest.raises(table.BadRow):
            merge(store, plan)
    assert not store.exists(run_key(plan.run_id, "hits.tsv"))


def test_a_batch_loads_no_kubernetes_client() -> None:
    code = (
        "import sys; from submits.engine import cli; cli._parser(); import submits.engine.batch\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('kubernetes', 'urllib3', 'django')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"
