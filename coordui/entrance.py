"""What is turned away before anything else runs: bodies that are too long, and sockets that other sites open."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host

PORTS = {"http": 80, "https": 443}


class TooLong(Exception):
    """More of a body came than one request may bring."""


def header(scope: Any, name: bytes) -> str | None:
    """A header that is there once; None for one that is missing or there twice."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else None


class BodyLimit:
    """413 for a request whose body is longer than a form may be, whoever sends it.

    By its announced length at once; one without is counted as it comes. Nothing over the limit reaches a disk.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        announced = header(scope, b"content-length") or ""
        if announced.isdigit() and int(announced) > limit:
            await refuse(send)
            return
        so_far, answered = 0, False

        async def counted() -> Any:
            nonlocal so_far
            message: Any = await receive()
            so_far += len(message.get("body", b""))
            if so_far > limit and not answered:
                raise TooLong
            return message

        async def noted(message: Any) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.inner(scope, counted, noted)
        except TooLong:
            await refuse(send)


async def refuse(send: Any) -> None:
    sentence = (
        f"What was sent is too long. One search may bring {settings.COORDUI_MAX_QUERY_BYTES:,} bytes: "
        "go back and cut it into several.\n"
    )
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": sentence.encode()})


class SameOrigin:
    """A websocket is for pages of ours alone: same host and port, as browsers say it; without an Origin it is refused.

    Websockets know no same-origin rule, and browsers send cookies to every port of a host.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if is_ours(header(scope, b"origin"), header(scope, b"host")):
            return await self.inner(scope, receive, send)
        await receive()
        return await send({"type": "websocket.close"})  # before it is accepted: the answer is 403


def is_ours(origin: str | None, host: str | None) -> bool:
    if not origin or not host:
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    scheme = origin.partition("://")[0]
    if scheme not in (("https",) if settings.COORDUI_HTTPS else PORTS):
        return False
    theirs = place(origin, scheme)
    return theirs is not None and theirs == place(f"{scheme}://{host}", scheme)


def place(address: str, scheme: str) -> tuple[str, int] | None:
    """Host and port; None for what has none."""
    try:
        parts = urlsplit(address)
        return (parts.hostname, parts.port or PORTS[scheme]) if parts.hostname else None
    except ValueError:
        return None
