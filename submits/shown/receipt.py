"""What exactly was run, for whoever wants to run it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from submits.blast import plan
from submits.models import Submission
from submits.shown import files


@dataclass(frozen=True)
class Receipt:
    command: str
    database: str
    formatted: str
    blast: str
    batches: int


def read(row: Submission) -> Receipt | None:
    """None until the search has been prepared. The database's directory is nobody's business but the operator's."""
    made = files.read(row, "plan.json", plan.Plan.from_json)
    if made is None:
        return None
    outcome: dict[str, Any] = files.read(row, "outcome.json", json.loads) or {}
    name = PurePath(made.database.path).name
    argv = plan.command(made, query="query.fa", database=name, out="hits.asn")
    argv[argv.index("-db") + 1] = name  # quoted for BLAST, which takes a list there; a shell's quotes come on top
    return Receipt(
        shlex.join(argv), made.database.title, made.database.formatted, str(outcome.get("blast", "")), made.batches
    )
