"""What elastic-blast leaves behind, left by hand."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from submits.engine.external.settings import Handed

RUN = "job-" + "0" * 32


@pytest.fixture
def at(tmp_path: Path) -> Path:
    found = tmp_path / "results"
    found.mkdir()
    return found


def handed(at: Path, run_id: str = RUN, **changed: Any) -> Handed:
    found = Handed("ab12", f"gs://b/{run_id}/ab12", str(at), f"{run_id}/ab12", "table", "cli", "1", 30, submitted=True)
    return replace(found, **changed)


def left(at: Path, name: str, content: bytes = b"", run_id: str = RUN) -> None:
    path = at / run_id / "ab12" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def out(number: int) -> str:
    return f"batch_{number:03d}-blastp-db.out.gz"


def asked(at: Path, many: int, run_id: str = RUN) -> None:
    for number in range(many):
        left(at, f"query_batches/batch_{number:03d}.fa", b"", run_id)


def whole(at: Path, run_id: str, many: int) -> None:
    asked(at, many, run_id)
    for number in range(many):
        left(at, out(number), gzip.compress(b""), run_id)
    left(at, "metadata/SUCCESS.txt", b"", run_id)
