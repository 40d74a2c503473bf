"""The `Submit` port: one submit command on a leash, in a fresh private directory, its output in the run's log."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from submits import work
from submits.gates.ports import KILLED, Times
from submits.work import WorkStore, run_key

LEASH = Path(work.__file__).with_name("leash.py")
LAPSED = 124  # the leash's own exit status when it had to kill
TAIL = 4000  # bytes of the log that go into a row's detail


class LeashedSubmit:
    """`command` is the engine's name and first arguments; `--cfg` and `--idempotency-key` are added here. The fresh
    directories are made in `parent`.

    1. `start` makes a directory (0700), writes into it the configuration and a kubeconfig that pins the gates' cluster,
       namespace and credential, and starts the leash with the command below it.
    2. `poll` returns once the command *and everything below it* has ended; the leash sees to the second.
    3. The directory goes when it has ended or was killed.
    """

    leashed = True

    def __init__(
        self,
        command: list[str],
        configuration: str,
        kubeconfig: str,
        environment: Mapping[str, str],
        *,
        store: WorkStore,
        times: Times,
        parent: Path,
    ) -> None:
        self.command, self.environment = command, dict(environment)
        self.configuration, self.kubeconfig = configuration, kubeconfig
        self.store, self.times, self.parent = store, times, parent
        self.process: subprocess.Popen[bytes] | None = None
        self.directory: Path | None = None

    def start(self, run_id: str, sent: float) -> None:
        self.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.directory = Path(tempfile.mkdtemp(prefix="submit-", dir=self.parent))
        configuration = self.directory / "submit.ini"
        configuration.write_text(self.configuration, encoding="utf-8")
        kubeconfig = self.directory / "kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(self.kubeconfig, encoding="utf-8")
        leash = [sys.executable, "-I", "-S", str(LEASH), "--grace", "0"]
        leash += ["--within", str(self.times.leash), "--since", f"{sent:.6f}"]
        arguments = [*self.command, "submit", "--cfg", str(configuration), "--idempotency-key", run_id]
        with self.store.path(run_key(run_id, "log.txt")).open("ab") as log:
            self.process = subprocess.Popen(
                [*leash, "--", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                env={
                    **self.environment,
                    "KUBECONFIG": str(kubeconfig),
                    "HOME": str(self.directory),
                    "TMPDIR": str(self.directory),
                },
            )

    def poll(self, seconds: float) -> int | None:
        if self.process is None:
            return None
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self.clear()
        return KILLED if was_killed(code) else code

    def feed(self, sent: float) -> None:
        if self.process is None or self.process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):  # it has ended: the next poll says so
            self.process.stdin.write(b"beat %.6f\n" % sent)
            self.process.stdin.flush()

    def kill(self) -> None:
        if self.process is None:
            return
        self.close_pipe()  # its end is the leash's word to kill everything
        try:
            self.process.wait(self.times.kill)
        except subprocess.TimeoutExpired:
            # A stopped leash kills nobody; SIGKILL takes it and, by PDEATHSIG, the command itself.
            self.process.kill()
            self.process.wait()
        self.clear()

    def close_pipe(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def clear(self) -> None:
        self.close_pipe()
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None


def was_killed(code: int) -> bool:
    """By the leash, with the leash, or by a signal (128 + n, as the leash says it; 255 is the engine's own)."""
    return code == LAPSED or code < 0 or 128 < code <= 128 + 64


def tail(store: WorkStore, run_id: str) -> str:
    """The last words of the run's log, for a row's detail; "" when there are none."""
    path = store.path(run_key(run_id, "log.txt"))
    if not path.is_file():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - TAIL))
        return log.read().decode("utf-8", "replace").strip()
