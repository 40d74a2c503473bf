"""A tolerant FASTA reader: it mends what is harmless, says so, and names the rest with its line.

It never drops a character in silence: BLAST+ itself joins records whose '>' is missing, takes FASTQ qualities
for sequence and removes gaps and invisible characters without a word, and exits 0 each time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from submits.blast.encoding import decode
from submits.blast.findings import MOST, Finding, Findings, excerpt
from submits.blast.foreign import recognise
from submits.blast.printable import clean, dropped

_PURE = re.compile(r"[A-Za-z]+")
_BLANKS = dict.fromkeys(map(ord, " \t\f\v"))
_GAPS = dict.fromkeys(map(ord, "-."))
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


@dataclass(slots=True)
class _Record:
    line: int
    header: str | None
    parts: list[str] = field(default_factory=list)
    gaps: int = 0
    dropped: int = 0


def read(data: bytes | str) -> Records | Findings:
    """Every sequence in `data`, or what is wrong with it (at most 20 findings).

    Accepts byte-order marks, UTF-16, any line ends, blank lines, spaces before '>', old ';' comments, GenBank and EMBL
    line numbers, and a bare sequence, which is called "query 1". Gap characters, and control characters in names
    and titles, are removed with a notice. Takes time in proportion to the length of the text, whatever is in it.
    """
    decoded = decode(data)
    if isinstance(decoded, Finding):
        return Findings((decoded,))
    lines = decoded.text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next(((n, text) for n, text in enumerate(lines, 1) if _visible(text)), None)
    if first is None:
        return Findings((NOTHING,))
    foreign = recognise(first[1].strip(), first[0], lines[first[0] : first[0] + 4])
    if foreign is not None:
        return Findings((foreign,))
    findings: list[Finding] = []
    records = list(_records(lines, findings))
    findings.sort(key=lambda finding: finding.line or 0)
    if not findings:
        findings = _empty(records) if records else [NOTHING]
    if findings:
        return Findings(findings[:MOST])
    notices = [*([decoded.notice] if decoded.notice else []), *_gap_notices(records), *_dropped_notices(records)]
    queries = tuple(_query(record, number) for number, record in enumerate(records, 1))
    return Records(queries, tuple(record.line for record in records), tuple(notices))


def _records(lines: list[str], findings: list[Finding]) -> Iterator[_Record]:
    record: _Record | None = None
    for number, line in enumerate(lines, 1):
        if record is not None and _PURE.fullmatch(line):
            record.parts.append(line)
            continue
        text = line.strip().lstrip("\u200b\u200e\u2060\ufeff \t")
        if text.startswith(">"):
            if record is not None:
                yield record
            record = _Record(number, clean(text[1:]).strip(), dropped=dropped(text))
        elif not _visible(text) or text.startswith(";") or text == "//":
            continue
        else:
            if record is None:
                record = _Record(number, None)
            _sequence_line(record, text, number, findings)
        if len(findings) >= MOST:
            break
    if record is not None:
        yield record


def _sequence_line(record: _Record, text: str, number: int, findings: list[Finding]) -> None:
    bare = _unnumbered(text)
    letters = bare.translate(_BLANKS)
    without = letters.translate(_GAPS)
    plain = without.replace("*", "")
    if plain.isascii() and (plain.isalpha() or not plain):
        if record.header is None and len(record.parts) == 0 and _prose(bare):
            findings.append(Finding("query", f"“{excerpt(text)}” reads like words, not like a sequence.", number))
            return
        record.gaps += len(letters) - len(without)
        record.parts.append(without)
        return
    findings.append(Finding("query", _what_is_wrong(text, bare), number))


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
    for place, char in enumerate(text, 1):
        control = unicodedata.category(char) == "Cc" and ord(char) not in _BLANKS
        if not char.isascii() or control:
            unnamed = "control character" if control else "unnamed character"
            name = _INVISIBLE.get(ord(char)) or unicodedata.name(char, unnamed).lower()
            kind = "an invisible character" if not _visible(char) else "a character that is no sequence letter"
            return (
                f"There is {kind} at position {place}: {name} (U+{ord(char):04X}). Delete it, or type the line again."
            )
    if (
        len(text) <= _LONGEST_NAME
        and " " not in text
        and _NAME_LIKE.fullmatch(text)
        and not _sequence_with_digits(text)
    ):
        return f"“{excerpt(text)}” looks like a name whose “>” is missing. Put “>” before it."
    if text.startswith("@"):
        return "It begins with “@” as in FASTQ. In FASTA a name begins with “>”."
    place, char = next((p, c) for p, c in enumerate(bare, 1) if not (c.isalpha() or c in " \t\f\v-.*"))
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
    words = text.split()
    return len(words) > 2 and len({len(word) for word in words[:-1]}) > 1


def _visible(text: str) -> bool:
    return any(not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc") for char in text)


def _empty(records: list[_Record]) -> list[Finding]:
    findings = []
    for number, record in enumerate(records, 1):
        if any(record.parts):
            continue
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
        findings.append(Finding("query", sentence, record.line))
        if len(findings) == MOST:
            break
    return findings


def _gap_notices(records: list[_Record]) -> list[str]:
    gapped = [(number, record) for number, record in enumerate(records, 1) if record.gaps]
    if not gapped:
        return []
    total = sum(record.gaps for _, record in gapped)
    number, record = gapped[0]
    first = excerpt((record.header or f"query {number}").split(" ")[0], 30)
    more = f" and {len(gapped) - 1} more" if len(gapped) > 1 else ""
    return [f"{total} gap characters (- or .) were taken out of “{first}”{more}: positions are counted without them."]


def _dropped_notices(records: list[_Record]) -> list[str]:
    touched = [record for record in records if record.dropped]
    if not touched:
        return []
    total = sum(record.dropped for record in touched)
    what = "One control character was" if total == 1 else f"{total:,} control characters were"
    where = f"the name or title on line {touched[0].line}"
    more = f" and {len(touched) - 1:,} more" if len(touched) > 1 else ""
    return [f"{what} taken out of {where}{more}."]


def _query(record: _Record, number: int) -> Query:
    name, *title = (record.header or "").split(maxsplit=1) or [f"query {number}"]
    return Query(name, " ".join(title).strip(), "".join(record.parts))
