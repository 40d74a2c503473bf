"""Files by key, written whole or not at all, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from submits.work.directory import Directory
from submits.work.files import Files, Info
from submits.work.keys import Missing, checked
from submits.work.logs import Log
from submits.work.places import Place


class WorkStore:
    """Keys are slash-separated and never leave the store.

    In a directory an error is an OSError; in an object store it is Unstored, which is one too. No call of an object
    store takes longer than 8 seconds and one more for each megabyte.
    """

    def __init__(self, url: str) -> None:
        """`url` is an absolute path, `file:///DIR`, or `s3://`, `az://`, `gs://BUCKET/PREFIX`. Raises WorkError."""
        self.url = url
        place = Place.of(url)
        self.files: Files
        if place.scheme == "file":
            self.files = Directory(Path(place.path))
        else:
            from submits.work.objects import Objects

            self.files = Objects(place)

    def open(self, key: str) -> BinaryIO:
        """To be read in a stream, or here and there. Raises Missing."""
        with _missing(key):
            return self.files.open(checked(key))

    def get(self, key: str) -> bytes:
        """Raises Missing."""
        with self.open(key) as file:
            return file.read()

    def get_all(self, infos: Sequence[Info]) -> list[bytes]:
        """Many small files that a listing has told of, in its order: in an object store asked for at once. In memory
        whole. Raises Missing."""
        try:
            return self.files.get_all(infos)
        except FileNotFoundError:
            raise Missing("a file that was listed is not in the work store any more") from None

    def tail(self, key: str, size: int) -> bytes:
        """The last bytes, at most so many; b"" when there is no such file."""
        try:
            with self.open(key) as file:
                file.seek(max(0, file.seek(0, SEEK_END) - size))
                return file.read(size)
        except Missing:
            return b""

    def writing(self, key: str) -> AbstractContextManager[BinaryIO]:
        """A file to write to, of any length: there under its key when the block ends, and not at all if that raises."""
        return self.files.writing(checked(key))

    def put(self, key: str, data: bytes) -> None:
        with self.writing(key) as file:
            file.write(data)

    def take(self, key: str, path: Path) -> None:
        """A file made in `scratch` becomes the file of this key, whole or not at all; it need not be there any more."""
        self.files.take(checked(key), path)

    def info(self, key: str) -> Info:
        """Raises Missing."""
        with _missing(key):
            return self.files.info(checked(key))

    def exists(self, key: str) -> bool:
        try:
            self.info(key)
        except Missing:
            return False
        return True

    def listing(self, prefix: str) -> list[Info]:
        """The files under a prefix (a whole directory), by key."""
        return sorted(self.files.listing(checked(prefix)), key=lambda info: info.key)

    def names(self, prefix: str) -> list[str]:
        """The keys under a prefix (a whole directory), sorted."""
        return [info.key for info in self.listing(prefix)]

    def delete(self, key: str) -> None:
        """One file; there is none afterwards, and there need not be one before."""
        self.files.delete(checked(key))

    def remove(self, prefix: str) -> None:
        """Everything under a prefix."""
        self.files.remove(checked(prefix))

    def scratch(self, key: str) -> AbstractContextManager[Path]:
        """A directory of this machine for files that are made here and then taken for a key like this one; for large
        files, since what a maker leaves who is killed is taken away by the next for the same key."""
        return self.files.scratch(checked(key))

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        """A path on this machine at which the file can be read for as long as the block lasts. Raises Missing."""
        with ExitStack() as held:
            with _missing(key):
                path = held.enter_context(self.files.local(checked(key)))
            yield path

    def log(self, key: str, cap: int) -> Log:
        """A file that is added to and stays below `cap` bytes. Nobody else may write it meanwhile."""
        return self.files.log(checked(key), cap)

    def directory(self, key: str) -> Path | None:
        """Where the files of a key like `runs/ID` lie, for who mounts that; None where there is no such directory."""
        return self.files.directory(checked(key))


@contextmanager
def _missing(key: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"there is no {key} in the work store") from None
