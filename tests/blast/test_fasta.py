from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.blast.fasta import Query, Records, read
from submits.blast.findings import MOST, Findings

DNA = "AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAG"
PROTEIN = "MKIPNIGNVMNKFEILGVVGEGAYGVVLKCRHK"


def good(data: bytes | str) -> Records:
    records = read(data)
    assert isinstance(records, Records), records
    return records


def bad(data: bytes | str) -> Findings:
    findings = read(data)
    assert isinstance(findings, Findings), findings
    return findings


@pytest.mark.parametrize(
    "data",
    [
        f">q1 one\n{DNA}\n",
        f">q1 one\n{DNA}",
        f">q1 one\r\n{DNA[:20]}\r\n{DNA[20:]}\r\n",
        f">q1 one\r{DNA[:20]}\r{DNA[20:]}",
        f">q1 one\r{DNA[:20]}\n{DNA[20:]}\r\n",
        f"\n\n>q1 one\n\n{DNA[:20]}\n\n\n{DNA[20:]}\n\n",
        f"  >q1 one\n  {DNA[:20]} \t{DNA[20:]}  \n",
        f"\ufeff>q1 one\n{DNA}\n",
        f"\ufeff>q1 one\n{DNA}\n".encode(),
        f">q1 one\n{DNA}\n".encode("utf-16"),
        f"\ufeff>q1 one\n{DNA}\n".encode("utf-16-be"),
        f"; an old comment\n>q1 one\n{DNA}\n//\n",
        f">q1 one\n        1 {DNA[:10]} {DNA[10:20]}\n       21 {DNA[20:]}\n//\n",
        f">q1 one\n     {DNA[:20]}        20\n     {DNA[20:]}        44\n",
    ],
)
def test_harmless_shapes_read_as_the_same_sequence(data: bytes | str) -> None:
    records = good(data)
    assert records.queries == (Query("q1", "one", DNA),)
    assert records.notices == ()


def test_a_bare_sequence_is_query_1() -> None:
    assert good(PROTEIN).queries == (Query("query 1", "", PROTEIN),)
    assert good(f"1 {DNA[:10]} {DNA[10:20]}\n").queries[0].sequence == DNA[:20]
    assert good(f">\n{DNA}").queries[0].name == "query 1"


def test_names_are_kept_and_need_not_be_unique() -> None:
    names = ["CDS", "CDS", "gi|1|ref|NX_1.1|", "seq#1?x=1&y=2", "100%", "pVλ11", '=HYPERLINK("http://x","y")', "a<b>"]
    records = good("".join(f">{name} Epichloë ø 中文\n{DNA}\n" for name in names))
    assert [query.name for query in records.queries] == names
    assert {query.title for query in records.queries} == {"Epichloë ø 中文"}


def test_latin1_is_read_and_said() -> None:
    records = good(b">q1 Epichlo\xeb\n" + DNA.encode())
    assert records.queries[0].title == "Epichloë"
    assert "Latin-1" in records.notices[0]


