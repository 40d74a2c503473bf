"""What depends on rows once more, on PostgreSQL: the heart of it in `make test`, all of it in `make test-long`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.postgres import Server
from tests.world import REPOSITORY, SCALE

HEART = ["models", "rowclock", "flow", "reconciled_twice", "gatekeeper", "cancel"]
ROWLESS = {"commands", "docs", "image", "layers", "leash", "manifests", "mutations", "postgres", "work"}
WITHIN = 580 if SCALE == 1 else 1700  # seconds


def files() -> list[str]:
    if SCALE == 1:
        return [f"tests/test_{name}.py" for name in HEART]
    names = {path.stem.removeprefix("test_") for path in (REPOSITORY / "tests").glob("test_*.py")}
    return [*(f"tests/test_{name}.py" for name in sorted(names - ROWLESS)), "tests/views"]


@pytest.mark.timeout(WITHIN + 20)
def test_all_that_depends_on_rows_holds_on_postgresql(postgres: Server, note: Callable[[str, object], None]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--timeout", "60", *files()],
        cwd=REPOSITORY,
        env={**environment, "TEST_DATABASE_URL": postgres.fresh(), "SCALE": "1"},
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr
    note("on PostgreSQL", run.stdout.splitlines()[-1])
