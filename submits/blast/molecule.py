"""Nucleotide or protein? Told from the letters, and left open when they do not tell."""

from __future__ import annotations

import re
from typing import Literal

Molecule = Literal["nucl", "prot"]
Kind = Literal["nucl", "prot", "rps"]  # what a database holds; rps: profiles of protein families, for RPS-BLAST
WORDS: dict[str, str] = {"nucl": "nucleotide", "prot": "protein", "rps": "profile"}
HOLDS: dict[str, str] = {"nucl": "nucleotide sequences", "prot": "protein sequences", "rps": "profiles of families"}

_BASES = "ACGTU"
_PROTEIN_ONLY = re.compile(r"[EFILPQZJO*]")
_NOT_NUCLEOTIDE = re.compile(r"[^ACGTURYSWKMBDHVNXacgturyswkmbdhvnx]")
TELLING = 10


def detect(sequence: str) -> Molecule | None:
    """The molecule of one sequence, or None when there are fewer than 10 telling letters or they are ambiguous.

    A letter that only proteins have decides, unless all but one in twenty letters are bases: that is a slip in a
    nucleotide sequence. N and X tell nothing.
    """
    # Counting one letter at a time in C is far quicker than one pass that counts them all.
    letters = sequence.upper()
    total = len(letters) - letters.count("N") - letters.count("X")
    if total < TELLING:
        return None
    bases = sum(map(letters.count, _BASES))
    if bases >= 0.95 * total and total >= 2 * TELLING:
        return "nucl"
    if _PROTEIN_ONLY.search(letters):
        return "prot"
    return "nucl" if bases > 0.9 * total else None


def stray(sequence: str, molecule: Molecule) -> tuple[int, str] | None:
    """The first letter (position counted from 1) that is not of this molecule's alphabet."""
    if molecule == "prot":
        return None
    found = _NOT_NUCLEOTIDE.search(sequence)
    return (found.start() + 1, found[0]) if found else None
