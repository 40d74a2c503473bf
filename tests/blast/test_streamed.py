"""A text is read piece by piece, with little of it in memory, and as if it were read whole."""

from __future__ import annotations

import codecs
import io
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.blast import encoding, fasta, plan
from submits.blast.encoding import LineTooLong, Source, Text, decode
from submits.blast.facts import DatabaseFacts
from submits.blast.fasta import Reader, Records, read
from submits.blast.findings import Findings
from submits.blast.intake import Limits, Search, guess, read_search
from submits.blast.split import Rule
from submits.engine.prepare import batch_key, prepare, read_plan
from submits.work import WorkStore, run_key

DNA = "AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAG"
NUCL = DatabaseFacts("phage", "Phage", "/db/phage", "nucl", 1, 48502, "2026-01-01T00:00")
RUN = "job-" + "0" * 32


@contextmanager
def pieces_of(many: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "PIECE", many)
        yield


_LINE = st.one_of(
    st.sampled_from(
        [
            f">n {DNA}",
            ">é title",
            ">",
            DNA,
            DNA[:9],
            "AC-GT",
            " ACGT \t12",
            "1 acgt",
            "",
            " ",
            "AC?GT",
            "q_1",
            ";",
            "//",
        ]
    ),
    st.text(max_size=12),
)
_TEXT = st.lists(st.tuples(_LINE, st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))).map(
    lambda lines: "".join(itertools.chain.from_iterable(lines))
)
_BYTES = st.one_of(
    st.tuples(_TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])).map(
        lambda drawn: drawn[0].encode(drawn[1], "replace")
    ),
    _TEXT.map(lambda text: text.encode("latin-1", "replace")),
    st.tuples(st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE]), st.binary(max_size=60)).map(b"".join),
)


@given(st.one_of(_TEXT, _BYTES), st.integers(1, 9))
def test_in_pieces_it_reads_as_in_one_piece(data: str | bytes, many: int) -> None:
    whole = read(data)
    with pieces_of(many):
        assert read(data) == whole
        if isinstance(data, bytes):
            assert read(io.BytesIO(data)) == whole


@given(_TEXT, st.integers(1, 9))
def test_lines_are_those_of_the_whole_text_with_their_numbers(text: str, many: int) -> None:
    """But those that say nothing, which are passed over."""
    with pieces_of(many):
        blocks = list(Text(text).blocks())
    lines = [(number + at, line) for number, block in blocks for at, line in enumerate(each(block))]
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    expected = list(enumerate(whole.removesuffix("\n").split("\n") if whole else [], 1))
    assert set(lines) <= set(expected) and lines == sorted(lines)
    passed = [line.strip(" \t\f\v") for _, line in sorted(set(expected) - set(lines))]
    assert all(not line or line == "//" or line.startswith(";") for line in passed)


