"""When each submit ran, in one append-only file that all of them share: proof that no two overlap."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Self

JOURNAL = "COORDUI_SUBMIT_JOURNAL"


class Journal:
    """`start|end RUN_ID PID BOOTTIME`: a line when the block begins and one when it is left, however it is left.

    Each line is one write to a file opened with O_APPEND, so lines of two processes never mix. Without a path: nothing.
    """

    def __init__(self, path: str, run_id: str) -> None:
        self.path, self.run_id = path, run_id

    def __enter__(self) -> Self:
        self._line("start")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line("end")

    def _line(self, word: str) -> None:
        if not self.path:
            return
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            os.write(file, f"{word} {self.run_id} {os.getpid()} {now:.6f}\n".encode())
        finally:
            os.close(file)
