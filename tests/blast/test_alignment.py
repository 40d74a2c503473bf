from __future__ import annotations

from itertools import pairwise

import pytest

from submits import demo
from submits.blast import alignment
from submits.blast.facts import DatabaseFacts
from submits.blast.scoring import matrix_of
from tests.blast.searching import Searched, searched


def rows_agree_with_blast(found: Searched, task: str, protein: bool, matrix: str = "") -> int:
    """Prints every alignment and compares its marks and positions with BLAST's own numbers."""
    seen = 0
    for query in found.summary.queries:
        for row in (row for hit in found.hits(query.number) for row in hit.hsps):
            lines = list(alignment.lines(row, protein=protein, matrix=matrix_of(task, matrix)))
            runs = [run for line in lines for block in line.query.blocks for run in block]
            count = {
                kind: sum(len(run.text) for run in runs if run.kind == kind) for kind in ("match", "positive", "gap")
            }
            assert count["match"] == row.nident
            assert count["match"] + (count["positive"] if protein else 0) == row.positive
            assert count["gap"] == row.gaps
            assert "".join(line.query.text for line in lines) == row.qseq
            assert "".join(line.subject.text for line in lines) == row.sseq
            assert (lines[0].query.first, lines[-1].query.last) == (row.qstart, row.qend)
            assert (lines[0].subject.first, lines[-1].subject.last) == (row.sstart, row.send)
            assert all(len(block) <= 10 for line in lines for block in line.match)
            for before, after in pairwise(lines):
                assert after.query.first == before.query.last + 1
                assert after.subject.first == before.subject.last + (-1 if row.minus else 1)
            seen += 1
    return seen


@pytest.mark.parametrize("task", ["blastp", "blastp-fast"])
def test_proteins(globins: DatabaseFacts, task: str) -> None:
    assert rows_agree_with_blast(searched(demo.EXAMPLE.query(), globins, task=task), task, protein=True) > 90


def test_short_proteins_are_judged_by_their_own_matrix(globins: DatabaseFacts) -> None:
    found = searched(demo.windows("hbb_human", 20, 9), globins, task="blastp-short", evalue="1000")
    assert rows_agree_with_blast(found, "blastp-short", protein=True) > 100


def test_nucleotides_on_both_strands(phage: DatabaseFacts) -> None:
    found = searched(demo.records("reads", 6), phage, task="blastn", evalue="10")
    assert rows_agree_with_blast(found, "blastn", protein=False) > 20
    assert {row.minus for n in range(1, 7) for hit in found.hits(n) for row in hit.hsps} == {True, False}


def test_a_line_is_sixty_columns_in_blocks_of_ten(phage: DatabaseFacts) -> None:
    row = searched(demo.records("reads", 1), phage).hits()[0].hsps[0]
    first, *_, last = alignment.lines(row, protein=False)
    assert [len(block) for block in first.match] == [10] * 6
    assert (first.query.first, first.query.last) == (1, 60)
    assert (first.subject.first, first.subject.last) == (12452, 12393)
    assert first.match[0] == "||||||||||" and len(last.query.text) == 194 % 60


GENE = "ATGGTGCATCTGACTCCTGAGGAGAAGTCTGCCGTTACTGCCCTGTGGGGCAAGGTGAACGTGGATGAAGTTGGTGGTGAGGCCCTGGGCAGGCTGCTGGTGGTC"


def reverse(gene: str) -> str:
    return gene.translate(str.maketrans("ACGT", "TGCA"))[::-1]


def test_translated_letters_are_three_positions(globins: DatabaseFacts) -> None:
    found = searched(f">forward\n{GENE}\n>back\n{reverse(GENE)}\n", globins, evalue="10")
    assert found.plan.program == "blastx"
    for number, first in ((1, 1), (2, len(GENE))):
        row = found.hits(number)[0].hsps[0]
        (line, *_) = alignment.lines(row, protein=True)
        assert line.query.first == row.qstart and abs(line.query.last - line.query.first) + 1 == 3 * len(row.qseq)
        assert (row.qstart > row.qend) is (number == 2) and row.opposite is (number == 2)
        assert abs(line.query.first - first) < 30 and (line.subject.first, line.subject.last) == (row.sstart, row.send)


@pytest.mark.parametrize("matrix", ["PAM70", "BLOSUM90"])
def test_a_chosen_matrix_judges(globins: DatabaseFacts, matrix: str) -> None:
    found = searched(demo.text("hbb_human"), globins, flags=f"-matrix {matrix}")
    assert rows_agree_with_blast(found, "blastp", protein=True, matrix=matrix) > 20
