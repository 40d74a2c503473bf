"""One run of the program: what it says is passed on as it comes, and its last words are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from submits.engine.errors import EngineError, Exit, Interrupted

KEPT = 16_000  # bytes of each of the two streams
DRAIN = 2.0  # seconds after its end for what it said last; one that left something behind keeps the pipe open


@dataclass(frozen=True, slots=True)
class Ended:
    """`status` is 128 + n after signal n; `out` and `err` are the last words of both streams."""

    status: int
    out: str
    err: str


def hear_no_signal() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def run(
    argv: list[str], environment: Mapping[str, str], directory: Path, at_its_end: Callable[[], None] = hear_no_signal
) -> Ended:
    """To its end. Raises EngineError when it cannot be started.

    Its clean-up answers to SIGINT alone, and whoever ends a submit sends SIGTERM to everything: so it is deaf to that,
    and on our Interrupted it gets a SIGINT and the time it needs. (The leash has the last word.) Interrupted is raised
    on unless it ended well all the same: then its search is there, and what must be kept of that is kept, so from its
    end on no signal is heard.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # inherited; ours waits until it is unblocked
    try:
        process = subprocess.Popen(
            argv, env=dict(environment), cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        raise EngineError(Exit.DEPENDENCY, f"{argv[0]} cannot be run: {error.strerror}") from error
    streams = [Stream(stream, to) for stream, to in ((process.stdout, 1), (process.stderr, 2)) if stream]
    interrupted = None
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        # Its status is left to be asked for: one that is being taken when the signal arrives would be lost.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        at_its_end()
    except Interrupted as error:  # whose handler has made us deaf to any other
        process.send_signal(signal.SIGINT)
        interrupted = error
    status = process.wait()
    for stream in streams:
        stream.thread.join(DRAIN)
    if interrupted is not None and status:
        raise interrupted
    out, err = (stream.words() for stream in streams)
    return Ended(status if status >= 0 else 128 - status, out, err)


class Stream:
    """A thread that passes one stream on to a descriptor of ours."""

    def __init__(self, source: IO[bytes], to: int) -> None:
        self.source, self.to = source, to
        self.kept = b""
        self.thread = threading.Thread(target=self.pass_on, daemon=True)
        self.thread.start()

    def pass_on(self) -> None:
        with self.source:
            while data := os.read(self.source.fileno(), 65_536):
                self.kept = (self.kept + data)[-KEPT:]
                rest = data
                while rest:
                    rest = rest[os.write(self.to, rest) :]

    def words(self) -> str:
        return self.kept.decode("utf-8", "replace")
