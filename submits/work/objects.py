"""Files in an object store, by `fsspec`: every call bounded in time, nothing kept between calls.

An object is written in one request, or in parts that become an object by one last request: it is there whole or not at
all, and S3, Azure and Google list and read it from then on. A writer that dies between parts leaves parts, which no
listing shows; a lifecycle rule of the bucket removes them.
"""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from submits.work.brisk import PATIENCE, current
from submits.work.files import Info
from submits.work.keys import Unstored, WorkError
from submits.work.logs import Log, ObjectLog
from submits.work.places import EXTRAS, Place

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


ANSWER = 8.0  # seconds in which a request is answered, its own tries included
SLOWEST = 1_000_000  # bytes a second; a body may take so much longer
READ = 1 << 20  # bytes read ahead of who reads a stream
PART = 8 << 20  # bytes of one part of a large object; a transfer holds two in memory
PARTS = 9_000  # S3 takes 10,000 of one object: above 70 GiB the parts grow with it
# Of one object: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html (the second: it is archived),
# https://learn.microsoft.com/rest/api/storageservices/common-rest-api-error-codes
REFUSALS = {"AccessDenied", "InvalidObjectState", "403", "AuthorizationPermissionMismatch"}
AT_ONCE, TOGETHER = 32, 128  # requests under way for many files; files of one call, which is bounded in time


@dataclass(frozen=True, slots=True)
class Client:
    """How the client of one kind of store is made and how it sends a large file."""

    package: str
    options: dict[str, Any]
    sending: dict[str, Any]


_CLIENTS = {
    "s3": Client(
        "s3fs",
        {
            "config_kwargs": {
                "connect_timeout": 3,
                "read_timeout": 6,
                "retries": {"max_attempts": 2},
                "max_pool_connections": AT_ONCE,
            }
        },
        {"max_concurrency": 2},
    ),
    "az": Client("adlfs", {"connection_timeout": 3, "read_timeout": 6}, {"max_concurrency": 2}),
    "gs": Client("gcsfs", {}, {"chunksize": PART}),
}


