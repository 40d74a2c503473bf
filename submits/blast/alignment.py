"""A pairwise alignment as lines to print: 60 columns in blocks of 10, positions at both ends, every column classed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from submits.blast.scoring import positive
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


def lines(row: Row, *, protein: bool, task: str = "") -> Iterator[Line]:
    """The lines of one alignment. On the subject's minus strand its positions fall; a line of gaps alone repeats one.

    Positives are judged by the matrix the task uses.
    """
    step = -1 if row.minus else 1
    query_at, subject_at = row.qstart, row.sstart
    for start in range(0, len(row.qseq), WIDTH):
        query = row.qseq[start : start + WIDTH]
        subject = row.sseq[start : start + WIDTH]
        kinds = [_kind(q, s, protein=protein, task=task) for q, s in zip(query, subject, strict=True)]
        query_letters = len(query) - query.count("-")
        subject_letters = len(subject) - subject.count("-")
        yield Line(
            Strand(query_at, query_at + max(0, query_letters - 1), _blocks(query, kinds)),
            _match(query, kinds, protein),
            Strand(subject_at, subject_at + step * max(0, subject_letters - 1), _blocks(subject, kinds)),
        )
        query_at += query_letters
        subject_at += step * subject_letters


def _kind(query: str, subject: str, *, protein: bool, task: str) -> Kind:
    if "-" in (query, subject):
        return "gap"
    if query.upper() == subject.upper():
        return "match"
    return "positive" if protein and positive(query.upper(), subject.upper(), task) else "mismatch"


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
