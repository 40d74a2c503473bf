"""The API behind its faults: an ASGI application around the other, which does to a request what its rule says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..faults import Ask, Faults, Rule
from ..storage.store import Store
from . import responses
from .requests import Target, parse_path

DOOR = "/faults"  # where rules are set is never faulty itself
STALE = "coordui.stale"  # in the scope: the rule that makes a read with resourceVersion=0 stale
Sleep = Callable[[float], Awaitable[None]]
_WRITES = {"POST": "create", "PUT": "update", "PATCH": "patch"}


class Faulty:
    def __init__(self, app: ASGIApp, faults: Faults, store: Store, sleep: Sleep = asyncio.sleep) -> None:
        self._app, self._faults, self._store, self._sleep = app, faults, store, sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._faults.rules or scope["type"] != "http" or scope["path"] == DOOR:
            await self._app(scope, receive, send)
            return
        target = parse_path(scope["path"])
        body = b""
        if target is not None and scope["method"] == "POST" and any(r.name or r.labels for r in self._faults.rules):
            body, receive = await _read_ahead(receive)
        rule = self._faults.take(_asked(scope, target, body, self._store))
        if rule is None:
            await self._app(scope, receive, send)
        else:
            await self._do(rule, scope, receive, send)

    async def _do(self, rule: Rule, scope: Scope, receive: Receive, send: Send) -> None:
        match rule.action:
            case "delay":
                await self._sleep(rule.seconds)
                await self._app(scope, receive, send)
            case "drop_request":
                await responses.cut(send, self._sleep)
            case "drop_response":
                await self._app(scope, receive, _nowhere)
                await responses.cut(send, self._sleep)
            case "status":
                response = responses.error(rule.error())
                response.headers["date"] = self._faults.clock.http_date()
                await response(scope, receive, send)
            case "stale":
                await self._app({**scope, STALE: rule}, receive, send)
            case "torn":
                await self._tear(scope, receive, send)
            case "half_open":
                await self._go_silent(rule, scope, receive, send)

    async def _tear(self, scope: Scope, receive: Receive, send: Send) -> None:
        torn = False

        async def half(message: Message) -> None:
            nonlocal torn
            data = message.get("body", b"")
            if torn:
                return
            if not data:
                await send(message)
                return
            torn = True
            await send({**message, "body": data[: len(data) // 2], "more_body": True})
            if (transport := responses.transport_of(send)) is not None:
                transport.close()  # and not abort: the half is still on its way

        await self._app(scope, receive, half)
        await _hung_up(receive)

    async def _go_silent(self, rule: Rule, scope: Scope, receive: Receive, send: Send) -> None:
        """The client hears nothing more, not even the end: the connection stays until the client gives it up."""
        silent = False

        async def until_then(message: Message) -> None:
            if not silent or message["type"] == "http.response.start":
                await send(message if message.get("more_body", True) else {**message, "more_body": True})

        async def fall_silent() -> None:
            nonlocal silent
            await self._sleep(rule.seconds)
            silent = True

        timer = asyncio.create_task(fall_silent()) if rule.seconds else None
        silent = timer is None
        try:
            await self._app(scope, receive, until_then)
            await _hung_up(receive)
        finally:
            if timer is not None:
                timer.cancel()


async def _hung_up(receive: Receive) -> None:
    """Until the connection is gone: to leave sooner would be to end the answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _nowhere(message: Message) -> None:
    """The answer is made, and nobody gets it."""


async def _read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """The whole body, and a `receive` that gives it once more."""
    parts, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body, given = b"".join(parts), False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return body, again


def _asked(scope: Scope, target: Target | None, body: bytes, store: Store) -> Ask:
    method, query = scope["method"], scope["query_string"].decode("latin-1")
    path = f"{scope['path']}?{query}"
    if target is None:
        return Ask(method, path)
    name, meta = target.name, _metadata(body)
    if name and (found := store.get(target.resource, target.namespace, name)):
        meta = found["metadata"]
    labels = meta.get("labels")
    return Ask(
        method,
        path,
        _verb(method, target, QueryParams(query)),
        target.resource.key,
        name or str(meta.get("name", "")),
        labels if isinstance(labels, dict) else {},
    )


def _metadata(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)["metadata"]
    except (ValueError, TypeError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}


def _verb(method: str, target: Target, query: QueryParams) -> str:
    if method in ("GET", "HEAD"):
        if query.get("watch", "").lower() in ("1", "true", "t"):
            return "watch"
        return "get" if target.name else "list"
    if method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return _WRITES.get(method, "")
