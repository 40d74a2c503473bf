from __future__ import annotations

from pathlib import Path

import pytest

from submits import demo
from submits.blast import databases, downloads, drawing, results, table
from submits.blast.facts import DatabaseFacts
from submits.blast.listing import Made
from submits.blast.summary import Counter, QuerySummary, Summary
from tests.blast.reading import Counting
from tests.blast.searching import searched


def test_hits_are_grouped_by_subject_and_sorted(globins: DatabaseFacts) -> None:
    found = searched(demo.EXAMPLE.query(), globins)
    hits = found.hits(1)
    query = found.summary.queries[0]
    assert (query.name, query.title, query.length) == ("HBB_HUMAN", "Human beta hemoglobin.", 146)
    assert query.hits == len(hits) and query.hsps == sum(len(hit.hsps) for hit in hits)
    assert query.best_evalue == hits[0].evalue == min(hit.evalue for hit in hits)
    assert [hit.number for hit in hits] == list(range(1, len(hits) + 1))
    assert [(hit.evalue, -hit.bitscore) for hit in hits] == sorted((hit.evalue, -hit.bitscore) for hit in hits)
    assert len({hit.accession for hit in hits}) == len(hits)
    assert hits[0].accession == "HBB_CALAR"
    assert hits[0].title == "Hemoglobin subunit beta, species code CALAR"
    assert (hits[0].length, hits[0].cover, hits[0].anchor) == (146, 100.0, "hit-1")
    assert found.summary.queries_with_hits == 3
    assert found.summary.hits == sum(query.hits for query in found.summary.queries)


def test_each_query_reads_its_own_rows_alone(globins: DatabaseFacts) -> None:
    found = searched(demo.EXAMPLE.query(), globins)
    for query in found.summary.queries:
        rows = [row for hit in found.hits(query.number) for row in hit.hsps]
        assert {row.qseqid for row in rows} == {query.id}
        assert len(rows) == query.hsps
    assert sum(query.size for query in found.summary.queries) == sum(map(len, found.lines))
    assert Summary.from_json(b"".join(found.summary.pieces())) == found.summary
    assert found.summary.query(0) is None and found.summary.query(4) is None


MANY = 100_000


class Many(Made[QuerySummary]):
    """Queries 2, 4, 6, …, of which those in `found` have hits."""

    def __init__(self, *found: int) -> None:
        self.found = found

    def __len__(self) -> int:
        return MANY

    def item(self, place: int) -> QuerySummary:
        number = 2 * (place + 1)
        return QuerySummary(table.query_id(number), "q", "", 9, int(number in self.found))


