"""Somebody who is killed while making a large file of a work store in a directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CODE = """
import sys, time
from submits.work import WorkStore
with WorkStore(sys.argv[1]).scratch(sys.argv[2]) as made:
    (made / "half").write_bytes(b"x" * 1000)
    print("half", flush=True)
    time.sleep(60)
"""


def killed_while_making(root: Path, key: str) -> None:
    """It leaves half a file."""
    with subprocess.Popen([sys.executable, "-c", _CODE, str(root), key], stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        try:
            assert maker.stdout.readline() == b"half\n"
        finally:
            maker.kill()
