"""What a command says, in a file that stays below a cap and keeps what was said last."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

log = logging.getLogger(__name__)
LEFT_OUT = b"[what was said before this is left out: the log has become too long]\n"
EVERY = 1.0  # seconds between two writes of the same object
LAST = 5.0  # seconds that whoever closes a log waits for its last words to be stored, however often that is tried


class Log(Protocol):
    """`write` and `close` raise OSError at most, and wait for no network."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def shortened(said: bytes, cap: int) -> bytes:
    """What is kept of a log that has become longer than `cap` bytes: its later half, from the beginning of a line."""
    last = said[-(cap // 2) :]
    return LEFT_OUT + (last.partition(b"\n")[2] or last)


class FileLog:
    """A file that is added to. A reader sees it before or after it is shortened, never half of it."""

    def __init__(self, path: Path, cap: int) -> None:
        self.path, self.cap = path, cap

    def write(self, data: bytes) -> None:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size + len(data) <= self.cap:
            with self.path.open("ab") as file:
                file.write(data)
            return
        temporary = self.path.with_name(f".{self.path.name}.new")
        temporary.write_bytes(shortened(tail(self.path, self.cap // 2) + data, self.cap))
        os.replace(temporary, self.path)

    def close(self) -> None:
        """Every write is in the file already."""


def tail(path: Path, size: int) -> bytes:
    """The last bytes of a file; b"" when there is none."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read()


class ObjectLog:
    """An object cannot be added to: what is said is held here, at most `cap` bytes, and the whole is stored anew by a
    thread, at most once a second. Whoever says something, or renews a gate meanwhile, does not wait for the store.

    `earlier` reads what tries before have said, b"" if nothing; what cannot be read or stored is tried again each
    second. Limit: what the store has not taken 5 seconds after `close` may be lost.
    """

    def __init__(self, earlier: Callable[[], bytes], keep: Callable[[bytes], None], cap: int) -> None:
        self.earlier, self.keep, self.cap = earlier, keep, cap
        self.lock = threading.Lock()
        self.said = b""
        self.fresh, self.closed, self.given_up = threading.Event(), threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def write(self, data: bytes) -> None:
        with self.lock:
            self.said = self.fitting(self.said + data)
        self.fresh.set()
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="log", daemon=True)
            self.thread.start()

    def fitting(self, said: bytes) -> bytes:
        return said if len(said) <= self.cap else shortened(said, self.cap)

    def close(self) -> None:
        self.closed.set()
        self.fresh.set()
        if self.thread is not None:
            self.thread.join(LAST)
            if self.thread.is_alive():
                self.given_up.set()
                log.warning("the last words of a log are not stored yet")

    def run(self) -> None:
        begun = False
        while True:
            self.fresh.wait()
            self.fresh.clear()
            try:
                if not begun:
                    before = self.earlier()
                    with self.lock:
                        whole = not self.said.startswith(LEFT_OUT)
                        self.said = self.fitting(before + self.said) if whole else self.said
                    begun = True
                self.keep(self.said)
            except OSError as error:
                log.warning("a log of %d bytes is not stored yet: %s", len(self.said), error)
                self.fresh.set()
                if self.closed.is_set() and self.given_up.wait(EVERY):
                    return
            if self.closed.is_set() and not self.fresh.is_set():
                return
            self.closed.wait(EVERY)
