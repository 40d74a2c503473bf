"""Files to take away: every column as a table, and the aligned parts of the subjects as FASTA.

Both are generators: what is downloaded is never held in memory whole, and what they remember of it is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2s

from submits.blast import table
from submits.blast.printable import clean
from submits.blast.summary import QuerySummary, Summary

# What makes a spreadsheet take a cell for a formula; a leading apostrophe makes it text again.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WIDTH = 60
REMEMBERED = 250_000  # parts of subjects, in about 25 MB
TSV_COLUMNS = (*table.COLUMNS, "qtitle", "qnumber")


def tsv(lines: Iterable[bytes], summary: Summary) -> Iterator[bytes]:
    """The table with a header line and the author's own query names; safe to open in a spreadsheet.

    The last two columns are the query's title and its number: names need not be unique, numbers are.
    """
    yield ("\t".join(TSV_COLUMNS) + "\n").encode()
    known = _Known(summary)
    text = [name in table.TEXT_COLUMNS for name in table.COLUMNS]
    for line in lines:
        cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
        query = known.query(cells[0])
        cells[0] = query.name
        cells = [safe(cell) if is_text else cell for cell, is_text in zip(cells, text, strict=True)]
        yield ("\t".join([*cells, safe(query.title), str(query.number)]) + "\n").encode("utf-8", "replace")


def fasta(lines: Iterable[bytes], summary: Summary) -> Iterator[bytes]:
    """The aligned part of each subject, gaps taken out, once for each part however many queries it aligns with.

    Parts of subjects that share a name are told apart by their letters. Limit: that holds of the first 250,000
    parts; one that comes after them is there as often as it was found.

    A part on the minus strand is given as it aligned and its range is written with a c, as c200-100.
    """
    known = _Known(summary)
    seen: set[int] = set()
    for line in lines:
        row = table.parse(line.decode("utf-8", "replace"))
        letters = row.sseq.replace("-", "")
        part = _digest(f"{row.saccver}\t{row.sstart}\t{row.send}\t{letters}")
        if part in seen:
            continue
        if len(seen) < REMEMBERED:
            seen.add(part)
        span = f"{'c' if row.minus else ''}{row.sstart}-{row.send}"
        title = row.stitle.removeprefix(row.saccver).strip()
        header = f">{row.saccver}:{span} {title} [query={known.query(row.qseqid).name}] [evalue={row.evalue:g}]"
        wrapped = [letters[at : at + _WIDTH] for at in range(0, len(letters), _WIDTH)]
        yield ("\n".join([" ".join(header.split()), *wrapped]) + "\n").encode("utf-8", "replace")


def _digest(text: str) -> int:
    """8 bytes: of 250,000 parts two are taken for one with a chance of 1 in 500 million."""
    return int.from_bytes(blake2s(text.encode("utf-8", "replace"), digest_size=8).digest())


class _Known:
    """The queries by their inner names. The rows of one follow each other, so that of many one is held."""

    def __init__(self, summary: Summary) -> None:
        self.summary, self.last = summary, QuerySummary("", "", "", 0)

    def query(self, name: str) -> QuerySummary:
        """Raises BadRow for a name that no query has."""
        if name != self.last.id:
            found = self.summary.query(int(name[1:]) if name[1:].isdecimal() else 0)
            if found is None:
                raise table.BadRow(f"rows of {name!r}, which is no query")
            self.last = found
        return self.last


def safe(cell: str) -> str:
    """A text cell that no spreadsheet runs as a formula and that stays one cell."""
    flat = clean(cell)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat
