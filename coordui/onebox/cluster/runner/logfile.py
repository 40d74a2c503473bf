"""One container's log on disk: its output as it came, of bounded size, and beside it when each piece came.

`NAME.log` is plain text. `NAME.times` has 16 bytes for a piece: microseconds since 1970 and the piece's place in the
text. Both are put aside as `.1` when they have grown to `FILE_BYTES`, and what was aside before is gone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

FILE_BYTES = 5 * 1024 * 1024  # a log is at most two files of this: the current and the one before
_ENTRY = struct.Struct("<QQ")
_SAME = 1000  # microseconds; pieces that come within one millisecond have one time
Piece = tuple[int, bytes]  # microseconds since 1970, output
Line = tuple[int, bytes]  # the time at which the line began, the line with its end


def log_file(directory: Path, container: str, run: int) -> Path:
    """`directory` is the Pod's own, `run` counts a container's starts from 0. It is there before the run begins."""
    return directory / "logs" / f"{container}.{run}.log"


def _times(path: Path) -> Path:
    return path.with_suffix(".times")


def _older(path: Path) -> Path:
    return path.with_name(path.name + ".1")


class LogFile:
    """Where a container's output goes; `followers` get every piece, and None at the end."""

    def __init__(self, path: Path, now: Callable[[], datetime]) -> None:
        self.path, self._now = path, now
        self.followers: set[Callable[[Piece | None], None]] = set()
        self._open()

    def _open(self) -> None:
        self._file, self._index = self.path.open("ab", buffering=0), _times(self.path).open("ab", buffering=0)
        self._size, self._entries, self._last = self._file.tell(), self._index.tell(), 0

    def write(self, data: bytes) -> None:
        now = int(self._now().timestamp() * 1_000_000)
        if self._size + self._entries + len(data) > FILE_BYTES:
            self._file.close()
            self._index.close()
            for path in (self.path, _times(self.path)):
                path.replace(_older(path))
            self._open()
        if now - self._last >= _SAME:
            self._entries += self._index.write(_ENTRY.pack(now, self._size)) or 0
            self._last = now
        self._size += self._file.write(data) or 0
        for follower in tuple(self.followers):
            follower((now, data))

    def close(self) -> None:
        self._file.close()
        self._index.close()
        for follower in tuple(self.followers):
            follower(None)


def read(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in (_older(path), path) if part.exists())


def pieces(path: Path) -> Iterator[Piece]:
    for text, times in ((_older(path), _older(_times(path))), (path, _times(path))):
        if not text.exists():
            continue
        data, index = text.read_bytes(), times.read_bytes() if times.exists() else b""
        entries = [*_ENTRY.iter_unpack(index[: len(index) - len(index) % _ENTRY.size]), (0, len(data))]
        for (moment, start), (_, end) in pairwise(entries):
            yield moment, data[start:end]


def remove(path: Path) -> None:
    for part in (path, _times(path)):
        part.unlink(missing_ok=True)
        _older(part).unlink(missing_ok=True)


def split(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    *lines, rest = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([rest] if rest else [])


class Lines:
    """Puts pieces together to lines, each with the time at which it began."""

    def __init__(self) -> None:
        self._rest, self._began = b"", 0

    def feed(self, pieces_: Iterable[Piece]) -> Iterator[Line]:
        for moment, data in pieces_:
            began = self._began if self._rest else moment
            lines = split(self._rest + data)
            self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
            for line in lines:
                yield began, line
                began = moment
            self._began = began

    def rest(self) -> Iterator[Line]:
        if self._rest:
            yield self._began, self._rest


def stamped(line: Line) -> bytes:
    """RFC 3339 with nine digits, a space, the line; what the clock knows ends at the microsecond."""
    moment = datetime.fromtimestamp(line[0] // 1_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{line[0] % 1_000_000:06d}000Z ".encode() + line[1]
