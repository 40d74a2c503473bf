"""Nucleotide or protein? Told from the letters, and left open when they do not tell."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

Molecule = Literal["nucl", "prot"]
WORDS: dict[str, str] = {"nucl": "nucleotide", "prot": "protein"}

NUCLEOTIDES = frozenset("ACGTURYSWKMBDHVN")
_BASES = frozenset("ACGTU")
_PROTEIN_ONLY = frozenset("EFILPQZJO*")
_NOT_NUCLEOTIDE = re.compile(r"[^ACGTURYSWKMBDHVNXacgturyswkmbdhvnx]")
TELLING = 10


def detect(sequence: str) -> Molecule | None:
    """The molecule of one sequence, or None when there are fewer than 10 telling letters or they are ambiguous.

    A letter that only proteins have decides, unless all but one in twenty letters are bases: that is a slip in a
    nucleotide sequence. N and X tell nothing.
    """
    counts = Counter(sequence.upper())
    known = {letter: n for letter, n in counts.items() if letter not in "NX"}
    total = sum(known.values())
    if total < TELLING:
        return None
    bases = sum(n for letter, n in known.items() if letter in _BASES)
    if bases >= 0.95 * total and total >= 2 * TELLING:
        return "nucl"
    if any(letter in _PROTEIN_ONLY for letter in known):
        return "prot"
    return "nucl" if bases > 0.9 * total else None


def stray(sequence: str, molecule: Molecule) -> tuple[int, str] | None:
    """The first letter (position counted from 1) that is not of this molecule's alphabet."""
    if molecule == "prot":
        return None
    found = _NOT_NUCLEOTIDE.search(sequence)
    return (found.start() + 1, found[0]) if found else None
