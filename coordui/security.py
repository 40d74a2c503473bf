"""Headers that narrow what a page of ours may do: only our own scripts and styles, in nobody's frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import iscoroutinefunction
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

Sync = Callable[[HttpRequest], HttpResponse]
Async = Callable[[HttpRequest], Awaitable[HttpResponse]]

HEADERS = {
    # Nothing inline and no eval: htmx is told by its meta tag to use neither.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@sync_and_async_middleware
def security_headers(get_response: Sync | Async) -> Sync | Async:
    def with_headers(response: HttpResponse) -> HttpResponse:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    if iscoroutinefunction(get_response):
        following = cast(Async, get_response)

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            return with_headers(await following(request))

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        return with_headers(cast(Sync, get_response)(request))

    return synchronous
