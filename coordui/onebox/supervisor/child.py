"""One process on its leash, with its log file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

LEASH = Path(__file__).resolve().parents[3] / "submits" / "leash.py"
KEPT_LOGS = 3
LARGEST_LOG = 10_000_000  # bytes


class Log:
    """STATE/logs/NAME.log, and NAME.log.1 … .3 from before. A child writes to it directly, by O_APPEND."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rotate(self) -> None:
        for number in range(KEPT_LOGS, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                os.replace(older, self._numbered(number))

    def bound(self) -> None:
        """Move an overlong log aside. The child goes on writing to the same file, so it is copied and emptied;
        a line written between the two is lost."""
        if self.path.exists() and self.path.stat().st_size > LARGEST_LOG:
            self._numbered(1).write_bytes(self.path.read_bytes())
            os.truncate(self.path, 0)

    def tail(self, lines: int = 20) -> list[str]:
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, self.path.stat().st_size - 16_384))
                return file.read().decode(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return []

    def open(self) -> int:
        return os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path


class Child:
    """A running command. It lives no longer than the pipe that this object holds."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Log, keep: Sequence[int] = ()
    ) -> None:
        """The leash, not the command, keeps the descriptors `keep`: a lock on them is held until all has ended."""
        output = log.open()
        try:
            self.leash = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LEASH), "--grace", "0.5", "--", *argv],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                pass_fds=tuple(keep),
            )
        finally:
            os.close(output)

    def ended(self) -> int | None:
        """The exit status (128 + signal if it was killed), once it and everything below it has ended."""
        status = self.leash.poll()
        if status is not None:
            self._let_go()
        return status

    def terminate(self) -> None:
        """SIGTERM to the command alone: what it started below itself is for the command to end well."""
        leash = self.leash.pid
        try:
            # The command is the first that the leash started, and so the first in the kernel's list.
            below = Path(f"/proc/{leash}/task/{leash}/children").read_text().split()
        except OSError:
            below = []
        try:
            if below:
                os.kill(int(below[0]), signal.SIGTERM)
            else:
                self._let_go()
        except ProcessLookupError:
            pass

    def kill(self) -> None:
        """Let go of the leash: it kills everything below it, and then ends."""
        self._let_go()

    def _let_go(self) -> None:
        if self.leash.stdin and not self.leash.stdin.closed:
            try:
                self.leash.stdin.close()
            except BrokenPipeError:
                pass
