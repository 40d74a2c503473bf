"""What is turned away before anything else runs: bodies that are too long, and sockets that other sites open."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import parse_header_parameters

PORTS = {"http": 80, "https": 443}


class TooLong(Exception):
    """More of a body came than one request may bring."""


class CutOff(Exception):
    """A form with files came to its end before the line that ends it."""


def header(scope: Any, name: bytes) -> str | None:
    """A header that is there once; None for one that is missing or there twice."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1") if len(found) == 1 else None


class BodyLimit:
    """413 for a request whose body is longer than a form may be, whoever sends it, and 400 for half a form.

    By its announced length at once; one without is counted as it comes. Nothing over the limit reaches a disk. A form
    with files that lacks its last line was cut off on its way, and the parser would take the half of a file for all.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        limit: int = settings.COORDUI_MAX_BODY_BYTES
        announced = header(scope, b"content-length") or ""
        if announced.isdigit() and int(announced) > limit:
            await refuse(send)
            return
        try:
            last_line = end_of_form(scope)
        except ValueError:
            await say(send, 400, "The Content-Type of what was sent cannot be read, and nothing was started.")
            return
        so_far, answered, whole, tail = 0, False, not last_line, b"\n"

        async def counted() -> Any:
            nonlocal so_far, whole, tail
            message: Any = await receive()
            body = message.get("body", b"")
            so_far += len(body)
            if so_far > limit and not answered:
                raise TooLong
            if not whole:  # anything may follow the last line, but nothing before it looks like it
                whole = last_line in tail + body
                tail = (tail + body)[-len(last_line) :]
            ended = message["type"] == "http.request" and not message.get("more_body", False)
            if ended and not answered and not whole:
                raise CutOff
            return message

        async def noted(message: Any) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self.inner(scope, counted, noted)
        except TooLong:
            await refuse(send)
        except CutOff:
            await say(
                send, 400, "Only a part of the form has arrived, and nothing was started. Go back and send it again."
            )


def end_of_form(scope: Any) -> bytes:
    """The line that ends a form with files, with the end of the line before it; "" for any other body. Raises
    ValueError for a header that cannot be read."""
    kind, parameters = parse_header_parameters(header(scope, b"content-type") or "")
    boundary = parameters.get("boundary", "") if kind == "multipart/form-data" else ""
    return f"\n--{boundary}--".encode("latin-1", "replace") if boundary else b""


async def refuse(send: Any) -> None:
    most = f"{settings.COORDUI_MAX_QUERY_BYTES:,}"
    await say(
        send, 413, f"What was sent is too long. One search may bring {most} bytes: go back and cut it into several."
    )


async def say(send: Any, status: int, sentence: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})


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