def test_gaps_are_taken_out_and_said() -> None:
    records = good(f">q1\n{DNA[:9]}----{DNA[9:]}\n>q2\n{DNA[:9]}..{DNA[9:]}\n")
    assert [query.sequence for query in records.queries] == [DNA, DNA]
    assert "6 gap characters" in records.notices[0] and "“q1” and 1 more" in records.notices[0]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "nothing to search with"),
        ("\n \n\t\n", None, "nothing to search with"),
        ("\u200b\n\ufeff", None, "nothing to search with"),
        ("; a comment alone\n//\n", None, "nothing to search with"),
        (">a\n", 1, "name but no sequence"),
        (f">a\n{DNA}\n\n>b\n>c\n{DNA}", 4, "Sequence 2 (“b”) has a name but no sequence"),
        (f">probe7 {DNA}", 1, "title ends in what looks like one"),
        (">sp|X00001|AAA_TEST Test kinase MKIPNIGNVM NKFEILGVVG", 1, "title ends in what looks like one"),
        (f">q1\n{DNA}\nq2\n{DNA}\n", 3, "“>” is missing"),
        (f">q1\n{DNA}\nHomo_sapiens\n{DNA}\n", 3, "“>” is missing"),
        ("ACGTACGT12ACGTACGT", 1, "digits inside the sequence"),
        (f">q\n{DNA}\nACGT\u00a0ACGT", 3, "no-break space (U+00A0)"),
        (f">q\n{DNA}\nACGT\u200bACGT", 3, "zero width space (U+200B)"),
        ("ACGT\u2013GT", 1, "en dash (U+2013)"),
        (f">q\n{DNA[:9]}?{DNA[9:]}", 2, "“?” at position 10"),
        (f"@r1\n{DNA}\n+\n{'I' * len(DNA)}\n", 1, "This is FASTQ"),
        (f"\n\n@r1\n{DNA}\n+\n{'I' * len(DNA)}\n", 3, "This is FASTQ"),
        (f"LOCUS       NC_1\nORIGIN\n 1 {DNA}", 1, "GenBank"),
        ("ID   7LESS_DROME  Reviewed;", 1, "UniProt"),
        ("##gff-version 3\n", 1, "GFF"),
        ("CLUSTAL W\n", 1, "Clustal"),
        ("<!DOCTYPE html>", 1, "web page"),
        ('{"a": 1}', 1, "JSON"),
        ("NM_000518.5", 1, "accession number"),
        ("P68871 P69905", 1, "accession number"),
        ("please search my favourite gene", 1, "reads like words"),
        (gzip.compress(b">q\nACGT", mtime=0), None, "gzip"),
        (b"PK\x03\x04rest", None, "office document"),
        (b">q\nAC\0GT", None, "not a text file"),
        (">q\nAC\0GT", None, "not a text file"),
        (">q \0\nACGT".encode("utf-16"), None, "not a text file"),
        (f">q\n{DNA}\nAC\x07GT", 3, "control character (U+0007)"),
        (f">q\n{DNA}\nAC\x1fGT", 3, "control character (U+001F)"),
        (b"\xff\xfe>\x00q", None, "broken at byte"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(data: bytes | str, line: int | None, words: str) -> None:
    finding = bad(data)[0]
    assert (finding.field, finding.line) == ("query", line)
    assert words in finding.sentence
    assert not re.search(r"\bline \d", finding.sentence, re.I)  # who shows it puts the line before it
    assert str(finding) == (f"Line {line}: {finding.sentence}" if line else finding.sentence)
    assert finding.sentence[0].isupper() or finding.sentence[0] == "“"
    assert finding.sentence.endswith((".", "reads.fq"))


def test_every_record_is_looked_at_but_findings_are_bounded() -> None:
    assert [finding.line for finding in bad(">a\n>b\n>c\n")] == [1, 2, 3]
    assert len(bad("".join(f">s{n}\nAC?GT\n" for n in range(1000)))) == MOST
    assert len(bad("".join(f">s{n}\n" for n in range(1000)))) == MOST


def test_no_control_character_comes_into_a_name() -> None:
    data = f">a\x07b o\x08ne\ttwo\x0c\x85three\x7f\n{DNA}"
    for records in (good(data), good(data.encode())):
        assert records.queries == (Query("ab", "one two  three", DNA),)
        assert records.notices[0] == "3 control characters were taken out of the name or title on line 1."
    assert good(f">\x07\n{DNA}").queries[0].name == "query 1"
    assert "\x07" not in bad(">b\x07\n")[0].sentence and "\x07" not in bad(f">a\n{DNA}\n!\x07b")[0].sentence


HOSTILE = {
    "title of blocks": lambda n: ">" + "ACGTACGTAC " * (n // 11) + "1",
    "title of letters": lambda n: ">" + "ACGTACGTACGT" * (n // 12) + "-",
    "spaces before a number": lambda n: ">a\nA" + " " * n + "A1",
    "digits": lambda n: ">a\n!" + "1" * n + "\t!",
    "digits and spaces": lambda n: ">a\n" + "1 " * (n // 2) + "!",
    "name-like": lambda n: ">a\n" + "a1_" * (n // 3) + " !",
    "accessions": lambda n: "AB" + "1" * n + "_",
    "brace": lambda n: "{" + " " * n + "x",
    "zero width": lambda n: ">a\n" + "\u200b" * n + "1",
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_line_of_a_million_letters_is_read_in_linear_time(make: Callable[[int], str]) -> None:
    def seconds(size: int) -> float:
        text = make(size)
        began = time.thread_time()
        read(text)
        return time.thread_time() - began

    # Of the processor's time, the least of three, and 2 ms at the least: what is asked is how it grows, not how busy
    # the machine is.
    for sizes in ((8_000, 32_000), (250_000, 1_000_000)):
        small, large = (max(0.002, min(seconds(size) for _ in range(3))) for size in sizes)
        assert large / small < 12


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_anything_at_all_gives_records_or_findings(data: str | bytes) -> None:
    read_back = read(data)
    if isinstance(read_back, Findings):
        assert read_back
        assert all(finding.field == "query" and finding.sentence for finding in read_back)
    else:
        assert read_back.queries
        for query in read_back.queries:
            assert (query.sequence.isascii() and query.sequence.replace("*", "").isalpha()) or set(query.sequence) == {
                "*"
            }
            assert query.name and (query.name.startswith("query ") or query.name.split() == [query.name])


_NAME = st.text(st.characters(blacklist_categories=("Cc", "Cf", "Cs", "Z")), min_size=1, max_size=12)
_SEQUENCE = st.text("ACGTNacgtn", min_size=1, max_size=200)


@given(
    st.lists(st.tuples(_NAME, _SEQUENCE), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 80),
)
def test_what_was_written_is_what_is_read(pairs: list[tuple[str, str]], end: str, width: int) -> None:
    lines = []
    for name, sequence in pairs:
        lines += [f">{name}", *(sequence[at : at + width] for at in range(0, len(sequence), width))]
    records = read(end.join(lines).encode())
    assert isinstance(records, Records)
    assert [(query.name, query.sequence) for query in records.queries] == pairs


@pytest.mark.parametrize("end", ["\v", "\f", "\x1e", "\x85", "\u2028", "\u2029"])
def test_letters_behind_a_line_end_that_is_none_here_are_told(end: str) -> None:
    """Other programs break the line there: its first letters became title, and the rest a shorter sequence."""
    text = f">a{end}{DNA}\n{DNA}\n>b\n{DNA}\n>c{end}x\n{DNA}\n"
    for records in (good(text), good(text.encode())):
        assert records.queries[0] == Query("a", DNA, DNA)
        assert records.notices == (
            f"There is a line end of another kind in the title on line 1 (U+{ord(end):04X}) and 1 more, and what "
            "follows it belongs to the title. If that is sequence, put it on a line of its own.",
        )


def test_of_a_long_title_a_thousand_characters_are_taken_and_that_is_said() -> None:
    fits = "n " + "t" * 998
    assert good(f">{fits}\n{DNA}\n") == Records((Query("n", "t" * 998, DNA),), (1,))
    longer = good(f">a\n{DNA}\n>{fits}u\n{DNA}\n>{'m' * 5_000}\n{DNA}\n")
    assert [(query.name, query.title) for query in longer.queries[1:]] == [("n", "t" * 998), ("m" * 1_000, "")]
    assert longer.notices == ("Of the title on line 3 and 1 more only the first 1,000 characters were taken.",)


@pytest.mark.parametrize(
    "text", ["BZhACGTACGTACGTACGTACGTACGT", "BZh9", "PK\x03\x04ACGT", "%PDF-1.7", "{\\rtf1", "BAM\x01"]
)
def test_what_is_typed_is_found_to_be_what_it_is_in_a_file(text: str) -> None:
    assert read(text) == read(text.encode())


def test_letters_that_look_like_a_compressed_file_are_sequence() -> None:
    assert good("BZhACGTACGTACGTACGTACGTACGT").queries[0].sequence == "BZhACGTACGTACGTACGTACGTACGT"
    assert "bzip2" in bad("BZh91AY&SY")[0].sentence


def test_lines_of_a_sequence_are_read_alike_one_by_one_and_many_together() -> None:
    lines = ["1 ACGT ACGT 8", "", " 9 ACGT\tACGT", "AC--GT.A", "\f", "*", "ACGT 12 ", "; a comment", "//", "ACGT"]
    apart = "ACGTACGT", "", "ACGTACGT", "ACGTA", "", "*", "ACGT", "", "", "ACGT"
    for line, letters in zip(lines, apart, strict=True):
        assert good(f">a\n{DNA}\n{line}\n").queries[0].sequence == DNA + letters
    records = good(f">a\n{DNA}\n" + "".join(f"{line}\n" for line in lines) * 2)
    assert records.queries[0].sequence == DNA + "".join(apart) * 2
    assert records.notices == ("6 gap characters (- or .) were taken out of “a”: positions are counted without them.",)
    for wrong in ("1 2 ACGT", "ACGT12", "12", "ACGT1 2", "AC?GT", "12ACGT 4"):
        assert bad(f">a\n{DNA}\n\n1 A\n{wrong}\nACGT\n")[0].line == 5


def test_words_behind_blank_lines_are_not_taken_for_sequence() -> None:
    assert [finding.line for finding in bad("\n\nthis is not a sequence\n\nnor is this one either\n")] == [3, 5]
    assert good(f"\n\n{DNA}\nthis is a name\n").lines == (3,)
    assert bad("\n \nCLUSTAL multiple sequence alignment\n\na  ACGT\n")[0].line == 3