def each(block: str) -> list[str]:
    return block.removesuffix("\n").split("\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", "\n \r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("many", [1, 2, 5, 64, 10_000])
def test_line_ends_and_marks_may_lie_where_pieces_meet(end: str, mark: str, many: int) -> None:
    text = mark + "".join(f">q{number} é{end}{DNA}{end}{DNA}{end}" for number in range(20))
    with pieces_of(many):
        records = read(io.BytesIO(text.encode()))
    assert isinstance(records, Records), records
    assert [(query.name, query.title, query.sequence) for query in records.queries] == [
        (f"q{number}", "é", DNA * 2) for number in range(20)
    ]
    lines_each = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") // 20
    assert records.lines == tuple(range(1, 20 * lines_each, lines_each))


RECORDS = 5_000
BIG = "".join(f">q{number} of many\n{DNA}\n{DNA}\n" for number in range(RECORDS)).encode()


@pytest.mark.parametrize(
    ("last", "line", "words"),
    [
        (b">last\nACGT?ACGT\n", 3 * RECORDS + 2, "“?” at position 5"),
        (b">last\nACGT?ACGT", 3 * RECORDS + 2, "“?” at position 5"),
        (b">last\n", 3 * RECORDS + 1, f"Sequence {RECORDS + 1:} (“last”) has a name but no sequence"),
        (b">last\nAC\xc2\xa0GT", 3 * RECORDS + 2, "no-break space"),
        (b">last\nAC\0GT", None, "not a text file"),
    ],
)
def test_a_fault_at_the_very_end_of_a_long_file_is_told_with_its_line(
    last: bytes, line: int | None, words: str
) -> None:
    findings = read_search(io.BytesIO(BIG + last), program=None, database=NUCL, options={})
    assert isinstance(findings, Findings) and len(findings) == 1
    assert findings[0].line == line and words in findings[0].sentence


def test_one_byte_at_the_very_end_makes_the_whole_latin_1() -> None:
    records = read(io.BytesIO(">é\nACGT\n".encode() + BIG + b">\xe9\nACGT\n"))
    assert isinstance(records, Records)
    assert (records.queries[0].name, records.queries[-1].name) == ("Ã©", "é")
    assert records.notices == ("The text is not UTF-8; its titles were read as Latin-1.",)


def test_bytes_that_break_their_own_mark_are_told_by_their_place() -> None:
    data = codecs.BOM_UTF8 + b"ACGT" * 100 + b"\xc3" + b"ACGT" * 100
    for many in (1, 7, 100_000):
        with pieces_of(many):
            assert "broken at byte 403" in str(decode(data))


def test_of_a_sequence_that_is_too_long_only_the_length_is_kept() -> None:
    ten = "ACGTACGTAC\n"
    text = f">long\n{ten * 100}>short\n{ten}>at the limit\n{ten * 5}"
    reader = Reader(text, longest=50)
    assert [(record.letters, len(record.query.sequence)) for record in reader] == [(1000, 50), (10, 10), (50, 50)]
    assert reader.findings is None
    limits = Limits(query_letters=50)
    findings = read_search(text, program=None, database=NUCL, options={}, limits=limits)
    assert isinstance(findings, Findings)
    assert [str(finding) for finding in findings] == [
        "Line 1: “long” has 1,000 letters; one sequence may have 50. Cut it into pieces."
    ]


def test_a_line_without_end_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        read_so_far = 0

        def seek(self, at: int, whence: int = 0) -> int:
            self.at = at
            return at

        def read(self, many: int = -1) -> bytes:
            self.at += many
            assert self.at < 2_000_000, "it goes on and on"
            return b"A" * many if self.at < 1_000_000 else b""

    with pieces_of(1000):
        with pytest.raises(LineTooLong, match="line 1 "):
            list(Text(Endless(), "utf-8").blocks(longest=5_000))  # type: ignore[arg-type]
        reader = Reader(Endless(), longest=5_000)  # type: ignore[arg-type]
        list(reader)
    assert reader.findings is not None
    assert str(reader.findings[0]).startswith("Line 1: This line goes on and on.")


def peak(work: Callable[[], Any]) -> int:
    """The most bytes that Python held at once meanwhile, above what it held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LONG = 4_000_000  # bytes


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred records of 20 kB."""
    path = tmp_path_factory.mktemp("long") / "query.fa"
    line = DNA * 10
    one = "\n".join(line for _ in range(LONG // 200 // (len(line) + 1)))
    path.write_text("".join(f">q{number}\n{one}\n" for number in range(200)))
    return path


def test_checking_and_splitting_hold_a_small_part_of_a_long_file(long_file: Path, tmp_path: Path) -> None:
    assert long_file.stat().st_size > 0.9 * LONG
    store, rule = WorkStore(str(tmp_path)), Rule(500_000)

    def work(file: Source) -> None:
        search = read_search(file, program=None, database=NUCL, options={})
        assert isinstance(search, Search) and len(search.queries) == 200
        prepare(store, search, NUCL, RUN, rule=rule)

    with long_file.open("rb") as file, pieces_of(20_000):
        assert peak(lambda: work(file)) < LONG / 5
        assert peak(lambda: guess(file)) < LONG / 5
    written = read_plan(store, RUN)
    assert (written.batches, len(written.queries)) == (8, 200)
    whole = b"".join(store.get(batch_key(RUN, batch)) for batch in range(1, 9))
    back = read(whole)
    assert isinstance(back, Records)
    with long_file.open("rb") as file:
        given_queries = read(file)
    assert isinstance(given_queries, Records)
    assert [query.sequence for query in back.queries] == [query.sequence for query in given_queries.queries]
    assert [query.name for query in back.queries] == [query.id for query in written.queries]


def test_every_piece_of_a_batch_is_handed_out_before_the_next_is_read() -> None:
    text = "".join(f">q{number}\nACGTACGTACGTA\n" for number in range(5))
    search = read_search(text, program="blastn", database=NUCL, options={})
    assert isinstance(search, Search)
    batches = [b"".join(batch).count(b">") for batch in plan.batches(search, rule=Rule(26))]
    assert batches == [2, 2, 1]


def test_who_waits_for_a_preparation_hears_of_each_file(tmp_path: Path) -> None:
    text = "".join(f">q{number}\nACGTACGTACGTA\n" for number in range(5))
    search, store, there = read_search(text, program="blastn", database=NUCL, options={}), WorkStore(str(tmp_path)), []
    assert isinstance(search, Search)
    prepare(store, search, NUCL, RUN, rule=Rule(26), alive=lambda: there.append(len(store.names(run_key(RUN)))))
    assert there == [0, 1, 2, 3]


@pytest.mark.parametrize("changed", [">a\nACGTACGTACGTA\n", ">a\nACGTACGTACGTA\n>b\nACGTACGTACGT\n"])
def test_a_text_that_has_changed_since_it_was_checked_is_not_searched(changed: str) -> None:
    file = io.BytesIO(b">a\nACGTACGTACGTA\n>b\nACGTACGTACGTA\n")
    search = read_search(file, program="blastn", database=NUCL, options={})
    assert isinstance(search, Search)
    file.seek(0)
    file.truncate()
    file.write(changed.encode())
    with pytest.raises(ValueError):
        b"".join(itertools.chain.from_iterable(plan.batches(search)))


def test_where_the_line_without_end_begins_is_told() -> None:
    with pieces_of(64):
        reader = Reader(f">a\n{DNA}?\n" + f">b\n{DNA}\n" * 50 + DNA * 200, longest=500)
        list(reader)
    assert reader.findings is not None and [finding.line for finding in reader.findings] == [2, 103]
    assert "goes on and on" in reader.findings[1].sentence


def test_far_too_many_sequences_are_neither_kept_nor_counted_to_their_end() -> None:
    limits, text = Limits(queries=1_000), ">a\nACGT\n" * 1_900

    def said(text: str) -> str:
        findings = read_search(text, program=None, database=NUCL, options={}, limits=limits)
        assert isinstance(findings, Findings)
        return findings[0].sentence

    assert said(text).startswith("There are 1,900 sequences; one search may bring 1,000.")
    assert said(text * 2).startswith("There are more than 2,000 sequences; one search may bring 1,000.")
    with pieces_of(20_000):
        assert peak(lambda: said(text)) < 1_000_000


def test_a_title_that_goes_on_and_on_is_not_held() -> None:
    """One wide character makes four bytes of each."""
    data = (b">q \xf0\x9f\x98\x80" + b"t" * LONG + f"\n{DNA}\n".encode()) * 2
    with pieces_of(20_000):
        assert peak(lambda: read_search(io.BytesIO(data), program=None, database=NUCL, options={})) < LONG / 4
        for pieces in (20_000, 333, LONG * 9):
            with pieces_of(pieces):
                records = read(io.BytesIO(data))
            assert isinstance(records, Records)
            assert [query.title for query in records.queries] == ["\U0001f600" + "t" * 997] * 2
            assert records.notices == ("Of the title on line 1 and 1 more only the first 1,000 characters were taken.",)


@pytest.mark.parametrize("many", [1, 3, 10, 1_000])
@pytest.mark.parametrize("before", ["", " ", "\u200b ", " " * 30])
def test_a_title_is_cut_at_the_same_place_in_whatever_pieces_it_comes(
    many: int, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (encoding, fasta):
        monkeypatch.setattr(module, "LONGEST_TITLE", 12)
    for title in ("t" * 12, "t" * 13, "t" * 40, "t" * 12 + " " * 20, "t" + " " * 20 + "u", " " * 20 + "t"):
        with pieces_of(many):
            records = read(f"{before}>{title}\n{DNA}\n")
        assert isinstance(records, Records)
        assert records.queries[0].name == (title[:12].strip() or "query 1")
        assert bool(records.notices) == (len(title.rstrip()) > 12)


def test_names_are_held_in_few_bytes() -> None:
    text = "".join(f">q{number} \U0001f600{'t' * 400}\n{DNA}\n" for number in range(2_000)).encode()
    made: list[Search | Findings] = []
    with pieces_of(20_000):
        most = peak(lambda: made.append(read_search(io.BytesIO(text), program=None, database=NUCL, options={})))
    assert isinstance(made[0], Search) and made[0].queries[1_999].title == "\U0001f600" + "t" * 400
    assert most < 2 * len(text)


@pytest.mark.parametrize("line", ["\n", " \n", ";\n", "//\n", "A-\n", "1 A\n", "A\n", "A\n\n"])
def test_tiny_lines_are_looked_at_many_at_a_time(line: str) -> None:
    blocks = list(Text(f">a\n{DNA}\n" + line * 10_000).blocks())
    assert len(blocks) <= 4


@pytest.mark.parametrize("line", [">\n", "\u200b\n", "A\n;\n"])
def test_what_must_be_looked_at_one_by_one_may_not_be_without_end(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasta, "MOST_BLOCKS", 100)
    findings = read(f">a\n{DNA}\n" + line * 200)
    assert isinstance(findings, Findings)
    assert findings[0].line and 80 < findings[0].line < 210
    assert "names, comments and other lines" in findings[0].sentence
    assert isinstance(read(f">a\n{DNA}\n" + line * 40 + DNA), Records | Findings)
