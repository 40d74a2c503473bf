"""Pods' logs: files of bounded size, and readers that follow them as they grow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..objects import Obj, meta, spec_of, status_of
from ..requests import flag, number
from ..responses import Stream

FILE_BYTES = 5 * 1024 * 1024  # a log is at most two files of this: the current and the one before


class LogFile:
    """Where one container's output goes; `followers` get every chunk, and None at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.followers: set[Callable[[bytes | None], None]] = set()
        self._file = path.open("ab", buffering=0)
        self._size = path.stat().st_size

    def write(self, data: bytes) -> None:
        if self._size + len(data) > FILE_BYTES:
            self._file.close()
            self.path.replace(_older(self.path))
            self._file, self._size = self.path.open("ab", buffering=0), 0
        self._file.write(data)
        self._size += len(data)
        for follower in tuple(self.followers):
            follower(data)

    def close(self) -> None:
        self._file.close()
        for follower in tuple(self.followers):
            follower(None)


def _older(path: Path) -> Path:
    return path.with_suffix(".log.1")


def read(path: Path) -> bytes:
    return b"".join(part.read_bytes() for part in (_older(path), path) if part.exists())


def tail(data: bytes, lines: int | None, limit: int | None) -> bytes:
    if lines is not None:
        kept = data.splitlines(keepends=True)
        data = b"".join(kept[len(kept) - lines :] if 0 < lines < len(kept) else kept if lines else ())
    return data[:limit] if limit else data


class PodLogs:
    """Answers pods/log. Timestamps of lines are not kept."""

    def __init__(self, pods: Path) -> None:
        self._pods = pods
        self._open: dict[Path, LogFile] = {}

    def path(self, uid: str, container: str) -> Path:
        return self._pods / uid / f"{container}.log"

    def open(self, uid: str, container: str) -> LogFile:
        path = self.path(uid, container)
        self._open[path] = log = LogFile(path)
        return log

    def close(self, log: LogFile) -> None:
        self._open.pop(log.path, None)
        log.close()

    def response(self, pod: Obj, request: Request) -> Response:
        name, container = meta(pod)["name"], self._container(pod, request.query_params.get("container", ""))
        path = self.path(meta(pod)["uid"], container)
        if flag(request, "previous"):
            raise errors.bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        if flag(request, "timestamps"):
            raise errors.bad_request("timestamps: this node does not keep the times of a log's lines")
        if not path.exists():
            if why := status_of(pod).get("message"):
                return Response(f"{why}\n", media_type="text/plain")
            raise errors.bad_request(f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating')
        data = tail(read(path), number(request, "tailLines"), number(request, "limitBytes"))
        log = self._open.get(path)
        if not flag(request, "follow") or log is None:
            return Response(data, media_type="text/plain")
        return _following(log, data)

    def _container(self, pod: Obj, wanted: str) -> str:
        names = [str(container["name"]) for container in spec_of(pod).get("containers", ())]
        name = meta(pod)["name"]
        if not wanted and len(names) > 1:
            raise errors.bad_request(
                f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
            )
        wanted = wanted or names[0]
        if wanted not in names or not re.fullmatch(r"[a-z0-9-]+", wanted):
            raise errors.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted


def _following(log: LogFile, data: bytes) -> Stream:
    chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
    if data:
        chunks.put_nowait(data)
    # From here on, in the turn of the loop that read the file: no chunk is missed or sent twice.
    log.followers.add(chunks.put_nowait)

    async def follow() -> AsyncIterator[bytes]:
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
        finally:
            log.followers.discard(chunks.put_nowait)

    return Stream(follow(), lambda: chunks.put_nowait(None), "text/plain")
