"""HTTP to the API server: one request in, status, headers and bytes out. Knows nothing of objects or gates."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import urllib3

from submits.cluster.connection import Connection
from submits.gates.ports import Unanswered

if TYPE_CHECKING:
    from kubernetes.client import Configuration

TIMEOUT = 10.0  # seconds, for every request but a watch
QUIET = 15.0  # seconds a watch may stay silent beyond its own length before its socket counts as half-open


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response: ...

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        """First the Response (its body only if it is an error), then line by line."""


def bearer(configuration: Configuration) -> dict[str, str]:
    settings = configuration.auth_settings().get("BearerToken")
    return {settings["key"]: settings["value"]} if settings and settings["value"] else {}


class HttpTransport:
    """Connections, TLS and credentials by the official client. A 401 reloads the credentials once."""

    def __init__(self, connection: Connection, timeout: float = TIMEOUT) -> None:
        self.connection, self.timeout = connection, timeout
        self.load()

    def load(self) -> None:
        from kubernetes.client.rest import RESTClientObject

        self.configuration = self.connection.configuration()
        self.pool = RESTClientObject(self.configuration).pool_manager

    def send(self, method: str, url: str, body: bytes | None, headers: dict[str, str], **options: Any) -> Any:
        target = self.configuration.host.rstrip("/") + url
        headers = {"Accept": "application/json", "User-Agent": "coordui", **headers, **bearer(self.configuration)}
        try:
            return self.pool.request(method, target, body=body, headers=headers, retries=False, **options)
        except (urllib3.exceptions.HTTPError, ssl.SSLError, OSError) as error:
            raise Unanswered(f"{method} {url.partition('?')[0]}: no answer ({error})") from error

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        url = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": content_type} if data is not None else {}
        end = time.monotonic() + self.timeout
        response = self.whole(method, url, data, headers, end)
        if response.status == 401:
            self.load()
            response = self.whole(method, url, data, headers, end)
        return response

    def whole(self, method: str, url: str, data: bytes | None, headers: dict[str, str], end: float) -> Response:
        """The answer, read to its end. A time-out of a socket is for each piece of it; this one is for all of them."""
        left = max(0.1, end - time.monotonic())
        answer = self.send(
            method, url, data, headers, timeout=urllib3.Timeout(connect=left, read=left), preload_content=False
        )
        pieces = []
        try:
            while piece := answer.read1(1 << 20):
                pieces.append(piece)
                if time.monotonic() > end:
                    raise Unanswered(f"{method} {url.partition('?')[0]}: no whole answer within {self.timeout:g} s")
        except (urllib3.exceptions.HTTPError, ssl.SSLError, OSError) as error:
            answer.close()
            raise Unanswered(f"{method} {url.partition('?')[0]}: no answer ({error})") from error
        except Unanswered:
            answer.close()
            raise
        answer.release_conn()
        return Response(answer.status, answer.headers, b"".join(pieces))

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        url = f"{path}?{urlencode(query)}"
        timeout = urllib3.Timeout(connect=TIMEOUT, read=seconds + QUIET)
        answer = self.send("GET", url, None, {}, timeout=timeout, preload_content=False)
        try:
            if answer.status != 200:
                yield Response(answer.status, answer.headers, answer.read())
                return
            yield Response(200, answer.headers, b"")
            buffer = b""
            # read1 hands on what has arrived; read(n) would wait for n bytes and hold an event back.
            while data := answer.read1(65536):
                *lines, buffer = (buffer + data).split(b"\n")
                yield from (line for line in lines if line)
        except (urllib3.exceptions.HTTPError, ssl.SSLError, OSError) as error:
            raise Unanswered(f"watch {path}: broken ({error})") from error
        finally:
            # Closing, not releasing: an unread stream cannot serve another request.
            answer.close()
