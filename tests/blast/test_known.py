"""Where another BLAST+ searches, what may be set is what that one says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from submits.blast import known
from tests.world import REPOSITORY

ASKED = """
from submits.blast import known
from submits.blast.options import Options, parse
from submits.blast.programs import PROGRAMS
found = parse(PROGRAMS["blastp"], {"task": "blastp", "flags": "-window_size 40"})
print(known.facts()["version"], isinstance(found, Options), len(known.columns()))
"""


def asked(**environment: str) -> str:
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), **environment}
    return subprocess.run(
        [sys.executable, "-c", ASKED], env=given, capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


def test_the_facts_of_another_blast_decide_where_they_are_named(tmp_path: Path) -> None:
    usual = f"2.12.0+ True {len(known.columns())}"
    assert asked() == asked(COORDUI_BLAST_FACTS="") == usual
    facts = json.loads(known.FILE.read_text())
    facts["version"] = "9.9.9+"
    facts["columns"].append("nine")
    del facts["programs"]["blastp"]["window_size"]
    other = tmp_path / "facts.json"
    other.write_text(json.dumps(facts))
    assert asked(COORDUI_BLAST_FACTS=str(other)) == f"9.9.9+ False {len(known.columns()) + 1}"
