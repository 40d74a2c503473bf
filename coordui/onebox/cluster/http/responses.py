"""Answers: JSON with an exact Date, and streams that end when the client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from typing import cast

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import ApiError
from ..storage.objects import Obj, dump


def json_text(text: str, code: int = 200) -> Response:
    return Response(text.encode(), code, media_type="application/json")


def json_object(obj: Obj, code: int = 200) -> Response:
    return json_text(dump(obj), code)


def error(why: ApiError) -> Response:
    response = json_object(why.status(), why.code)
    if why.retry_after is not None:
        response.headers["retry-after"] = str(why.retry_after)
    if why.code == 401:
        response.headers["www-authenticate"] = "Bearer"
    return response


WARNINGS = 4096  # characters of all warnings together; where they are more, each is cut to
WARNING = 256


def warnings(texts: Iterable[str]) -> list[str]:
    """Values of Warning headers, whatever the texts hold: UTF-8 without control characters, and not too many."""
    plain = ["".join(mark for mark in text if mark.isprintable()) for text in texts]
    if sum(map(len, plain)) > WARNINGS:
        plain = [text[:WARNING] for text in plain]
    found, left = [], WARNINGS
    for text in plain:
        if (left := left - len(text)) < 0:
            break
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        found.append(f'299 - "{quoted}"'.encode(errors="replace").decode("latin-1"))
    return found


def transport_of(send: Send) -> asyncio.Transport | None:
    """The connection under uvicorn's feet; its `send` belongs to the request's cycle, which has the transport."""
    return cast("asyncio.Transport | None", getattr(getattr(send, "__self__", None), "transport", None))


async def cut(send: Send, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
    """Break the connection, whatever is still on its way."""
    if (transport := transport_of(send)) is not None:
        transport.abort()
    # uvicorn hears of it one turn of the loop later; before that it would complain of a missing answer.
    await sleep(0.01)


# An extension of the scope: who has it takes the stream as it is, instead of being sent its chunks.
TAKE_STREAM = "coordui.take_stream"


PATIENCE = 30.0  # seconds for a client to take what it is sent; then the connection is cut


class Stream(Response):
    """Headers at once, then chunks as they come; `end` is called when the client hangs up. `source` makes them."""

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        end: Callable[[], None],
        media_type: str,
        *,
        source: object = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self.source, self._chunks, self._end, self._patience = source, chunks, end, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (take := scope.get("extensions", {}).get(TAKE_STREAM)) is not None:
            take(self)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        listener = asyncio.create_task(self._listen(receive))
        try:
            async for chunk in self._chunks:
                async with asyncio.timeout(self._patience):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            async with asyncio.timeout(self._patience):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            await cut(send)
        finally:
            listener.cancel()
            if isinstance(self._chunks, AsyncGenerator):
                await self._chunks.aclose()

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._end()
