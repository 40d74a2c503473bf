"""The live wire of a page: what changed, as the same pieces a poll would get, as soon as it changes.

A hint or four seconds without one make it look; it sends only pieces whose mark the page does not have. Whether the
viewer may still see the page is asked at the start and every four seconds. When the wire is cut the page polls.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.urls import path, re_path

from submits import live
from submits.shown import pages
from submits.shown.look import Look
from submits.shown.pages import NotYours, Subject
from submits.shown.pieces import parse_seen, unseen
from submits.work import brisk

log = logging.getLogger(__name__)
TICK = 4.0  # seconds
TOGETHER = 0.05  # seconds: hints that come this close together are one
STORE_WITHIN = 2.0  # seconds
CHOICE = 2_000  # characters of what a page may tell
GONE = 4404  # a close that htmx does not answer by connecting again
NOT_FOUND: tuple[dict[str, Any], ...] = (
    {"type": "websocket.http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]},
    {"type": "websocket.http.response.body", "body": b"There is nothing here.\n"},
)
Sent = dict[str, tuple[str, str]]  # by piece: its mark and its HTML


def check(session_key: str, kind: str, key: str, query: str) -> Subject:
    """The page for whoever this session belongs to at this moment. Raises NotYours."""
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    if not user.is_authenticated:
        raise NotYours("signed out")
    return pages.subject(kind, pages.viewer_of(user), key, query)


def carried(before: Subject, after: Subject, have: dict[str, str]) -> dict[str, str]:
    """The marks of a page that has chosen something else and shows it already: what was up to date still is."""
    old, new = pages.pieces(before), pages.pieces(after)
    return {
        name: new[name].mark if name in old and name in new and mark == old[name].mark else mark
        for name, mark in have.items()
    }


def render(asked: Subject, have: dict[str, str]) -> Sent:
    """The pieces that are not there yet."""
    return unseen(pages.pieces(asked, Look.shared(asked.scope)), have)


class Together:
    """The sockets that one hint wakes are rendered in one go: one thread, one look, each mark once."""

    def __init__(self) -> None:
        self.queued: list[tuple[Subject, dict[str, str], asyncio.Future[Sent]]] = []
        self.task: asyncio.Task[None] | None = None

    async def render(self, asked: Subject, have: dict[str, str]) -> Sent:
        future: asyncio.Future[Sent] = asyncio.get_running_loop().create_future()
        self.queued.append((asked, have, future))
        if len(self.queued) == 1:
            self.task = asyncio.create_task(self.run())
        return await future

    async def run(self) -> None:
        await asyncio.sleep(0)  # until all that are awake stand in the queue
        batch, self.queued = self.queued, []
        pages_of = [entry[:2] for entry in batch]
        try:
            made = await database_sync_to_async(render_all, thread_sensitive=False)(pages_of)
        except Exception as error:  # no thread to be had: all of them must hear of it
            made = [error] * len(batch)
        for (_, _, future), sent in zip(batch, made, strict=True):
            if future.done():
                continue
            if isinstance(sent, Exception):
                future.set_exception(sent)
            else:
                future.set_result(sent)


@brisk()
def render_all(batch: list[tuple[Subject, dict[str, str]]]) -> list[Sent | Exception]:
    """One that cannot be rendered spoils none of the others."""
    made: list[Sent | Exception] = []
    for asked, have in batch:
        try:
            made.append(render(asked, have))
        except Exception as error:  # raised again where it was asked for
            made.append(error)
    return made


together = Together()


async def not_found(scope: Any, send: Any) -> None:
    """404 like every other address of a page that is not there for this viewer."""
    told = "websocket.http.response" in (scope.get("extensions") or {})
    for message in NOT_FOUND if told else ({"type": "websocket.close"},):
        await send(message)


async def nowhere(scope: Any, receive: Any, send: Any) -> None:
    """Every address that no page listens at."""
    await receive()
    await not_found(scope, send)


class Live(AsyncWebsocketConsumer):
    asked: Subject
    have: dict[str, str]
    task: asyncio.Task[None] | None = None
    group = ""

    async def connect(self) -> None:
        given = dict(parse_qsl(self.scope["query_string"].decode("ascii", "replace")))
        self.have = parse_seen(given.pop("seen", ""))
        route = self.scope["url_route"]["kwargs"]
        session = self.scope.get("session")
        session_key = (session.session_key if session else None) or ""
        self.page = (session_key, route["kind"], route.get("key", ""), urlencode(given))
        self.news = asyncio.Event()
        self.chosen: dict[str, str] | None = None
        try:
            await self.check()
        except NotYours:
            await not_found(self.scope, self.base_send)
            raise StopConsumer from None
        await self.accept()
        await self.listen()
        self.task = asyncio.create_task(self.follow())

    async def check(self) -> None:
        self.asked = await database_sync_to_async(check, thread_sensitive=False)(*self.page)

    async def listen(self) -> None:
        """Without the store there are no hints, and the ticks alone keep the page fresh."""
        try:
            self.group = live.group(self.asked.scope.pk)
            await asyncio.wait_for(self.channel_layer.group_add(self.group, self.channel_name), STORE_WITHIN)
        except Exception as error:  # whatever the store's client raises
            log.warning("no hints for this page: %s", error or type(error).__name__)

    async def disconnect(self, code: int) -> None:
        if self.task is not None:
            self.task.cancel()
        if self.group:
            try:
                await asyncio.wait_for(self.channel_layer.group_discard(self.group, self.channel_name), STORE_WITHIN)
            except Exception as error:
                log.warning("group not left: %s", error)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """The page has chosen other hits: its address' query now, and its marks. What comes after is of that choice."""
        if text_data is not None and len(text_data) <= CHOICE:
            self.chosen = dict(parse_qsl(text_data))
            self.news.set()

    async def choose(self, given: dict[str, str]) -> None:
        seen, before = parse_seen(given.pop("seen", "")), self.asked
        self.page = (*self.page[:3], urlencode(given))
        await self.check()
        self.have = await database_sync_to_async(carried, thread_sensitive=False)(before, self.asked, seen)

    async def live_changed(self, message: dict[str, Any]) -> None:
        self.news.set()

    async def follow(self) -> None:
        """Look, wait for a hint or a tick, look again, until the page is closed or not the viewer's any more."""
        loop = asyncio.get_running_loop()
        checked = loop.time()
        try:
            while True:
                self.news.clear()
                if self.chosen is not None:
                    chosen, self.chosen = self.chosen, None
                    await self.choose(chosen)
                await self.send_fresh()
                try:
                    await asyncio.wait_for(self.news.wait(), max(0.01, checked + TICK - loop.time()))
                    await asyncio.sleep(TOGETHER)
                except TimeoutError:
                    pass
                if loop.time() >= checked + TICK:
                    await self.check()
                    checked = loop.time()
        except NotYours:
            await self.close(GONE)
        except asyncio.CancelledError:
            raise
        except Exception:  # a page that went blind must say so: closed, it polls and connects again
            log.exception("live page %s", self.page[1:3])
            await self.close(1011)

    async def send_fresh(self) -> None:
        sent = await together.render(self.asked, self.have)
        if sent:
            await self.send("".join(html for _, html in sent.values()))
            self.have |= {name: mark for name, (mark, _) in sent.items()}


page: Any = Live.as_asgi()
urlpatterns: list[Any] = [
    path("ws/<slug:kind>/", page),
    path("ws/<slug:kind>/<slug:key>/", page),
    re_path("", cast(Any, nowhere)),
]
