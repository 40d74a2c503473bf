"""What is turned away at the door: bodies that are too long, and sockets that other sites open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pytest_django import Settings

from coordui.asgi import routes
from coordui.entrance import BodyLimit, SameOrigin, is_ours

LIMIT = 1000


@pytest.fixture(autouse=True)
def small(settings: Settings) -> None:
    settings.COORDUI_MAX_BODY_BYTES = LIMIT
    settings.COORDUI_MAX_QUERY_BYTES = 400


class Inner:
    """An application that reads a body to its end, as a form's view does."""

    def __init__(self) -> None:
        self.read = 0
        self.called = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.called = True
        more = scope["type"] == "http"
        while more:
            message = await receive()
            self.read += len(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"read"})


def ask(app: Any, scope: dict[str, Any], chunks: list[bytes]) -> tuple[list[dict[str, Any]], int]:
    """What it sends, and how many of the chunks it took."""
    sent: list[dict[str, Any]] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": chunks[taken - 1], "more_body": taken < len(chunks)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent, taken


def post(inner: Inner, chunks: list[bytes], announced: int | None) -> tuple[list[dict[str, Any]], int]:
    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    return ask(BodyLimit(inner), {"type": "http", "headers": headers}, chunks)


def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    inner = Inner()
    sent, taken = post(inner, [b"x" * 100], LIMIT + 1)
    assert (sent[0]["status"], taken, inner.called) == (413, 0, False)
    assert sent[1]["body"].decode().startswith("What was sent is too long. One search may bring 400 bytes")


def test_a_body_without_a_length_is_counted_as_it_comes() -> None:
    sent, taken = post(Inner(), [b"x" * 400] * 10, None)
    assert (sent[0]["status"], taken) == (413, 3)


def test_a_body_that_is_longer_than_it_says_is_counted_too() -> None:
    sent, taken = post(Inner(), [b"x" * 400] * 10, 10)
    assert (sent[0]["status"], taken) == (413, 3)


def test_a_body_at_the_limit_goes_through_whole() -> None:
    inner = Inner()
    sent, _ = post(inner, [b"x" * 500] * 2, LIMIT)
    assert (sent[0]["status"], sent[1]["body"], inner.read) == (200, b"read", LIMIT)


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_half_a_form_with_a_file_is_not_taken_for_a_whole_one(piece: int) -> None:
    headers = [(b"content-type", b'multipart/form-data; boundary="--xyz"')]
    body = b'----xyz\r\nContent-Disposition: form-data; name="file"; filename="a.fa"\r\n\r\n>a\nACGT\r\n----xyz--\r\n'

    def post(sent: bytes) -> list[dict[str, Any]]:
        chunks = [sent[at : at + piece] for at in range(0, len(sent), piece)]
        return ask(BodyLimit(Inner()), {"type": "http", "headers": headers}, chunks)[0]

    assert [post(body)[0]["status"], post(body[:-2])[0]["status"]] == [200, 200]
    for cut in (4, 30, len(body) - 20):
        answer = post(body[:-cut])
        assert answer[0]["status"] == 400 and b"Only a part of the form has arrived" in answer[1]["body"]


OWN = [
    ("http://localhost:8000", "localhost:8000"),
    ("http://localhost", "localhost"),
    ("http://localhost", "localhost:80"),
    ("https://localhost", "localhost"),
    ("http://[::1]:8000", "[::1]:8000"),
]
OTHERS = [
    ("http://localhost:8001", "localhost:8000"),
    ("http://localhost", "localhost:8000"),
    ("http://127.0.0.1:8000", "localhost:8000"),
    ("https://evil.example", "localhost:8000"),
    ("http://evil.example:8000", "evil.example:8000"),
    ("http://localhost:8000.evil.example", "localhost:8000"),
    ("null", "localhost:8000"),
    ("file://localhost:8000", "localhost:8000"),
    ("http://localhost:x", "localhost:8000"),
    ("http://[", "localhost:8000"),
    ("", "localhost:8000"),
    (None, "localhost:8000"),
    ("http://localhost:8000", None),
]


@pytest.mark.parametrize(("origin", "host"), OWN)
def test_a_page_of_ours_may_listen(origin: str, host: str) -> None:
    assert is_ours(origin, host)


@pytest.mark.parametrize(("origin", "host"), OTHERS)
def test_no_other_page_may_listen(origin: str | None, host: str | None) -> None:
    assert not is_ours(origin, host)


def test_behind_https_a_page_without_it_may_not_listen(settings: Settings) -> None:
    settings.COORDUI_HTTPS = True
    settings.ALLOWED_HOSTS = ["blast.example"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://blast.example"]
    assert is_ours("https://blast.example", "inner:8000")
    assert not is_ours("http://blast.example", "blast.example")


def socket(origin: bytes, path: str) -> dict[str, Any]:
    headers = [(b"host", b"localhost:8000"), (b"origin", origin)]
    return {"type": "websocket", "path": path, "query_string": b"", "headers": headers, "extensions": {}}


def open_socket(scope: dict[str, Any]) -> list[str]:
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    asyncio.run(SameOrigin(routes)(scope, receive, send))
    return sent


@pytest.mark.parametrize("path", ["/ws/", "/", "/ws/gate", "/ws/a/b/c/", "/searches/"])
def test_an_address_that_no_page_listens_at_is_closed_without_ado(path: str) -> None:
    assert open_socket(socket(b"http://localhost:8000", path)) == ["websocket.close"]


def test_a_neighbour_on_another_port_is_closed_before_anything_is_asked() -> None:
    assert open_socket(socket(b"http://localhost:8001", "/ws/gate/")) == ["websocket.close"]


def form(chunks: list[bytes], kind: bytes = b"multipart/form-data; boundary=x") -> int:
    return int(ask(BodyLimit(Inner()), {"type": "http", "headers": [(b"content-type", kind)]}, chunks)[0][0]["status"])


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_anything_may_follow_the_line_that_ends_a_form(piece: int) -> None:
    body = b"--x\r\n\r\n--x--\r\nthis is an epilogue, which nobody has to read\r\n"
    assert form([body[at : at + piece] for at in range(0, len(body), piece)]) == 200
    assert form([b"--x--\r\n"]) == 200


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_what_looks_like_the_end_in_the_middle_of_a_line_is_none(piece: int) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n>a --x--'
    assert form([body[at : at + piece] for at in range(0, len(body), piece)]) == 400


def test_a_kind_of_content_that_cannot_be_read_is_refused_as_such() -> None:
    assert form([b"--x--\r\n"], b"multipart/form-data; boundary*=nope''x") == 400
