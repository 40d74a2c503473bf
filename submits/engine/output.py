"""What a command says, streamed into a file that stays below a cap and keeps what was said last."""

from __future__ import annotations

import logging
import os
import select
import time
from io import FileIO
from pathlib import Path

log = logging.getLogger(__name__)
CHUNK = 65_536  # bytes: as much as a pipe holds
LEFT_OUT = b"[what was said before this is left out: the log has become too long]\n"


class CappedLog:
    """A file that is added to. Over `cap` bytes its older half is left out, from the beginning of a line, and a first
    line says so. A reader sees the file before or after, never half of it."""

    def __init__(self, path: Path, cap: int) -> None:
        self.path, self.cap = path, cap

    def write(self, data: bytes) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size + len(data) <= self.cap:
            with self.path.open("ab") as file:
                file.write(data)
            return
        half = self.cap // 2
        last = (tail(self.path, half) + data)[-half:]
        temporary = self.path.with_name(f".{self.path.name}.new")
        temporary.write_bytes(LEFT_OUT + (last.partition(b"\n")[2] or last))
        os.replace(temporary, self.path)


def tail(path: Path, size: int) -> bytes:
    """The last bytes of a file; b"" when there is none."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read()


class Output:
    """The reading end of a command's standard output and error, pumped by whoever waits for the command.

    While nobody pumps, the command waits as soon as the pipe is full: its output is bounded whatever it says.
    """

    def __init__(self, log: CappedLog) -> None:
        self.log = log
        reading, self.writing = os.pipe()
        self.pipe: FileIO | None = FileIO(reading)

    def handed_over(self) -> None:
        """The command has its end: without ours, its end is the end of the pipe."""
        os.close(self.writing)

    def pump(self, seconds: float, ended: int) -> None:
        """For at most so long, or until the descriptor `ended` can be read."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            reading = [self.pipe.fileno()] if self.pipe else []
            ready, _, _ = select.select([ended, *reading], [], [], left)
            if reading and reading[0] in ready:
                self.read()
            if ended in ready:
                return

    def read(self) -> int:
        """How much there was; 0 at the end of the pipe, which is closed then."""
        data = (self.pipe.read(CHUNK) if self.pipe else None) or b""
        if not data:
            self.close()
            return 0
        try:
            self.log.write(data)
        except OSError as error:  # a full disk must not end the command, or keep us from ending it
            log.warning("%s: %d bytes are lost: %s", self.log.path, len(data), error)
        return len(data)

    def drain(self) -> None:
        """What is in the pipe when the command has ended, and no more: who escaped it may still write."""
        left = CHUNK
        while left > 0 and self.pipe and select.select([self.pipe], [], [], 0)[0]:
            left -= self.read()
        self.close()

    def close(self) -> None:
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
