"""The rows, the flow, the gatekeeper and a cancel once more, on PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.postgres import Server
from tests.world import REPOSITORY, SCALE

ROWS = ["models", "flow", "reconciled_twice", "gatekeeper", "cancel"]
MORE = ["tests/test_admitted.py", "tests/test_lessons.py", "tests/test_live.py", "tests/views"]


@pytest.mark.timeout(600)
def test_all_that_depends_on_rows_holds_on_postgresql(postgres: Server, note: Callable[[str, object], None]) -> None:
    files = [f"tests/test_{name}.py" for name in ROWS] + (MORE if SCALE > 1 else [])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--timeout", "60", *files],
        cwd=REPOSITORY,
        env={**environment, "TEST_DATABASE_URL": postgres.fresh()},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr
    note("on PostgreSQL", run.stdout.splitlines()[-1])
