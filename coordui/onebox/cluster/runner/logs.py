"""pods/log: which run of which container is meant, which part of its log, and following it as it grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from .. import errors
from ..http.requests import flag, number
from ..http.responses import Stream
from ..storage.objects import Obj, meta, spec_of, status_of
from ..storage.times import moment_of
from . import logfile
from .lifecycle import Container
from .logfile import Line, Lines, LogFile, Piece
from .podstatus import read as containers_in

_LONGEST = 10**9  # seconds: from before there were logs


def tail(data: bytes, lines: int | None, limit: int | None) -> bytes:
    if lines is not None:
        kept = logfile.split(data)
        data = b"".join(kept[len(kept) - lines :] if 0 < lines < len(kept) else kept if lines else ())
    return data if limit is None else data[:limit]


@dataclass(frozen=True)
class Part:
    """Which part of a log is wanted, and how."""

    tail: int | None
    limit: int | None  # bytes
    since: int  # microseconds since 1970
    timestamps: bool
    follow: bool

    @property
    def plain(self) -> bool:
        return not self.since and not self.timestamps

    def shown(self, lines: Iterable[Line]) -> list[bytes]:
        return [logfile.stamped(line) if self.timestamps else line[1] for line in lines if line[0] >= self.since]


def part_of(request: Request, now: datetime) -> Part:
    query = request.query_params
    since, ago = query.get("sinceTime"), number(request, "sinceSeconds")
    if since and ago is not None:
        raise _invalid("sinceSeconds", "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified")
    for name in ("sinceSeconds", "limitBytes"):
        if (value := number(request, name)) is not None and value <= 0:
            raise _invalid(name, f"Invalid value: {value}: must be greater than 0")
    lines = number(request, "tailLines")
    if lines is not None and lines < 0:
        raise _invalid("tailLines", f"Invalid value: {lines}: must be greater than or equal to 0")
    start = now - timedelta(seconds=min(ago, _LONGEST)) if ago is not None else None
    if since:
        try:
            start = moment_of(since)
        except ValueError as why:
            raise errors.bad_request(f"{why} (sinceTime)") from None
    return Part(
        lines,
        number(request, "limitBytes"),
        int(start.timestamp() * 1_000_000) if start else 0,
        flag(request, "timestamps"),
        flag(request, "follow"),
    )


def _invalid(name: str, why: str) -> errors.ApiError:
    return errors.ApiError(422, "Invalid", f'PodLogOptions "" is invalid: {name}: {why}')


class PodLogs:
    """Answers pods/log. Every run of a container has a file; the last two of them are kept."""

    def __init__(self, pods: Path, now: Callable[[], datetime]) -> None:
        self._pods, self._now = pods, now
        self._open: dict[Path, LogFile] = {}

    def path(self, uid: str, container: str, run: int) -> Path:
        return logfile.log_file(self._pods / uid, container, run)

    def open(self, uid: str, container: str, run: int) -> LogFile:
        path = self.path(uid, container, run)
        path.parent.mkdir(exist_ok=True)
        if run > 1:
            logfile.remove(self.path(uid, container, run - 2))
        self._open[path] = log = LogFile(path, self._now)
        return log

    def close(self, log: LogFile) -> None:
        self._open.pop(log.path, None)
        log.close()

    def response(self, pod: Obj, request: Request) -> Response:
        container = _container(pod, request.query_params.get("container", ""))
        part = part_of(request, self._now())
        if not spec_of(pod).get("nodeName"):
            return Response(status_code=204)
        run = _run_of(pod, container, flag(request, "previous"))
        path = self.path(meta(pod)["uid"], container.name, run)
        if not path.exists():
            if container.message:
                return Response(f"{container.message}\n", media_type="text/plain")
            why = f'container "{container.name}" in pod "{meta(pod)["name"]}" is waiting to start - no logs yet'
            raise errors.bad_request(why)
        log = self._open.get(path)
        if part.follow and log is not None:
            return _following(log, part)
        if part.plain:
            data = tail(logfile.read(path), part.tail, part.limit)
        else:
            data = _cut(part, Lines(), logfile.pieces(path), last=True)[: part.limit]
        return Response(data, media_type="text/plain")


def _container(pod: Obj, wanted: str) -> Container:
    found, name = containers_in(pod), meta(pod)["name"]
    mains = [container.name for container in found if not container.init]
    inits = [container.name for container in found if container.init]
    if not wanted and len(mains) > 1:
        words = f"a container name must be specified for pod {name}, choose one of: [{' '.join(mains)}]"
        raise errors.bad_request(words + (f" or one of the init containers: [{' '.join(inits)}]" if inits else ""))
    for container in found:
        if container.name == (wanted or mains[0]):
            return container
    raise errors.bad_request(f"container {wanted} is not valid for pod {name}")


def _run_of(pod: Obj, container: Container, previous: bool) -> int:
    """The number of the run whose log is meant: of one that waits to start again it is its last run's."""
    name, waits = meta(pod)["name"], container.at not in ("running", "ended")
    if previous:
        if container.last is None:
            words = f'previous terminated container "{container.name}" in pod "{name}" not found'
            raise errors.bad_request(words)
        return container.restarts if waits else container.restarts - 1
    if waits and container.last is None:
        told = status_of(pod).get("initContainerStatuses" if container.init else "containerStatuses", ())
        states = [item.get("state", {}).get("waiting", {}) for item in told if item.get("name") == container.name]
        reason = (states or [{}])[0].get("reason") or "ContainerCreating"
        words = f'container "{container.name}" in pod "{name}" is waiting to start: {reason}'
        raise errors.bad_request(words)
    return container.restarts


def _cut(part: Part, lines: Lines, pieces: Iterable[Piece], *, last: bool) -> bytes:
    found = list(lines.feed(pieces)) + (list(lines.rest()) if last else [])
    shown = part.shown(found)
    if part.tail is not None:
        shown = shown[len(shown) - part.tail :] if part.tail < len(shown) else shown
    return b"".join(shown)


def _following(log: LogFile, part: Part) -> Stream:
    lines = Lines()
    if part.plain:
        data = tail(logfile.read(log.path), part.tail, None)
    else:
        data = _cut(part, lines, logfile.pieces(log.path), last=False)
    news: asyncio.Queue[Piece | None] = asyncio.Queue()
    # From here on, in the turn of the loop that read the file: no piece is missed or sent twice.
    log.followers.add(news.put_nowait)

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            yield data
            while (piece := await news.get()) is not None:
                yield piece[1] if part.plain else b"".join(part.shown(lines.feed([piece])))
            if not part.plain:
                yield b"".join(part.shown(lines.rest()))
        finally:
            log.followers.discard(news.put_nowait)

    async def bounded() -> AsyncGenerator[bytes, None]:
        left = part.limit
        async with aclosing(chunks()) as all_chunks:
            async for chunk in all_chunks:
                if chunk:
                    yield chunk if left is None else chunk[:left]
                if left is not None and (left := left - len(chunk)) <= 0:
                    return

    return Stream(bounded(), lambda: news.put_nowait(None), "text/plain")
