"""Every format of a split search equals what BLAST writes of all queries at once, and then has the author's names."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from submits import demo
from submits.blast import finishing, formats, known
from submits.blast.facts import DatabaseFacts
from submits.blast.findings import Finding
from submits.blast.formats import Chosen
from submits.blast.intake import read_search
from submits.blast.plan import Plan, batches, command
from submits.blast.programs import PROGRAMS, executable
from submits.blast.split import Rule
from submits.engine import batch as one
from submits.engine import formatting, requested
from submits.engine.errors import EngineError
from submits.engine.merge import merge
from submits.engine.prepare import prepare
from submits.work import WorkStore, run_key
from tests.engine.story import new_id

GENES = (
    ">g1 beta globin, coding\nATGGTGCATCTGACTCCTGAGGAGAAGTCTGCCGTTACTGCCCTGTGGGGCAAGGTGAACGTGGATGAAGTTGGTGGTGAGGC\n"
    "CCTGGGCAGGCTGCTGGTGGTC\n"
)
PEPTIDES = (
    ">p1 phage head\nMELKATTLGKRLAQHPYDRAVILNAGIKVSGDRHEYLIPFNQLLAIHCKRGLVWGELEFVLPDEKVVRLHGTEWGETQRFYHHLD\n"
    "AHWRRWSGEMSEIAS\n"
    ">none\n" + "W" * 30 + "\n"
    ">p2\nMSEVKTWRVRVDGEWRTFATPEELARALGLTRATVTRWLNGRTRPGRETLRALARVLGVSVEELLG\n"
)


class Case(NamedTuple):
    program: str
    database: str
    text: str
    letters: int
    options: dict[str, str]


HAEM = demo.EXAMPLE.query() + demo.records("kinases", 2)
READS = demo.records("reads", 5) + f">none\n{'ACCT' * 20}\n"
CASES = [
    Case("blastn", "lambda", READS, 1100, {"task": "blastn", "evalue": "10"}),
    Case("blastp", "globins", HAEM, 900, {"evalue": "10"}),
    Case("blastx", "globins", GENES + demo.records("made1", 2), 150, {"evalue": "1000"}),
    Case("tblastn", "lambda", PEPTIDES, 100, {"evalue": "100"}),
    Case("tblastx", "lambda", demo.records("reads", 3), 400, {}),
    Case("psiblast", "globins", HAEM, 900, {}),
    Case("rpsblast", "profiles", HAEM, 900, {"evalue": "10"}),
    Case("rpstblastn", "profiles", GENES + demo.records("reads", 2), 200, {"evalue": "100"}),
]


class Split(NamedTuple):
    """A search that was run in batches, and all its queries in one file."""

    store: WorkStore
    plan: Plan
    whole: Path

    def direct(self, outfmt: str) -> bytes:
        argv = command(self.plan, query=str(self.whole), database=self.plan.database.path, out="-")
        argv[argv.index("-outfmt") + 1] = outfmt
        argv[0] = executable(argv[0])
        done = subprocess.run(argv, check=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        return done.stdout

    def corrected(self, chosen: Chosen, numbers: finishing.Statistics, directory: Path) -> bytes:
        """What is made, before the author's names are put back."""
        raw = formatting.raw_format(self.store, self.plan, chosen, directory)
        lines = raw.read_bytes().splitlines(keepends=True)
        return b"".join(finishing.corrected(lambda: lines, chosen, len(self.plan.queries), numbers))

    def made(self, name: str, *columns: str) -> bytes:
        chosen = formats.choose(self.plan.program, name, columns)
        assert isinstance(chosen, Chosen), chosen
        requested.ask(self.store, self.plan.run_id, chosen)
        assert formatting.make(self.store, self.plan.run_id, chosen.key) == 0
        return self.store.get(requested.key(self.plan.run_id, chosen.file))


