"""Which pairs of different amino acids score above zero: what BLAST counts as positives."""

from __future__ import annotations

from functools import cache

from submits.blast import known

MATRIX = "BLOSUM62"
BY_TASK = {"blastp-short": "PAM30"}


def matrix_of(task: str, chosen: str = "") -> str:
    """The matrix of a search: the one that was chosen, else the one that belongs to its task."""
    return chosen or BY_TASK.get(task, MATRIX)


def positive(one: str, other: str, matrix: str = MATRIX) -> bool:
    """Whether two different upper-case letters count as a positive under a matrix."""
    return (one + other if one < other else other + one) in _positives(matrix)


@cache
def _positives(matrix: str) -> frozenset[str]:
    return frozenset(known.matrices()[matrix]["positives"])
