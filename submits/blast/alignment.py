"""A pairwise alignment as lines to print: 60 columns in blocks of 10, positions at both ends, every column classed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from submits.blast.scoring import MATRIX, positive
from submits.blast.table import Row

Kind = Literal["match", "positive", "mismatch", "gap"]
WIDTH = 60
BLOCK = 10


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring columns of one kind within one block."""

    text: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Strand:
    """One sequence's share of a line: the positions of its first and last letter, and its blocks."""

    first: int
    last: int
    blocks: tuple[tuple[Run, ...], ...]

    @property
    def text(self) -> str:
        return "".join(run.text for block in self.blocks for run in block)


@dataclass(frozen=True, slots=True)
class Line:
    """Up to 60 columns: query, the line between (| or the letter for a match, + for a positive), subject."""

    query: Strand
    match: tuple[str, ...]
    subject: Strand


def lines(row: Row, *, protein: bool, matrix: str = MATRIX) -> Iterator[Line]:
    """The lines of one alignment. Against a sequence's own direction its positions fall; a line of gaps alone repeats
    one. Where bases were translated a letter is three positions.

    Positives are judged by `matrix`.
    """
    query_at, subject_at = _Place.of(row.qstart, row.qend, row.qseq), _Place.of(row.sstart, row.send, row.sseq)
    for start in range(0, len(row.qseq), WIDTH):
        query = row.qseq[start : start + WIDTH]
        subject = row.sseq[start : start + WIDTH]
        kinds = [_kind(q, s, protein=protein, matrix=matrix) for q, s in zip(query, subject, strict=True)]
        yield Line(
            Strand(*query_at.take(query), _blocks(query, kinds)),
            _match(query, kinds, protein),
            Strand(*subject_at.take(subject), _blocks(subject, kinds)),
        )


@dataclass(slots=True)
class _Place:
    """The position of a sequence's next letter; each letter is `step` positions further, and `unit` of them wide."""

    at: int
    step: int
    unit: int

    @staticmethod
    def of(start: int, end: int, text: str) -> _Place:
        letters = max(1, len(text) - text.count("-"))
        unit = (abs(end - start) + 1) // letters
        return _Place(start, unit if end >= start else -unit, unit)

    def take(self, text: str) -> tuple[int, int]:
        """The positions of the first and the last letter of the next piece."""
        letters = len(text) - text.count("-")
        first = self.at
        self.at += self.step * letters
        last = self.at - (1 if self.step > 0 else -1) if letters else first
        return first, last


def _kind(query: str, subject: str, *, protein: bool, matrix: str) -> Kind:
    if "-" in (query, subject):
        return "gap"
    if query.upper() == subject.upper():
        return "match"
    return "positive" if protein and positive(query.upper(), subject.upper(), matrix) else "mismatch"


def _match(query: str, kinds: list[Kind], protein: bool) -> tuple[str, ...]:
    marks = {"positive": "+", "mismatch": " ", "gap": " "}
    line = "".join(marks.get(kind) or (letter if protein else "|") for letter, kind in zip(query, kinds, strict=True))
    return tuple(line[at : at + BLOCK] for at in range(0, len(line), BLOCK))


def _blocks(text: str, kinds: list[Kind]) -> tuple[tuple[Run, ...], ...]:
    return tuple(_runs(text[at : at + BLOCK], kinds[at : at + BLOCK]) for at in range(0, len(text), BLOCK))


def _runs(text: str, kinds: list[Kind]) -> tuple[Run, ...]:
    runs = []
    at = 0
    for kind, columns in groupby(kinds):
        width = len(list(columns))
        runs.append(Run(text[at : at + width], kind))
        at += width
    return tuple(runs)
