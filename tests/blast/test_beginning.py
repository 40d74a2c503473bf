"""Of a long text that is only looked at, the beginning is read as the whole would be."""

from __future__ import annotations

import codecs

import pytest

from submits.blast.encoding import beginning
from submits.blast.fasta import Records, read

DNA = "AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAG"


@pytest.mark.parametrize("kind", ["utf-8", "utf-16", "utf-16-be", "utf-32", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_of_a_long_file_the_records_of_its_beginning_are_looked_at(kind: str, end: str) -> None:
    mark = {"utf-16-be": codecs.BOM_UTF16_BE}.get(kind, b"")
    data = mark + "".join(f">q{number} é{end}{DNA}{end}" for number in range(200)).encode(kind)
    assert beginning(data, len(data)) is data
    for most in range(2_000, 2_060):
        records = read(beginning(data, most))
        assert isinstance(records, Records), records
        assert 5 < len(records.queries) < 50
        assert {query.sequence for query in records.queries} == {DNA}
        assert {query.title for query in records.queries} == {"é"}


@pytest.mark.parametrize("line", [DNA, DNA * 200, f"100 {DNA}"])
def test_of_one_long_sequence_what_lies_in_the_beginning_is_looked_at(line: str) -> None:
    for source in (text := ">a\n" + f"{line}\n" * 50, text.encode()):
        for most in range(1_000, 1_060):
            records = read(beginning(source, most))
            assert isinstance(records, Records)
            assert records.queries[0].sequence.startswith(DNA) and len(records.queries[0].sequence) < most
