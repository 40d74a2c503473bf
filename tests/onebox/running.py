"""A running `manage.py up`, as somebody at a shell has it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from coordui.layout import Layout
from tests.world import REPOSITORY, processes_with, until

MARK = "COORDUI_TEST_MARK"


class Running:
    def __init__(self, words: Sequence[str], environment: Mapping[str, str] = {}) -> None:
        self.mark = secrets.token_hex(8)
        self.state = Path(words[words.index("--state") + 1])
        self.said = ""
        inherited = {name: value for name, value in os.environ.items() if name != "COORDUI_STATE"}
        # As a shell does it for a command in the background: SIGINT is inherited as ignored.
        self.process = subprocess.Popen(
            ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "manage.py", "up", *words],
            cwd=REPOSITORY,
            env={**inherited, **environment, MARK: self.mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self.process.stdout
        os.set_blocking(self.process.stdout.fileno(), False)

    def output(self) -> str:
        assert self.process.stdout
        self.said += (self.process.stdout.read() or b"").decode()
        return self.said

    def says(self, text: str, within: float = 20.0) -> str:
        def said_so_or_ended() -> bool:
            return text in self.output() or self.process.poll() is not None

        until(said_so_or_ended, within)
        assert text in self.output(), self.said
        return self.said

    def address(self) -> str:
        """http://HOST:PORT/, as a second `up` would name it."""
        address: str = json.loads(Layout(self.state).running.read_text())["address"]
        return address

    def stop(self, how: signal.Signals = signal.SIGINT, within: float = 30.0) -> int:
        self.process.send_signal(how)
        return self.ends(within)

    def ends(self, within: float = 20.0) -> int:
        status = self.process.wait(within)
        self.output()
        return status

    def left(self) -> list[int]:
        """Every process that this `up` has started, at any depth."""
        return [pid for pid in processes_with(MARK, self.mark, self.state) if pid != self.process.pid]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def is_gone(self) -> None:
        if self.process.stdout:
            self.process.stdout.close()
        until(lambda: not self.left(), 20)
