"""The `Submit` port: one submit command on a leash, in a fresh private directory, its output in the run's log."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from submits.engine import kept
from submits.engine.output import Output
from submits.gates.ports import KILLED, Times
from submits.work import WorkStore, run_key

log = logging.getLogger(__name__)
LEASH = Path(__file__).parents[1] / "leash.py"
LAPSED = 124  # the leash's own exit status when it had to kill
TAIL = 4000  # bytes of the log that go into a row's detail
LOG_BYTES = 1_000_000
PREFIX = "submit-"
PRUNED_AFTER = 2 * 86_400  # seconds; no submit may last longer than a day


class LeashedSubmit:
    """`command` is the engine's name and first arguments; `--cfg` and `--idempotency-key` are added here. The fresh
    directories are made in `parent`.

    1. `start` removes directories that were left or kept long ago, makes a fresh one (0700), writes into it the
       configuration and a kubeconfig that pins the gates' cluster, namespace and credential, and starts the leash with
       the command below it. Two at once share no file: their home and their temporary files are in it too.
    2. `poll` moves what is said into the run's log, which stays below `log_bytes`, and returns once the command *and
       everything below it* has ended; the leash sees to the second.
    3. The directory goes when it has ended, was killed, or could not be started. With `keep` it stays, of its files
       those that `kept` names, without the credentials that nobody needs any more.

    Of one whose holder died the leash ends everything below it, and the directory goes with a later start's look.
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
        log_bytes: int = LOG_BYTES,
        keep: bool = False,
    ) -> None:
        self.command, self.environment = command, dict(environment)
        self.configuration, self.kubeconfig = configuration, kubeconfig
        self.store, self.times, self.parent = store, times, parent
        self.log_bytes, self.keep = log_bytes, keep
        self.process: subprocess.Popen[bytes] | None = None
        self.output: Output | None = None
        self.ended = -1  # a descriptor that can be read once the process has ended
        self.directory: Path | None = None

    def start(self, run_id: str, sent: float) -> None:
        self.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        prune(self.parent, time.time() - PRUNED_AFTER)
        self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.parent))
        try:
            self.start_in(self.directory, run_id, sent)
        except BaseException:
            self.clear()
            raise

    def start_in(self, directory: Path, run_id: str, sent: float) -> None:
        configuration, kubeconfig = directory / "submit.ini", directory / "kubeconfig"
        for path, text in ((configuration, self.configuration), (kubeconfig, self.kubeconfig)):
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        leash = [sys.executable, "-I", "-S", str(LEASH), "--grace", "0"]
        leash += ["--within", str(self.times.leash), "--since", f"{sent:.6f}"]
        arguments = [*self.command, "submit", "--cfg", str(configuration), "--idempotency-key", run_id]
        self.output = Output(self.store.log(run_key(run_id, "log.txt"), self.log_bytes))
        try:
            self.process = subprocess.Popen(
                [*leash, "--", *arguments],
                stdin=subprocess.PIPE,
                stdout=self.output.writing,
                stderr=self.output.writing,
                cwd=directory,
                env={
                    **self.environment,
                    "KUBECONFIG": str(kubeconfig),
                    "HOME": str(directory),
                    "TMPDIR": str(directory),
                },
            )
        finally:
            self.output.handed_over()
        self.ended = os.pidfd_open(self.process.pid)

    def poll(self, seconds: float) -> int | None:
        code = self.wait(seconds)
        if code is None:
            return None
        self.clear()
        return KILLED if was_killed(code) else code

    def wait(self, seconds: float) -> int | None:
        """The exit status of the leash, once it has ended."""
        if self.process is None:
            return None
        if self.output is not None and self.ended >= 0:
            self.output.pump(seconds, self.ended)
        return self.process.poll()

    def feed(self, sent: float) -> None:
        self.tell(b"beat %.6f\n" % sent)

    def tell(self, words: bytes) -> None:
        if self.process is None or self.process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):  # it has ended: the next poll says so
            self.process.stdin.write(words)
            self.process.stdin.flush()

    def kill(self, grace: float = 0.0) -> None:
        """SIGTERM if there is a grace; when that is over, or at once, SIGKILL; then wait until nothing is left."""
        if self.process is None:
            return
        if grace > 0:
            self.tell(b"term %.3f\n" % grace)
            self.wait(grace)
        self.close_pipe()  # its end is the leash's word to kill everything
        if self.wait(self.times.kill) is None:
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
        if self.output is not None:
            self.output.drain()
            self.output = None
        if self.ended >= 0:
            os.close(self.ended)
            self.ended = -1
        if self.directory is not None:
            if not (self.keep and stripped(self.directory)):
                shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None


def stripped(directory: Path) -> bool:
    """Whether nothing is left in it but what may be kept."""
    try:
        kept.strip(directory)
    except OSError as error:
        log.warning("the submit's directory is not kept: %s", error)
        return False
    log.info("the submit's directory is kept: %s", directory)
    return True


def prune(parent: Path, before: float) -> None:
    """Remove submits' directories that were last changed before then, in seconds since 1970."""
    for directory in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(FileNotFoundError):  # another may prune as well
            if directory.lstat().st_mtime < before:
                shutil.rmtree(directory, ignore_errors=True)


def was_killed(code: int) -> bool:
    """By the leash, with the leash, or by a signal (128 + n, as the leash says it; 255 is the engine's own)."""
    return code == LAPSED or code < 0 or 128 < code <= 128 + 64


def tail(store: WorkStore, run_id: str) -> str:
    """The last words of the run's log, for a row's detail; "" when there are none, or they cannot be read now."""
    try:
        return store.tail(run_key(run_id, "log.txt"), TAIL).decode("utf-8", "replace").strip()
    except OSError as error:
        log.warning("run=%s: the last words of its submit cannot be read: %s", run_id, error)
        return ""