def split(store: WorkStore, case: Case, database: DatabaseFacts) -> Split:
    search = read_search(case.text, program=case.program, database=database, options=case.options)
    assert not isinstance(search, tuple), search
    plan = prepare(store, search, database, new_id(), rule=Rule(case.letters))
    assert plan.batches >= 2
    for number in range(1, plan.batches + 1):
        assert one.run(store, plan.run_id, number) == 0, one.read_record(store, plan.run_id, number)
    merge(store, plan)
    whole = Path(store.url, run_key(plan.run_id, "whole.fa"))
    whole.write_bytes(b"".join(chain.from_iterable(batches(search, rule=Rule(case.letters)))))
    return Split(store, plan, whole)


@pytest.fixture(scope="module")
def known_databases(made: dict[str, DatabaseFacts], profiles: DatabaseFacts) -> dict[str, DatabaseFacts]:
    return {**made, "profiles": profiles}


@pytest.mark.parametrize("case", CASES, ids=[case.program for case in CASES])
def test_split_is_byte_for_byte_the_unsplit_run(
    known_databases: dict[str, DatabaseFacts], store: WorkStore, tmp_path: Path, case: Case
) -> None:
    ran = split(store, case, known_databases[case.database])
    names = ["tabular", "csv", "commented"]
    names += ["xml", "json", "xml2"] if case.program in ("blastn", "blastp") else []
    numbers = formatting.statistics(store, ran.plan, tmp_path) if len(names) > 3 else {}
    for name in names:
        chosen = Chosen(name)
        assert ran.corrected(chosen, numbers, tmp_path) == ran.direct(chosen.format.outfmt), name
    assert ran.made("tabular").count(b"\n") > 1, "a search without hits shows nothing"


def test_every_program_is_there() -> None:
    assert {case.program for case in CASES} == set(PROGRAMS)


NAMED = f'>sp|A,"1 Epichloë <i> & "q" \\\n{demo.text("hbb_human").split(chr(10), 1)[1]}>same one\n' + (
    f"{demo.text('hbb_human').split(chr(10), 1)[1]}>same\nMKIPNIGNVMNKFEILGVVGEGAYGVVLK\n"
)
NAMES = ['sp|A,"1 Epichloë <i> & "q" \\', "same one", "same"]


@pytest.fixture(scope="module")
def named(made: dict[str, DatabaseFacts], tmp_path_factory: pytest.TempPathFactory) -> Split:
    store = WorkStore(str(tmp_path_factory.mktemp("work")))
    return split(store, Case("blastp", "globins", NAMED, 200, {}), made["globins"])


def test_the_authors_names_are_put_back_everywhere(named: Split) -> None:
    for name, root in (("xml", ElementTree.fromstring(named.made("xml"))),):
        titles = [each.text for each in root.iter("Iteration_query-def")]
        assert titles == NAMES and root.findtext("BlastOutput_query-def") == NAMES[0], name
        assert [each.text for each in root.iter("Iteration_query-ID")] == ["Query_1", "Query_2", "Query_3"]
        assert root.findtext("BlastOutput_db") == "globins"
    reports = [entry["report"]["results"]["search"] for entry in json.loads(named.made("json"))["BlastOutput2"]]
    assert [(each["query_id"], each["query_title"]) for each in reports] == [
        (f"Query_{number}", title) for number, title in enumerate(NAMES, 1)
    ]
    root = ElementTree.fromstring(named.made("xml2"))
    assert [each.text for each in root.iter("{http://www.ncbi.nlm.nih.gov}query-title")] == NAMES
    rows = list(csv.reader(io.StringIO(named.made("csv").decode())))
    assert list(dict.fromkeys(row[0] for row in rows)) == ['sp|A,"1', "same"]
    assert {len(row) for row in rows} == {12}
    text = named.made("commented").decode()
    assert [line for line in text.splitlines() if line.startswith("# Query: ")] == [
        f"# Query: {name}" for name in NAMES
    ]
    assert "# Database: globins\n" in text and text.endswith("# BLAST processed 3 queries\n")
    assert f"Query= {NAMES[1]}\n" in named.made("pairwise").decode()


