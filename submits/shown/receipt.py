"""What exactly was run, for whoever wants to run it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from submits.blast import plan
from submits.blast.plan import Plan
from submits.engine.external.settings import FILE, Handed
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
    made = files.read(row, "plan.json", Plan.from_json)
    if made is None:
        return None
    outcome: dict[str, Any] = files.read(row, "outcome.json", json.loads) or {}
    return Receipt(
        command_of(made), made.database.title, made.database.formatted, str(outcome.get("blast", "")), made.batches
    )


def handed(row: Submission) -> Handed | None:
    """What was handed over to elastic-blast; None when our own engine searched."""
    return files.read(row, FILE, Handed.from_json)


def command_of(made: Plan) -> str:
    """The command of a plan as a line for a shell, with all queries in one file."""
    name = PurePath(made.database.path).name
    argv = plan.command(made, query="query.fa", database=name, out="hits.asn")
    argv[argv.index("-db") + 1] = name  # quoted for BLAST, which takes a list there; a shell's quotes come on top
    return shlex.join(argv)
