"""Cutting the queries into batches: whole sequences, in order, up to a length that suits the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A batch ends before the sequence that would make it longer than `letters`, or after `queries` sequences.

    With fewer batches than `slots` the letters are cut evenly over the slots; with more than `most` batches the
    length of a batch is raised until there are no more than that.
    """

    letters: int
    queries: int = 10_000
    slots: int = 1
    most: int = 1_000


def split(lengths: Sequence[int], rule: Rule) -> list[range]:
    """The batches as ranges of sequence indices: non-empty, in order, together every index exactly once.

    No sequence is ever cut; one that is longer than a batch has a batch of its own.
    """
    batches = _cut(lengths, rule.letters, rule.queries)
    if len(batches) < min(rule.slots, len(lengths)):
        even = -(-sum(lengths) // rule.slots)
        batches = _cut(lengths, max(1, even), rule.queries)
    letters, queries = rule.letters, rule.queries
    while len(batches) > rule.most:
        letters, queries = letters * 2, queries * 2
        batches = _cut(lengths, letters, queries)
    return batches


def _cut(lengths: Sequence[int], letters: int, queries: int) -> list[range]:
    batches: list[range] = []
    start = held = 0
    for index, length in enumerate(lengths):
        if index > start and (held + length > letters or index - start >= queries):
            batches.append(range(start, index))
            start, held = index, 0
        held += length
    if len(lengths) > start:
        batches.append(range(start, len(lengths)))
    return batches
