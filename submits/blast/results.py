"""Hits of one query, read from its piece of the merged table: typed, grouped by subject, sorted, in pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, Generic, TypeVar

from submits.blast.summary import QuerySummary
from submits.blast.table import Row, parse

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hit:
    """One subject with its alignments, the best first. `cover` and `identity` are percentages.

    `number` counts from 1 in the order of e-values and stays the same however a page sorts or filters.
    """

    number: int
    accession: str
    title: str
    length: int
    evalue: float
    bitscore: float
    cover: float
    identity: float
    hsps: tuple[Row, ...]

    @property
    def anchor(self) -> str:
        return f"hit-{self.number}"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a longer list; numbers count from 1, and an empty list has one empty page."""

    items: tuple[T, ...]
    number: int
    pages: int
    total: int
    size: int

    @property
    def first(self) -> int:
        """The place of its first item in the whole list, 0 when there is none."""
        return (self.number - 1) * self.size + 1 if self.total else 0

    @property
    def last(self) -> int:
        return min(self.number * self.size, self.total)


def read_hits(table: BinaryIO, query: QuerySummary) -> list[Hit]:
    """The hits of one query, by e-value, then bit score. Reads that query's rows alone; raises BadRow."""
    if not query.size:
        return []
    table.seek(query.offset)
    text = table.read(query.size).decode("utf-8", "replace")
    return group(parse(line) for line in text.split("\n") if line)


def group(rows: Iterable[Row]) -> list[Hit]:
    """Hits from rows in BLAST's order, in which the alignments of one subject follow each other."""
    found = [_hit(alignments) for alignments in _subjects(rows)]
    found.sort(key=lambda hit: (hit.evalue, -hit.bitscore))
    return [replace(hit, number=number) for number, hit in enumerate(found, 1)]


def page(items: Sequence[T], number: int = 1, size: int = 50) -> Page[T]:
    """Page `number`; one that does not exist becomes the nearest that does."""
    pages = max(1, -(-len(items) // size))
    number = min(max(1, number), pages)
    return Page(tuple(items[(number - 1) * size : number * size]), number, pages, len(items), size)


def evalue_text(evalue: float | None) -> str:
    """An e-value as people write it: 0.0, 3e-12, 0.041, 7.2; "" for none."""
    if evalue is None:
        return ""
    if evalue == 0:
        return "0.0"
    if evalue < 0.001:
        mantissa, exponent = f"{evalue:.0e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{evalue:.2g}" if evalue < 10 else f"{evalue:.0f}"


def _subjects(rows: Iterable[Row]) -> Iterator[tuple[Row, ...]]:
    alignments: list[Row] = []
    for row in rows:
        if alignments and not row.subject.goes_on(alignments[-1].subject):
            yield tuple(alignments)
            alignments = []
        alignments.append(row)
    if alignments:
        yield tuple(alignments)


def _hit(rows: tuple[Row, ...]) -> Hit:
    hsps = tuple(sorted(rows, key=lambda row: (row.evalue, -row.bitscore)))
    best = hsps[0]
    # A database made without -parse_seqids keeps the name inside the title.
    title = best.stitle.removeprefix(best.saccver).strip() if best.stitle.startswith(best.saccver) else best.stitle
    return Hit(
        number=0,
        accession=best.saccver,
        title="" if title == "N/A" else title,
        length=best.slen,
        evalue=best.evalue,
        bitscore=max(row.bitscore for row in hsps),
        cover=best.qcovs,
        identity=best.pident,
        hsps=hsps,
    )
