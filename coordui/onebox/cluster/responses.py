"""Answers: JSON with an exact Date, and streams that end when the client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .errors import ApiError
from .objects import Obj, dump


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


class Stream(Response):
    """Headers at once, then chunks as they come; `end` is called when the client hangs up."""

    def __init__(self, chunks: AsyncIterator[bytes], end: Callable[[], None], media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._chunks, self._end = chunks, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        listener = asyncio.create_task(self._listen(receive))
        try:
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            listener.cancel()

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._end()
