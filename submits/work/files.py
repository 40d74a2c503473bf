"""What a place for the work store's files can do: a directory, or an object store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from submits.work.logs import Log


@dataclass(frozen=True, slots=True)
class Info:
    """`size` in bytes, `changed` in seconds since the epoch. `mark` is another whenever the file is another."""

    key: str
    size: int
    changed: float
    mark: str


class Files(Protocol):
    """What a place for files can do. Keys are checked already; what is not there is a FileNotFoundError."""

    def open(self, key: str) -> BinaryIO: ...

    def get_all(self, infos: Sequence[Info]) -> list[bytes]: ...

    def writing(self, key: str) -> AbstractContextManager[BinaryIO]: ...

    def take(self, key: str, path: Path) -> None: ...

    def info(self, key: str) -> Info: ...

    def listing(self, prefix: str) -> list[Info]: ...

    def delete(self, key: str) -> None: ...

    def remove(self, prefix: str) -> None: ...

    def scratch(self, key: str) -> AbstractContextManager[Path]: ...

    def local(self, key: str) -> AbstractContextManager[Path]: ...

    def log(self, key: str, cap: int) -> Log: ...

    def directory(self, key: str) -> Path | None: ...
