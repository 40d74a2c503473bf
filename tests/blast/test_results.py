from __future__ import annotations

import pytest

from submits import demo
from submits.blast import results, table
from submits.blast.facts import DatabaseFacts
from submits.blast.summary import Counter, Summary
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
    assert Summary.from_json(found.summary.to_json()) == found.summary
    assert found.summary.query(0) is None and found.summary.query(4) is None


def test_a_query_without_hits_keeps_its_place(globins: DatabaseFacts) -> None:
    text = f">none\n{'W' * 30}\n{demo.text('hbb_human')}"
    found = searched(text, globins, evalue="1e-20")
    assert [(query.name, query.hits > 0) for query in found.summary.queries] == [("none", False), ("HBB_HUMAN", True)]
    assert found.hits(1) == [] and found.summary.queries_with_hits == 1


def test_several_alignments_of_one_subject_are_one_hit(phage: DatabaseFacts) -> None:
    found = searched(demo.records("reads", 1), phage, task="blastn", evalue="10")
    (hit,) = found.hits(1)
    assert len(hit.hsps) > 3 and hit.hsps[0].evalue == hit.evalue
    assert hit.total_score == pytest.approx(sum(row.bitscore for row in hit.hsps))
    assert hit.hsps[0].minus and (hit.hsps[0].sstart, hit.hsps[0].send) == (12452, 12259)


def test_a_table_that_is_not_what_was_asked_for_is_refused(globins: DatabaseFacts) -> None:
    found = searched(demo.EXAMPLE.query(), globins)
    first, last = found.lines[0], found.lines[-1]
    for lines in (
        [first[:-10]],
        [b"\t".join([b"x"] * 3)],
        [last, first],
        [first, last, first],
        [b"q000009" + first[7:]],
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
