from __future__ import annotations

import csv
import io

import pytest

from submits import demo
from submits.blast import downloads, table
from submits.blast.facts import DatabaseFacts
from submits.blast.fasta import Records, read
from submits.blast.summary import Summary
from tests.blast.reading import Counting
from tests.blast.searching import searched

HBB = demo.text("hbb_human").split("\n", 1)[1]


def test_the_table_has_every_column_and_the_authors_names(globins: DatabaseFacts) -> None:
    found = searched(f'>=HYPERLINK("x") Epichloë\n{HBB}>same +1\n{HBB}>same\n{HBB}', globins)
    text = b"".join(downloads.tsv(found.lines, found.summary)).decode()
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert list(rows[0]) == [*table.COLUMNS, "qtitle", "qnumber"]
    assert len(rows) == len(found.lines)
    assert list(dict.fromkeys((row["qnumber"], row["qseqid"], row["qtitle"]) for row in rows)) == [
        ("1", '\'=HYPERLINK("x")', "Epichloë"),
        ("2", "same", "'+1"),
        ("3", "same", ""),
    ]
    for row, line in zip(rows, found.lines, strict=True):
        given = table.parse(line.decode())
        assert (row["saccver"], float(row["evalue"]), row["sseq"]) == (given.saccver, given.evalue, given.sseq)


def test_numbers_are_left_as_numbers(phage: DatabaseFacts) -> None:
    found = searched(demo.records("reads", 1), phage)
    row = b"".join(downloads.tsv(found.lines, found.summary)).decode().splitlines()[1].split("\t")
    assert row[table.COLUMNS.index("sframe")] == "-1"


def test_text_that_a_spreadsheet_would_run_is_made_text() -> None:
    for cell in ("=1+1", "+1", "-1", "@SUM(A1)"):
        assert downloads.safe(cell) == f"'{cell}"
    assert downloads.safe("a=b") == "a=b"
    assert downloads.safe("a\tb\r\nc") == "a b  c"


def test_subject_parts_are_fasta_without_gaps_and_without_repeats(globins: DatabaseFacts) -> None:
    found = searched(f">a\n{HBB}>b\n{HBB}", globins)
    records = read(b"".join(downloads.fasta(found.lines, found.summary)))
    assert isinstance(records, Records) and not records.notices
    rows = [row for hit in found.hits(1) for row in hit.hsps]
    assert len(records.queries) == len(rows)
    by_name = {query.name: query for query in records.queries}
    for row in rows:
        part = by_name[f"{row.saccver}:{row.sstart}-{row.send}"]
        assert part.sequence == row.sseq.replace("-", "")
        assert part.title.endswith(f"[query=a] [evalue={row.evalue:g}]")
    assert all(
        len(line) <= 60
        for line in b"".join(downloads.fasta(found.lines, found.summary)).decode().splitlines()
        if line[0] != ">"
    )


def test_parts_of_subjects_that_share_a_name_are_all_there(globins: DatabaseFacts) -> None:
    found = searched(f">a\n{HBB}", globins)
    cells = found.lines[0].decode().split("\t")
    place = table.COLUMNS.index("sseq")
    other = "\t".join([*cells[:place], cells[place].replace("V", "I"), *cells[place + 1 :]]).encode()
    text = b"".join(downloads.fasta([found.lines[0], other, found.lines[0]], found.summary))
    assert text.count(b">") == 2


def test_of_what_comes_after_very_many_parts_repeats_are_written(
    globins: DatabaseFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = searched(f">a\n{HBB}", globins)
    first, second, third = found.lines[:3]
    monkeypatch.setattr(downloads, "REMEMBERED", 2)
    names = [line.split(b"\t")[1] for line in (first, second, third, third)]
    text = b"".join(downloads.fasta([first, second, first, third, second, third], found.summary))
    assert [line[1:].split(b":")[0] for line in text.splitlines() if line.startswith(b">")] == names


def test_of_the_queries_one_is_held_and_each_is_read_once(globins: DatabaseFacts) -> None:
    found = searched(f">a\n{HBB}>b\n{HBB}", globins)
    queries = Counting(found.summary.queries)
    for make in (downloads.tsv, downloads.fasta):
        queries.asked = 0
        assert sum(1 for _ in make(found.lines, Summary(queries, 2, 0))) > 10 and queries.asked <= 6
    other = found.lines[0].replace(b"q000001", b"q000003")
    for make in (downloads.tsv, downloads.fasta):
        with pytest.raises(table.BadRow, match="is no query"):
            list(make([other], found.summary))


def test_the_minus_strand_is_marked(phage: DatabaseFacts) -> None:
    found = searched(demo.records("reads", 1), phage)
    first = b"".join(downloads.fasta(found.lines, found.summary)).decode().splitlines()[0]
    assert first.startswith(">NC_001416.1:c12452-12259 Enterobacteria phage lambda")
