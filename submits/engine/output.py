"""What a command says, moved into its log by whoever waits for it."""

from __future__ import annotations

import logging
import os
import select
import time
from io import FileIO

from submits.work.logs import Log

log = logging.getLogger(__name__)
CHUNK = 65_536  # bytes: as much as a pipe holds


class Output:
    """The reading end of a command's standard output and error, pumped by whoever waits for the command.

    While nobody pumps, the command waits as soon as the pipe is full: its output is bounded whatever it says.
    """

    def __init__(self, log: Log) -> None:
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
            log.warning("%d bytes of a log are lost: %s", len(data), error)
        return len(data)

    def drain(self) -> None:
        """What is in the pipe when the command has ended, and no more: who escaped it may still write."""
        left = CHUNK
        while left > 0 and self.pipe and select.select([self.pipe], [], [], 0)[0]:
            left -= self.read()
        self.close()
        self.log.close()

    def close(self) -> None:
        if self.pipe is not None:
            self.pipe.close()
            self.pipe = None
