"""What BLAST+ says that it accepts: its flags, columns, matrices and scores.

Written down from the programs themselves by scripts/blast_facts.py; a test compares it with the installed BLAST+.
Where another BLAST+ searches, COORDUI_BLAST_FACTS names the file that was written in its image.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("blast_facts.json")


@cache
def facts() -> Mapping[str, Any]:
    file = Path(os.environ.get("COORDUI_BLAST_FACTS", "").strip() or FILE).expanduser()
    found: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def flags(program: str) -> Mapping[str, Mapping[str, Any]]:
    """Each flag of a program, by its name without the hyphen."""
    found: Mapping[str, Mapping[str, Any]] = facts()["programs"][program]
    return found


def columns() -> tuple[str, ...]:
    """What tabular output may be made of, in the order of BLAST's help."""
    return tuple(facts()["columns"])


def matrices() -> Mapping[str, Mapping[str, Any]]:
    """By name: the `usual` (open, extend) costs of a gap, all `costs`, and the pairs of letters scored above 0."""
    found: Mapping[str, Mapping[str, Any]] = facts()["matrices"]
    return found
