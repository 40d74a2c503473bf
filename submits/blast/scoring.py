"""Which pairs of different amino acids score above zero: what BLAST counts as positives.

Read off BLAST+ itself, pair by pair; a test compares them with the positives that it reports.
"""

from __future__ import annotations

BLOSUM62 = frozenset(
    {
        *("AS", "BD", "BE", "BN", "CU", "DE", "DN", "DZ", "EK", "EQ", "EZ", "FW", "FY", "HN", "HY"),
        *("IL", "IM", "IV", "KQ", "KR", "KZ", "LM", "LV", "MV", "NS", "QR", "QZ", "ST", "WY"),
    }
)
PAM30 = frozenset(("BD", "BE", "BN", "CU", "DE", "DN", "DZ", "EQ", "EZ", "FY", "HQ", "IV", "LM", "QZ"))
_BY_TASK = {"blastp-short": PAM30}


def positive(one: str, other: str, task: str = "") -> bool:
    """Whether two different upper-case letters count as a positive under the matrix that `task` uses."""
    return (one + other if one < other else other + one) in _BY_TASK.get(task, BLOSUM62)