def test_no_made_file_tells_of_the_machine_or_of_inner_names(named: Split) -> None:
    for known_format in formats.offered("blastp"):
        text = named.made(known_format.name)
        assert str(Path(named.plan.database.path).parent).encode() not in text, known_format.name
        assert named.store.url.encode() not in text and b"q00000" not in text, known_format.name


def test_columns_are_chosen_from_blasts_own(named: Split) -> None:
    rows = named.made("tabular", "sseqid", "qseqid", "evalue", "qacc").decode().splitlines()
    cells = [row.split("\t") for row in rows]
    assert {(len(row), row[1]) for row in cells} == {(4, 'sp|A,"1'), (4, "same")}
    assert all(row[1] == row[3] for row in cells)
    for columns in (["nosuch"], ["evalue; id"], ["delim=@"], list(known.columns()) * 2 + ["std"]):
        assert isinstance(formats.choose("blastp", "csv", columns), Finding)
    assert isinstance(formats.choose("blastp", "sam"), Finding) and isinstance(
        formats.choose("blastp", "../x"), Finding
    )


def test_whole_subjects_are_read_from_the_database(named: Split) -> None:
    text = named.made("subjects").decode()
    table = named.store.get(run_key(named.plan.run_id, "hits.tsv")).decode().splitlines()
    subjects = dict.fromkeys(line.split("\t")[1] for line in table)
    assert [line[1:].split()[0] for line in text.splitlines() if line.startswith(">")] == list(subjects)
    source = {record.split(None, 1)[0]: record for record in demo.text("globins").split(">")[1:]}
    for record in text.split(">")[1:]:
        assert "".join(record.splitlines()[1:]) == "".join(source[record.split(None, 1)[0]].splitlines()[1:])


def test_sam_has_one_header_before_all_rows(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    ran = split(store, CASES[0], made["lambda"])
    lines = ran.made("sam").decode().splitlines()
    headers = [line for line in lines if line.startswith("@")]
    assert lines[: len(headers)] == headers and [line[:3] for line in headers].count("@HD") == 1
    known_names = {query.name for query in ran.plan.queries}
    assert {line.split("\tSN:")[1].split("\t")[0] for line in headers if line.startswith("@SQ")} <= known_names
    direct = ran.direct("17").decode().splitlines()
    inner = {query.name: query.id for query in ran.plan.queries}
    rows = [line.split("\t") for line in lines[len(headers) :]]
    assert ["\t".join([row[0], row[1], inner[row[2]], *row[3:]]) for row in rows] == [
        line for line in direct if not line.startswith("@")
    ]


def test_what_cannot_be_made_says_why_and_can_be_tried_again(made: dict[str, DatabaseFacts], store: WorkStore) -> None:
    ran = split(store, Case("blastp", "globins", demo.EXAMPLE.query(), 200, {}), made["globins"])
    chosen, run_id = Chosen("json"), ran.plan.run_id
    assert requested.standing(store, run_id, chosen).state == "absent"
    archive = run_key(run_id, "out", "0002.asn")
    whole = store.get(archive)
    store.put(archive, whole[:-400])
    with pytest.raises(EngineError):
        ran.made("json")
    failed = requested.standing(store, run_id, chosen)
    assert failed.state == "failed" and failed.words
    assert [name for name in store.names(run_key(run_id, "formats")) if name.endswith("json.asked")]
    store.put(archive, whole)
    requested.ask(store, run_id, chosen)
    assert requested.standing(store, run_id, chosen).state == "asked" and requested.attempt(store, run_id, "json") == 2
    assert json.loads(ran.made("json"))["BlastOutput2"]
    assert requested.standing(store, run_id, chosen).state == "made"
