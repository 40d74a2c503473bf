"""Commands as somebody at a shell has them, on a state directory where nothing was ever started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from submits import demo
from tests.world import REPOSITORY


@pytest.mark.parametrize(
    "words", [["adddb", str(demo.databases()[0].fasta)], ["adduser", "bob"], ["signin"], ["demo"]], ids=lambda w: w[0]
)
def test_before_any_start_a_command_says_so(words: list[str], tmp_path: Path) -> None:
    state = tmp_path / "new"
    environment = {name: value for name, value in os.environ.items() if name not in ("COORDUI_STATE", "DATABASE_URL")}
    done = subprocess.run(
        [sys.executable, "manage.py", *words, "--state", str(state)],
        check=False, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.splitlines() == [
        f"CommandError: Nothing has been started on {state} yet: start once with `make up`."
    ]
    assert not state.exists()