@pytest.mark.parametrize("first", [0, 2, 77_778, 2 * MANY])
def test_of_many_queries_few_are_read_to_find_one(first: int) -> None:
    queries = Counting(Many(first))
    found = Summary(queries, int(first > 0), int(first > 0), first)
    assert found.where_hits_begin() == max(0, first // 2 - 1) and queries.asked < 30
    for number in (2, 77_778, 2 * MANY):
        queries.asked = 0
        assert found.place(number) == number // 2 - 1 and queries.asked < 30
        query = found.query(number)
        assert query is not None and query.number == number
    for number in (-1, 0, 1, 77_777, 2 * MANY + 1, 10**7):
        queries.asked = 0
        assert (found.place(number), found.query(number)) == (None, None) and queries.asked < 60


def test_in_a_summary_of_before_the_first_query_with_hits_is_looked_for() -> None:
    queries = [QuerySummary(table.query_id(number), "q", "", 9, int(number > 2)) for number in range(1, 6)]
    for many, place in ((3, 2), (0, 0)):
        old = b"".join(Summary(queries, many, many).pieces()).replace(b',"first_with_hits":null', b"")
        assert b"first" not in old and Summary.from_json(old).where_hits_begin() == place


def test_a_query_without_hits_keeps_its_place(globins: DatabaseFacts) -> None:
    text = f">none\n{'W' * 30}\n{demo.text('hbb_human')}"
    found = searched(text, globins, evalue="1e-20")
    assert [(query.name, query.hits > 0) for query in found.summary.queries] == [("none", False), ("HBB_HUMAN", True)]
    assert found.hits(1) == [] and found.summary.queries_with_hits == 1 and found.summary.where_hits_begin() == 1
    assert found.summary.first_with_hits == 2


def test_several_alignments_of_one_subject_are_one_hit(phage: DatabaseFacts) -> None:
    found = searched(demo.records("reads", 1), phage, task="blastn", evalue="10")
    (hit,) = found.hits(1)
    assert len(hit.hsps) > 3 and hit.hsps[0].evalue == hit.evalue
    assert hit.hsps[0].minus and (hit.hsps[0].sstart, hit.hsps[0].send) == (12452, 12259)


def test_subjects_that_share_a_name_are_hits_of_their_own(tmp_path: Path) -> None:
    """Of one name, title and length: the letters are what differs."""
    phage = demo.text("lambda").split("\n", 1)[1].replace("\n", "")
    query = phage[1000:1600]
    subjects = (
        query[:300] + phage[5000:5300],
        phage[7000:7300] + query[300:550] + phage[:50],
        query[:300] + phage[9000:9300],
    )
    source = tmp_path / "dup.fa"
    source.write_text("".join(f">dup same\n{subject}\n" for subject in subjects))
    said: list[str] = []
    facts = databases.format_fasta(source, tmp_path / "dup", say=said.append)
    assert said[0].startswith("One name is shared by 3 sequences (“dup”)")
    found = searched(query, facts)
    hits = found.hits(1)
    # The first and the third are alike in all that the table says of a subject: those cannot be told apart.
    assert [(hit.accession, hit.title, hit.length, len(hit.hsps)) for hit in hits] == [
        ("dup", "same", 600, 2),
        ("dup", "same", 600, 1),
    ]
    assert found.summary.hits == found.summary.queries[0].hits == len(hits)
    parts = b"".join(downloads.fasta(found.lines, found.summary)).decode()
    assert parts.count(">dup:") == len({row.sseq for hit in hits for row in hit.hsps})


def test_no_subject_is_cut_in_two(made: dict[str, DatabaseFacts]) -> None:
    """Where names are unique, a hit is a name, however many alignments it has."""
    for text, key, options in (
        (demo.text("kinases"), "kinases", {"evalue": "1000"}),
        (demo.records("made1", 20), "made1", {"task": "blastn", "evalue": "10"}),
        (demo.text("reads"), "lambda", {"task": "blastn", "evalue": "100"}),
    ):
        found = searched(text, made[key], **options)
        for query in found.summary.queries:
            names = [hit.accession for hit in found.hits(query.number)]
            assert len(names) == len(set(names)) == query.hits


def test_no_control_character_of_a_database_comes_onto_a_page(globins: DatabaseFacts) -> None:
    cells = searched(demo.EXAMPLE.query(), globins).lines[0].decode().split("\t")
    cells[1:3] = ["HBB\x07_X", "a \x1b[31mred\x0btitle\x7f"]
    line = "\t".join(cells)
    (hit,) = results.group([table.parse(line)])
    assert (hit.accession, hit.title) == ("HBB_X", "a [31mred title")
    lane = drawing.coverage([hit], 146).lanes[0]
    assert (lane.label + lane.bars[0].title).isprintable()
    query = QuerySummary("q000001", "q", "", 146)
    for made in (downloads.tsv, downloads.fasta):
        text = b"".join(made([line.encode()], Summary((query,), 1, 1))).decode()
        assert all(char.isprintable() or char in "\t\n" for char in text)


def test_a_table_that_is_not_what_was_asked_for_is_refused(globins: DatabaseFacts) -> None:
    found = searched(demo.EXAMPLE.query(), globins)
    first, last = found.lines[0], found.lines[-1]
    for lines in (
        [first[:-10]],
        [b"\t".join([b"x"] * 3)],
        [last, first],
        [first, last, first],
        [b"q000009" + first[7:]],
        *([name + first[7:]] for name in (b"q1", b"x000001", b"q", b"", b"q-00001", b"q000000", b"q\xb2")),
    ):
        with pytest.raises(table.BadRow):
            list(Counter(found.plan).count(lines))
    with pytest.raises(table.BadRow):
        table.parse("\t".join(["x"] * len(table.COLUMNS)))


def test_pages_stay_within_the_list() -> None:
    page = results.page(list(range(101)), 3, 50)
    assert (page.items, page.pages, page.first, page.last, page.total) == ((100,), 3, 101, 101, 101)
    assert results.page(list(range(10)), 99, 4).number == 3
    assert results.page(list(range(10)), -1, 4).items == (0, 1, 2, 3)
    empty: results.Page[int] = results.page([], 5)
    assert (empty.items, empty.number, empty.pages, empty.first, empty.last) == ((), 1, 1, 0, 0)


@pytest.mark.parametrize(
    ("evalue", "text"),
    [(0.0, "0.0"), (3.05e-104, "3e-104"), (0.00099, "1e-3"), (0.041, "0.041"), (7.2, "7.2"), (None, "")],
)
def test_evalues_read_as_people_write_them(evalue: float | None, text: str) -> None:
    assert results.evalue_text(evalue) == text
