"""The one table that every page lives on: the columns asked of BLAST's formatter, and a row as a record.

A subject's title can hold anything but a tab and a line end (makeblastdb turns those into spaces), so a row is
always as many cells as there are columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from submits.blast.printable import clean

COLUMNS = (
    "qseqid", "saccver", "stitle", "pident", "length", "mismatch", "gapopen", "qstart", "qend", "sstart", "send",
    "evalue", "bitscore", "score", "qlen", "slen", "qcovs", "qcovhsp", "qframe", "sframe", "nident", "positive", "gaps",
    "staxids", "qseq", "sseq", "btop",
)  # fmt: skip
TEXT_COLUMNS = frozenset({"qseqid", "saccver", "stitle", "staxids"})
OUTFMT = "6 " + " ".join(COLUMNS)
ARCHIVE = "11"


def query_id(number: int) -> str:
    """The inner name of query `number`, counted from 1: ASCII, unique, and sorted as the numbers are."""
    return f"q{number:06d}"


class BadRow(ValueError):
    """A row that is not what the formatter was asked for."""


class Subject(NamedTuple):
    """What a row says of its subject. Names need not be unique, and BLAST's table has no number for a subject."""

    name: str
    title: str
    length: int
    cover: float
    evalue: float

    def goes_on(self, after: Subject) -> bool:
        """True when this row, the next after that one, is of the same subject.

        A subject's rows follow each other from the best on and share one coverage (qcovs), so two subjects of equal
        name, title and length are told apart where either changes. Limit: else they count as one.
        """
        return self[:4] == after[:4] and self.evalue >= after.evalue


@dataclass(frozen=True, slots=True)
class Row:
    """One alignment (HSP). Positions count from 1; on the minus strand of the subject `sstart` is above `send`."""

    qseqid: str
    saccver: str
    stitle: str
    pident: float
    length: int
    mismatch: int
    gapopen: int
    qstart: int
    qend: int
    sstart: int
    send: int
    evalue: float
    bitscore: float
    score: int
    qlen: int
    slen: int
    qcovs: float
    qcovhsp: float
    qframe: int
    sframe: int
    nident: int
    positive: int
    gaps: int
    staxids: str
    qseq: str
    sseq: str
    btop: str

    @property
    def minus(self) -> bool:
        """True when the alignment runs against the subject's own direction: its numbers fall."""
        return self.sstart > self.send

    @property
    def opposite(self) -> bool:
        """True when the two run in opposite directions; where the query is translated, that may be turned instead."""
        return (self.sstart > self.send) != (self.qstart > self.qend)

    @property
    def subject(self) -> Subject:
        return Subject(self.saccver, self.stitle, self.slen, self.qcovs, self.evalue)


def parse(line: str) -> Row:
    """One line of the table; raises BadRow for anything but exactly the columns asked for."""
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) != len(COLUMNS):
        raise BadRow(f"{len(cells)} cells where {len(COLUMNS)} were asked for: {line[:80]!r}")
    c = cells
    try:
        return Row(
            c[0], clean(c[1]), clean(c[2]), float(c[3]), int(c[4]), int(c[5]), int(c[6]), int(c[7]), int(c[8]),
            int(c[9]), int(c[10]), float(c[11]), float(c[12]), int(c[13]), int(c[14]), int(c[15]), float(c[16]),
            float(c[17]), int(c[18]), int(c[19]), int(c[20]), int(c[21]), int(c[22]), c[23], c[24], c[25], c[26],
        )  # fmt: skip
    except ValueError as error:
        raise BadRow(f"{error}: {line[:80]!r}") from error
