"""SIGINT, SIGTERM and SIGHUP as a request to stop, SIGCHLD as a wake-up."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType, TracebackType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Installed explicitly, so that they work too when SIGINT was inherited as ignored (as in `make up &`).
    An ignored SIGHUP stays ignored: that is what `nohup` is for."""

    def __init__(self) -> None:
        self.received = 0

    def __enter__(self) -> Signals:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before_fd = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._before: dict[signal.Signals, Any] = {}
        for sig in STOPPING:
            if sig != signal.SIGHUP or signal.getsignal(sig) != signal.SIG_IGN:
                self._before[sig] = signal.signal(sig, self._note)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*STOPPING, signal.SIGCHLD})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for sig, handler in self._before.items():
            signal.signal(sig, handler)
        signal.set_wakeup_fd(self._before_fd)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float) -> None:
        """Until a signal comes, or that long. None is missed: one that came before is still in the pipe."""
        if select.select([self._read], [], [], max(0.0, seconds))[0]:
            os.read(self._read, 4096)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received += 1
