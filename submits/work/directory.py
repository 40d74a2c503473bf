"""Files in a directory that whoever needs them has mounted."""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from submits.work.files import Info
from submits.work.logs import FileLog, Log

LOCK = ".lock"


class Directory:
    """See `files.Files`. Names that begin with a dot are of what is being made, and are no files of the store."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, key: str) -> Path:
        return self.root / key

    def fresh(self, key: str) -> Path:
        """The path of a file to be made: its directory is there."""
        path = self.at(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def open(self, key: str) -> BinaryIO:
        return self.at(key).open("rb")

    def get_all(self, infos: Sequence[Info]) -> list[bytes]:
        return [self.at(info.key).read_bytes() for info in infos]

    @contextmanager
    def writing(self, key: str) -> Iterator[BinaryIO]:
        path = self.fresh(key)
        # A name of its own, so that two writers at once each rename a whole file.
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            with temporary.open("wb") as file:
                yield file
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def take(self, key: str, path: Path) -> None:
        os.replace(path, self.fresh(key))

    def info(self, key: str) -> Info:
        path = self.at(key)
        if not path.is_file():
            raise FileNotFoundError(key)
        return self.told(path)

    def told(self, path: Path) -> Info:
        stat = path.stat()
        return Info(path.relative_to(self.root).as_posix(), stat.st_size, stat.st_mtime, str(stat.st_mtime_ns))

    def listing(self, prefix: str) -> list[Info]:
        found = []
        for top, directories, names in os.walk(self.at(prefix)):
            directories[:] = [name for name in directories if not name.startswith(".")]
            for name in names:
                try:
                    found += [] if name.startswith(".") else [self.told(Path(top, name))]
                except FileNotFoundError:  # taken away since
                    continue
        return found

    def delete(self, key: str) -> None:
        self.at(key).unlink(missing_ok=True)

    def remove(self, prefix: str) -> None:
        shutil.rmtree(self.at(prefix), ignore_errors=True)

    @contextmanager
    def scratch(self, key: str) -> Iterator[Path]:
        """Beside the file that is made in it, so that taking it is a rename. What makers of the same key have left who
        were killed goes first: a lock that nobody holds any more says so, on whichever machine that was."""
        path = self.fresh(key)
        begins = f".{path.name}.making-"
        for left in path.parent.glob(f"{glob.escape(begins)}*"):
            if deserted(left / LOCK):
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=begins, dir=path.parent) as made, holding(Path(made, LOCK)):
            yield Path(made)

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        self.info(key)
        yield self.at(key)

    def log(self, key: str, cap: int) -> Log:
        return FileLog(self.fresh(key), cap)

    def directory(self, key: str) -> Path | None:
        return self.at(key)


@contextmanager
def holding(lock: Path) -> Iterator[None]:
    """The kernel lets go of it when this process ends, however that is. Without effect where a file system has none."""
    fresh = lock.with_name(f"{lock.name}.new")
    with fresh.open("wb") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        os.replace(fresh, lock)  # under its name it is held already: nobody finds it free before
        yield


def deserted(lock: Path) -> bool:
    """False also where nobody can tell: no lock was made yet, or the file system has none."""
    try:
        with lock.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
