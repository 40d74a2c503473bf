"""A tolerant FASTA reader: it mends what is harmless, says so, and names the rest with its line.

It never drops a character in silence: BLAST+ itself joins records whose '>' is missing, takes FASTQ qualities
for sequence and removes gaps and invisible characters without a word, and exits 0 each time.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from submits.blast.encoding import LONGEST_TITLE, LineTooLong, Source, decode
from submits.blast.findings import MOST, Finding, Findings, excerpt
from submits.blast.foreign import recognise
from submits.blast.mended import Mended, cut_notice, dropped_notice, gap_notice, line_end_notice
from submits.blast.printable import clean, dropped

_BLANKS = dict.fromkeys(map(ord, " \t\f\v"))
_GAPS = dict.fromkeys(map(ord, "-."))
_NO_LETTERS = {**_BLANKS, **_GAPS, **dict.fromkeys(map(ord, "\n0123456789"))}  # of a block of sequence lines
_ODD = re.compile(r"[^\t\f\v\x20-\x7e]")
_NO_LETTER = re.compile(r"[^A-Za-z \t\f\v.*-]")
_LINE_END = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")  # for some programs, and for others a blank
MOST_BLOCKS = 500_000  # names, and whatever else Python looks at one by one
_WORDS = 10_000  # characters that tell words from sequence
# These two take time that grows with the square of the text: it is cut before, never given whole.
_NAME_LIKE = re.compile(r"[A-Za-z]{0,12}[_|:.#-]?\S*\d\S*|\S*[_|]\S*")
_LONGEST_NAME = 40
_TAIL = 200
_SEQUENCE_TAIL = re.compile(
    r"(?:\s|\A)((?:[ACGTUN]{12,}|[ACDEFGHIKLMNPQRSTVWYX]{20,}|(?:[A-Z]{10}\s+)+[A-Z]{1,10}))\s*\Z"
)
NOTHING = Finding("query", "There is nothing to search with. Paste at least one sequence in FASTA.")
_INVISIBLE = {0xA0: "no-break space", 0xAD: "soft hyphen", 0xFEFF: "byte-order mark"}


@dataclass(frozen=True, slots=True)
class Query:
    """One sequence as its author named it. Names need not be unique: inside, a query is known by its number."""

    name: str
    title: str
    sequence: str


@dataclass(frozen=True, slots=True)
class Records:
    queries: tuple[Query, ...]
    lines: tuple[int, ...]
    notices: tuple[str, ...] = ()


class Record(NamedTuple):
    """A query and the line that it begins on. Of one that is longer than the reader takes, `letters` is the whole
    length, and its sequence is cut off."""

    query: Query
    line: int
    letters: int


@dataclass(slots=True)
class _Record:
    line: int
    header: str | None
    dropped: int = 0
    line_end: str = ""
    cut: bool = False
    gaps: int = 0
    letters: int = 0
    text: io.StringIO = field(default_factory=io.StringIO)  # many short lines would weigh ten times their letters

    def add(self, letters: str, longest: int | None) -> None:
        """They are counted in any case, and kept up to `longest`."""
        room = len(letters) if longest is None else max(0, longest - self.letters)
        self.letters += len(letters)
        self.text.write(letters[:room])


class Reader:
    """The sequences of a text, one at a time, so that a text of any length is read with little of it in memory.

    Once they have been gone through, `findings` is what is wrong with them, None when nothing is, and `notices` what
    was mended. Sequences that were read although something was found must not be used.
    """

    def __init__(self, source: Source, longest: int | None = None) -> None:
        """`longest`: letters that are kept of one sequence. Of a line a tenth more is held; one that goes on for longer
        ends the reading."""
        self.findings: Findings | None = None
        self.notices: tuple[str, ...] = ()
        self._source, self._longest = source, longest
        self._wrong: list[Finding] = []
        self._empty: list[Finding] = []
        self._gaps, self._dropped, self._ends, self._cut = Mended(), Mended(), Mended(), Mended()
        self._read = 0

    def __iter__(self) -> Iterator[Record]:
        text = decode(self._source)
        if isinstance(text, Finding):
            self.findings = Findings((text,))
            return
        blocks = text.blocks(None if self._longest is None else self._longest + self._longest // 10)
        try:
            first = next((block for block in blocks if _visible(block[1])), None)
            after = list(islice(blocks, 4))
        except LineTooLong as error:
            self.findings = Findings((_too_long(error),))
            return
        if first is None:
            self.findings = Findings((NOTHING,))
            return
        first = first[0], first[1].lstrip("\ufeff")
        line = first[1].lstrip().partition("\n")[0]
        above = first[1].partition(line)[0].count("\n")
        foreign = recognise(line.strip(), first[0] + above, [block for _, block in after])
        if foreign is not None:
            self.findings = Findings((foreign,))
            return
        yield from map(self._finished, self._records(chain((first,), after, blocks)))
        wrong = self._wrong or self._empty or ([] if self._read else [NOTHING])
        if wrong:
            self.findings = Findings(wrong[:MOST])
        mended = (
            gap_notice(self._gaps),
            dropped_notice(self._dropped),
            line_end_notice(self._ends),
            cut_notice(self._cut),
        )
        self.notices = tuple(filter(None, (text.notice, *mended)))

    def _records(self, blocks: Iterator[tuple[int, str]]) -> Iterator[_Record]:
        record: _Record | None = None
        many = 0
        while len(self._wrong) < MOST:
            try:
                number, block = next(blocks, (0, ""))
            except LineTooLong as error:
                self._wrong.append(_too_long(error))
                break
            if not number:
                break
            many += 1
            if many > MOST_BLOCKS:
                self._wrong.append(Finding("query", _TOO_MANY, number))
                break
            if block.endswith("\n"):
                if record is None or (record.header is None and not record.letters):
                    record, block = self._bare(record, number, block)
                if record is not None:
                    record.gaps += block.count("-") + block.count(".")
                    record.add(block.translate(_NO_LETTERS), self._longest)
                continue
            text = block.strip().lstrip("\u200b\u200e\u2060\ufeff \t")
            if text.startswith(">"):
                if record is not None:
                    yield record
                record = _named(number, text[1:])
            elif not _visible(text) or text.startswith(";") or text == "//":
                continue
            else:
                record = self._add(record, number, text)
        if record is not None:
            yield record

    def _bare(self, record: _Record | None, number: int, block: str) -> tuple[_Record | None, str]:
        """Lines of a sequence without a name, up to the first that has letters, and what is left of them: they may be
        words."""
        while block and not (record and record.letters) and len(self._wrong) < MOST:
            line, _, block = block.partition("\n")
            if line := line.strip():
                record = self._add(record, number, line)
            number += 1
        return record, block

    def _add(self, record: _Record | None, number: int, text: str) -> _Record:
        record = record or _Record(number, None)
        record.add(_sequence_line(record, text, number, self._wrong), self._longest)
        return record

    def _finished(self, record: _Record) -> Record:
        self._read += 1
        if not record.letters and len(self._empty) < MOST:
            self._empty.append(_empty(record, self._read))
        name, *title = (record.header or "").split(maxsplit=1) or [f"query {self._read}"]
        if record.gaps:
            called = excerpt((record.header or f"query {self._read}").split(" ")[0], 30)
            self._gaps.add(record.gaps, f"“{called}”")
        if record.dropped:
            self._dropped.add(record.dropped, f"the name or title on line {record.line}")
        if record.line_end:
            self._ends.add(1, f"the title on line {record.line} (U+{ord(record.line_end):04X})")
        if record.cut:
            self._cut.add(1, f"the title on line {record.line}")
        return Record(Query(name, " ".join(title).strip(), record.text.getvalue()), record.line, record.letters)


def read(data: Source) -> Records | Findings:
    """Every sequence in `data`, or what is wrong with it (at most 20 findings), whole in memory.

    Accepts byte-order marks, UTF-16, any line ends, blank lines, spaces before '>', old ';' comments, GenBank and EMBL
    line numbers, and a bare sequence, which is called "query 1". Gap characters, control characters in names and
    titles, and what those have beyond 1,000 characters, are removed with a notice. Takes time in proportion to the
    length of the text, whatever is in it, and of lines that come one by one reads no more than MOST_BLOCKS.
    """
    reader = Reader(data)
    records = list(reader)
    if reader.findings is not None:
        return reader.findings
    return Records(tuple(record.query for record in records), tuple(record.line for record in records), reader.notices)


def _named(number: int, title: str) -> _Record:
    taken = title[:LONGEST_TITLE]
    end = None if taken.isprintable() else _LINE_END.search(taken)
    return _Record(number, clean(taken).strip(), dropped(taken), end[0] if end else "", cut=len(title) > LONGEST_TITLE)


def _sequence_line(record: _Record, text: str, number: int, findings: list[Finding]) -> str:
    """The letters of a line; "" and one finding more when it is no sequence."""
    bare = _unnumbered(text)
    letters = bare.translate(_BLANKS)
    without = letters.translate(_GAPS)
    plain = without.replace("*", "")
    if plain.isascii() and (plain.isalpha() or not plain):
        if record.header is None and not record.letters and _prose(bare):
            findings.append(Finding("query", f"“{excerpt(text)}” reads like words, not like a sequence.", number))
            return ""
        record.gaps += len(letters) - len(without)
        return without
    findings.append(Finding("query", _what_is_wrong(text, bare), number))
    return ""


def _unnumbered(text: str) -> str:
    """The line without the number that stands before or after its letters."""
    if text[0].isdecimal():
        number, *rest = text.split(maxsplit=1)
        text = rest[0] if rest and number.isdecimal() else text
    if text[-1].isdecimal():
        *before, number = text.rsplit(maxsplit=1)
        text = before[0] if before and number.isdecimal() else text
    return text


def _what_is_wrong(text: str, bare: str) -> str:
    if odd := _ODD.search(text):
        char, place = odd[0], odd.start() + 1
        unnamed = "control character" if unicodedata.category(char) == "Cc" else "unnamed character"
        name = _INVISIBLE.get(ord(char)) or unicodedata.name(char, unnamed).lower()
        kind = "an invisible character" if not _visible(char) else "a character that is no sequence letter"
        return f"There is {kind} at position {place}: {name} (U+{ord(char):04X}). Delete it, or type the line again."
    if (
        len(text) <= _LONGEST_NAME
        and " " not in text
        and _NAME_LIKE.fullmatch(text)
        and not _sequence_with_digits(text)
    ):
        return f"“{excerpt(text)}” looks like a name whose “>” is missing. Put “>” before it."
    if text.startswith("@"):
        return "It begins with “@” as in FASTQ. In FASTA a name begins with “>”."
    place, char = next((found.start() + 1, found[0]) for found in _NO_LETTER.finditer(bare))
    if char.isdigit():
        return (
            f"There are digits inside the sequence (“{excerpt(text)}”). "
            "A sequence is letters only; if this is a name, put “>” before it."
        )
    return f"“{char}” at position {place} is no sequence letter (“{excerpt(text)}”)."


def _sequence_with_digits(text: str) -> bool:
    """True of ACGT12ACGT: letters that are nearly all bases, with digits among them."""
    letters = [char for char in text.upper() if char.isalpha()]
    return len(letters) >= 8 and sum(char in "ACGTUN" for char in letters) >= 0.9 * len(letters)


def _prose(text: str) -> bool:
    """True of words with spaces between them; false of sequence in blocks, which are all equally long but the last."""
    words = text[:_WORDS].split()
    return len(words) > 2 and len({len(word) for word in words[:-1]}) > 1


def _visible(text: str) -> bool:
    return not text.isspace() and any(
        not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc") for char in text
    )


def _too_long(error: LineTooLong) -> Finding:
    sentence = "This line goes on and on. Break it into shorter lines, and a sequence that long into pieces."
    return Finding("query", sentence, error.number)


_TOO_MANY = (
    f"Up to here there are more than {MOST_BLOCKS:,} names, comments and other lines that are not of a sequence. "
    "Cut it into several searches, or take the comments out."
)


def _empty(record: _Record, number: int) -> Finding:
    name = excerpt(record.header or "", 30)
    called = f"Sequence {number} (“{name}”)" if name else f"Sequence {number}"
    tail = _SEQUENCE_TAIL.search((record.header or "")[-_TAIL:])
    if tail is not None:
        sentence = (
            f"{called} has no sequence below its name, but its title ends in what looks like one "
            f"({excerpt(tail[1], 16)}). Put it on a line of its own."
        )
    else:
        sentence = f"{called} has a name but no sequence. Add its letters below the name, or take it out."
    return Finding("query", sentence, record.line)
