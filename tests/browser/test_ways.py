"""The other ways a page lives: without websockets, without JavaScript, without its server, and after it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.browser.conftest import Sign, finished, search_example
from tests.browser.door import held_by_the_api
from tests.onebox.running import Running
from tests.world import until


def test_where_websockets_are_blocked_it_polls(sign_in: Sign, base: str) -> None:
    context = sign_in()
    page = context.new_page()

    def refuse(route: WebSocketRoute) -> None:
        route.close(code=1011)

    context.route_web_socket(re.compile("/ws/"), refuse)
    polls: list[int] = []
    page.on("response", lambda answer: polls.append(answer.status) if "/live/" in answer.url else None)
    search_example(page, base)
    finished(page)
    assert 200 in polls and set(polls) <= {200, 204}


def test_without_javascript_it_reloads(sign_in: Sign, base: str) -> None:
    page = sign_in(java_script_enabled=False).new_page()
    search_example(page, base)
    finished(page)
    assert page.locator("noscript meta[http-equiv=refresh]").count() == 0
    page.locator("#q1-hit-1").get_by_role("link", name="1 alignment").click()
    expect(page.locator(".alignment")).to_be_visible()
    page.get_by_role("link", name="Back to").click()
    page.locator("#results").get_by_role("link", name="MYG_MUSAN").click()
    expect(page.locator("#hits h2")).to_contain_text("MYG_MUSAN")


def process(running: Running, word: str) -> int | None:
    """One of the product's processes itself, not the leash it runs on."""
    for pid in running.left():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in words and b"leash" not in words:
            return pid
    return None


def test_after_the_web_process_restarts_the_page_goes_on_by_itself(running: Running, page: Page, base: str) -> None:
    page.goto(f"{base}/gate/")
    page.evaluate("window.same = 'page'")
    first = page.locator("#pulse").get_attribute("data-stamp")
    killed = process(running, "uvicorn")
    assert killed
    os.kill(killed, signal.SIGKILL)
    until(lambda: process(running, "uvicorn") not in (None, killed), 30)
    page.wait_for_function("first => document.getElementById('pulse').dataset.stamp > first", arg=first, timeout=20_000)
    page.wait_for_function("() => !document.body.classList.contains('late')", timeout=20_000)
    assert page.evaluate("window.same") == "page"


def test_when_the_gatekeeper_falls_silent_the_page_says_how_old_it_is(running: Running, page: Page, base: str) -> None:
    page.goto(f"{base}/gate/")
    pid = process(running, "gatekeeper")
    assert pid
    os.kill(pid, signal.SIGSTOP)
    try:
        expect(page.locator("#pulse .asof")).to_be_visible(timeout=30_000)
        expect(page.locator("#pulse .asof")).to_have_text(re.compile(r"as of 1\d s ago"))
        expect(page.locator("#pulse .dot")).to_be_hidden()
    finally:
        os.kill(pid, signal.SIGCONT)
    expect(page.locator("#pulse .dot")).to_be_visible(timeout=30_000)


def test_a_swap_takes_no_focus_and_no_scroll(running: Running, page: Page, base: str) -> None:
    page.set_viewport_size({"width": 800, "height": 300})
    page.goto(f"{base}/gate/")
    with held_by_the_api(running.state):
        search_example(page, base)
        expect(page.locator("#state")).to_contain_text("You are next")
        page.locator("#to-gate").focus()
        page.evaluate("scrollTo(0, 60)")
        before = page.locator("#state").get_attribute("data-mark")
        other = page.context.new_page()
        search_example(other, base)
        page.wait_for_function("old => document.getElementById('state').dataset.mark !== old", arg=before)
        expect(page.locator("#to-gate")).to_be_focused()
        assert page.evaluate("scrollY") == 60
    finished(other)


@pytest.mark.parametrize("kind", ["search/aaaaaaaaaaaaaaaa", "search", "nothing", "gate"])
def test_a_websocket_is_refused_with_404_to_whoever_may_not_see_the_page(base: str, kind: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(base.replace("http", "ws") + f"/ws/{kind}/", origin=Origin(base))
    assert refused.value.response.status_code == 404


def test_a_websocket_of_anothers_search_is_refused_as_one_that_is_not_there(
    page: Page, base: str, sign_in: Sign, bob: str
) -> None:
    address = search_example(page, base)
    stranger = sign_in(bob)
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in stranger.cookies())
    key = address.rstrip("/").rpartition("/")[2]
    ws = base.replace("http", "ws")
    for path in (f"/ws/search/{key}/", "/ws/search/aaaaaaaaaaaaaaaa/"):
        with pytest.raises(InvalidStatus) as refused:
            connect(ws + path, origin=Origin(base), additional_headers={"Cookie": cookies})
        assert refused.value.response.status_code == 404
    with connect(ws + "/ws/gate/", origin=Origin(base), additional_headers={"Cookie": cookies}) as socket:
        assert 'id="board"' in str(socket.recv(5))


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "http://localhost", None])
def test_another_site_may_not_listen(base: str, page: Page, origin: str | None) -> None:
    """A neighbour on another port of this host gets the same cookies from the browser as we do."""
    cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in page.context.cookies())
    with pytest.raises(InvalidStatus) as refused:
        connect(
            base.replace("http", "ws") + "/ws/gate/",
            origin=Origin(origin) if origin else None,
            additional_headers={"Cookie": cookies},
        )
    assert refused.value.response.status_code == 403


def test_a_body_without_end_is_cut_off_before_anybody_is_signed_in(base: str) -> None:
    """In pieces and without a length, as a client that means no good would send it."""
    host, _, port = base.removeprefix("http://").partition(":")
    piece = b"x" * 1_000_000
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(150):
            sent += len(piece)
            yield piece

    with closing(HTTPConnection(host, int(port), timeout=30)) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", "/", pieces(), {"Content-Type": "multipart/form-data; boundary=b"})
        assert sent > 20_000_000
        with closing(connection.getresponse()) as answer:
            assert answer.status == 413 and b"What was sent is too long" in answer.read()


def test_no_page_is_wider_than_its_screen(sign_in: Sign, base: str, example: str) -> None:
    for width in (390, 820, 1200):
        narrow = sign_in(viewport={"width": width, "height": 844}).new_page()
        for path in (example, f"{base}/", f"{base}/?example=1", f"{base}/searches/", f"{base}/gate/", f"{base}/help/"):
            narrow.goto(path)
            assert narrow.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_signing_out_in_one_tab_ends_the_others(page: Page, base: str) -> None:
    page.goto(f"{base}/gate/")
    expect(page.locator("#board")).to_be_visible()
    other = page.context.new_page()
    other.goto(base)
    other.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible(timeout=30_000)