def sending(scheme: str, size: int) -> dict[str, Any]:
    """How a file of so many bytes is sent."""
    parts = {"chunksize": max(PART, -(-size // PARTS))} if scheme == "s3" else {}
    return {**_CLIENTS[scheme].sending, **parts}


class Objects:
    """See `files.Files`."""

    def __init__(self, place: Place) -> None:
        """Asks nobody yet. Raises WorkError when the client for such a store is not installed."""
        self.place, self.client = place, _CLIENTS[place.scheme]
        if importlib.util.find_spec(self.client.package) is None:
            extra = f"install requirements-objects.txt, or the extra {EXTRAS[place.scheme]} of pyproject.toml"
            raise WorkError(f"COORDUI_WORK_URL: {place.scheme}:// needs {self.client.package}: {extra}")
        self._made: tuple[int, Any] | None = None

    @property
    def system(self) -> Any:
        """This process's own: a client has a thread, which no fork takes along."""
        if self._made is None or self._made[0] != os.getpid():
            import fsspec  # type: ignore[import-untyped]  # only where there is an object store: 0.3 s, 20 MB

            fresh = {"skip_instance_cache": True, "use_listings_cache": False}
            self._made = os.getpid(), fsspec.filesystem(self.place.scheme, **fresh, **self.client.options)
        return self._made[1]

    def at(self, key: str) -> str:
        return f"{self.place.path}/{key}"

    def ask(self, verb: str, *arguments: Any, size: int = 0, **more: Any) -> Any:
        """Raises FileNotFoundError for what is not there and Unstored for everything else."""
        asked = current()
        if asked and asked.failed:
            raise Unstored(f"the work store {self.place.url} was not asked for {verb}: it failed a moment ago")
        within = (PATIENCE if asked else ANSWER) + size / SLOWEST
        try:
            return getattr(self.system, verb)(*arguments, timeout=within, **more)
        except FileNotFoundError:
            raise
        except Exception as error:  # each client has its own
            if asked and not is_refusal(error):
                asked.failed = True
            words = str(error)[:300] or f"no answer within {within:.3g} s"
            raise Unstored(f"the work store {self.place.url} failed at {verb}: {words}") from error

    def open(self, key: str) -> BinaryIO:
        return self.ranges(key, READ)

    def get_all(self, infos: Sequence[Info]) -> list[bytes]:
        found = dict.fromkeys((info.key for info in infos), b"")  # of an empty file no range can be asked
        some = [info for info in infos if info.size]
        for at in range(0, len(some), TOGETHER):
            now = some[at : at + TOGETHER]
            paths, ends = [self.at(info.key) for info in now], [info.size for info in now]
            how = {"batch_size": AT_ONCE, "on_error": "raise"}
            data = self.ask("cat_ranges", paths, 0, ends, size=sum(ends), **how)
            found.update(zip((info.key for info in now), data, strict=True))
        return [found[info.key] for info in infos]

    def ranges(self, key: str, ahead: int) -> BinaryIO:
        path, size = self.at(key), self.info(key).size

        def read(start: int, end: int) -> bytes:
            return bytes(self.ask("cat_file", path, start=start, end=end, size=end - start))

        return io.BufferedReader(Ranges(read, size), ahead)

    @contextmanager
    def writing(self, key: str) -> Iterator[BinaryIO]:
        with self.scratch(key) as directory:
            made = directory / "made"
            with made.open("wb") as file:
                yield file
            self.take(key, made)

    def take(self, key: str, path: Path) -> None:
        size = path.stat().st_size
        try:
            self.ask("put_file", str(path), self.at(key), size=size, **sending(self.place.scheme, size))
        except FileNotFoundError as error:
            raise Unstored(f"there is no work store {self.place.url}: {error}") from error

    def info(self, key: str) -> Info:
        found = self.ask("info", self.at(key))
        if found["type"] != "file":
            raise FileNotFoundError(key)
        return self.told(found)

    def told(self, found: dict[str, Any]) -> Info:
        """The same of all clients: each names its own words."""
        when = found.get("LastModified") or found.get("last_modified") or found.get("mtime")
        changed = when.timestamp() if isinstance(when, datetime) else 0.0
        mark = str(found.get("ETag") or found.get("etag") or changed)
        key = str(found["name"]).removeprefix(f"{self.place.path}/")
        return Info(key, int(found["size"]), changed, f"{mark} {changed}")

    def listing(self, prefix: str) -> list[Info]:
        try:
            found = self.ask("find", self.at(prefix), detail=True)
        except FileNotFoundError:
            return []
        below = f"{self.at(prefix)}/"
        return [self.told(one) for name, one in found.items() if name.startswith(below) and one["type"] == "file"]

    def delete(self, key: str) -> None:
        with suppress(FileNotFoundError):
            self.ask("rm_file", self.at(key))

    def remove(self, prefix: str) -> None:
        for one in self.listing(prefix):
            self.delete(one.key)

    def scratch(self, key: str) -> AbstractContextManager[Path]:
        return _here()

    @contextmanager
    def local(self, key: str) -> Iterator[Path]:
        with self.ranges(key, PART) as source, _here() as directory:
            path = directory / key.rpartition("/")[2]
            with path.open("wb") as file:
                shutil.copyfileobj(source, file, PART)
            yield path

    def log(self, key: str, cap: int) -> Log:
        def earlier() -> bytes:
            try:
                with self.open(key) as file:
                    return file.read()
            except FileNotFoundError:
                return b""

        def keep(said: bytes) -> None:
            with self.writing(key) as file:
                file.write(said)

        return ObjectLog(earlier, keep, cap)

    def directory(self, key: str) -> Path | None:
        return None


def is_refusal(error: Exception) -> bool:
    """Whether a store has answered that it does not give or take this one object: it is there, and may be asked for
    another. A fault of the credentials, or of the clock that signs with them, is none: they open no other either.

    s3fs makes a PermissionError of both and keeps botocore's as its cause, which has S3's code; adlfs lets Azure's
    through, with Azure's code; gcsfs says 403 by its words, and 401 is for credentials.
    Limit: S3's answer to HEAD has no code but "403" for either. It came at once, so to ask for another costs no wait.
    """
    told = getattr(error.__cause__, "response", None) if isinstance(error, PermissionError) else None
    code = told["Error"].get("Code") if told else getattr(error, "error_code", None)
    return code in REFUSALS or str(error).startswith("Forbidden: ")


@contextmanager
def _here() -> Iterator[Path]:
    """In $TMPDIR."""
    with tempfile.TemporaryDirectory(prefix="coordui-") as made:
        yield Path(made)


class Ranges(io.RawIOBase):
    """An object as a file, read in ranges. One that is replaced meanwhile may be read half old and half new."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self.fetch, self.size, self.position = fetch, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        self.position = max(0, start + offset)
        return self.position

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        data = self.next(len(room))
        room[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.next(PART), b""))

    def next(self, most: int) -> bytes:
        end = min(self.size, self.position + most)
        data = self.fetch(self.position, end) if end > self.position else b""
        self.position += len(data)
        return data
