"""What arrives in the very moment of a click takes away neither the click nor the focus."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.browser.conftest import finished, search_example


@dataclass
class Wire:
    """The socket of a finished search's page, in the test's hand: it says what the server would say, when it likes."""

    page: Page
    address: str
    sockets: list[WebSocketRoute] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)

    def taken(self, socket: WebSocketRoute) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda words: self.heard.append(str(words)))

    def say(self, chosen: str = "") -> None:
        """Every piece of the page, as the server renders them; returns when the page has taken what it takes."""
        pieces = self.page.request.get(self.address.replace("/searches/", "/live/search/") + chosen).text()
        assert 'id="results"' in pieces
        self.page.evaluate(
            """() => {
              for (const name of ["state", "results"]) document.getElementById(name).kept = true;
              window.taken = new Promise((done) => addEventListener("htmx:wsAfterMessage", done, {once: true}));
            }"""
        )
        self.sockets[-1].send(pieces)
        self.page.evaluate("window.taken")

    def replaced(self, name: str) -> bool:
        return not self.page.evaluate("name => Boolean(document.getElementById(name).kept)", name)


@pytest.fixture(scope="module")
def found() -> list[str]:
    """The address of a finished search, once there is one."""
    return []


@pytest.fixture
def wire(page: Page, base: str, found: list[str]) -> Wire:
    if not found:
        found.append(search_example(page, base))
        finished(page)
    wire = Wire(page, found[0])
    page.route_web_socket(re.compile("/ws/"), wire.taken)
    page.goto(wire.address)
    wire.page.wait_for_function("() => document.getElementById('wire')")
    return wire


def test_results_that_come_between_press_and_release_wait_for_the_click(wire: Wire) -> None:
    page, asked = wire.page, []
    page.on("request", lambda request: asked.append(request.url) if "/hits/" in request.url else None)
    page.locator("#query-3").hover()
    page.mouse.down()
    wire.say()
    assert wire.replaced("state") and not wire.replaced("results")
    page.mouse.up()
    expect(page.locator("#hits h2")).to_contain_text("HBB2_XENTR")
    expect(page.locator("#query-3")).to_be_focused()
    page.wait_for_function("() => location.search === '?query=3'")
    assert len(asked) == 1
    assert "query=3" in wire.heard[-1] and "results%3A" in wire.heard[-1], "the page asks for what it did not take"
    wire.say("?query=3")
    assert wire.replaced("results")
    expect(page.locator("#query-3")).to_be_focused()
    expect(page.locator("#hits h2")).to_contain_text("HBB2_XENTR")


def test_results_that_come_before_the_answer_to_a_click_wait_for_it(wire: Wire) -> None:
    page, asked = wire.page, list[Route]()

    def hold(route: Route) -> None:
        asked.append(route)

    page.route("**/hits/**", hold)
    with page.expect_request("**/hits/**"):
        page.locator("#query-3").click()
    wire.say()
    assert wire.replaced("state") and not wire.replaced("results")
    asked[0].continue_()
    expect(page.locator("#hits h2")).to_contain_text("HBB2_XENTR")
    expect(page.locator(".queries .current")).to_contain_text("HBB2_XENTR")
    expect(page.locator("#query-3")).to_be_focused()


def test_what_was_not_taken_is_asked_for_although_nothing_was_clicked(wire: Wire) -> None:
    page = wire.page
    page.locator("#by-bits").hover()
    page.mouse.down()
    wire.say()
    assert not wire.replaced("results") and wire.heard == []
    page.mouse.move(2, 2)
    page.mouse.up()
    page.wait_for_timeout(600)
    assert len(wire.heard) == 1 and "results%3A" in wire.heard[0]
    wire.say()
    assert wire.replaced("results")


@pytest.mark.parametrize("focused", ["#query-2", "#q1-hit-2 a"])
def test_the_focus_is_back_before_anything_else_can_happen(wire: Wire, focused: str) -> None:
    page = wire.page
    page.locator(focused).focus()
    page.evaluate(
        """(focused) => document.addEventListener("htmx:wsAfterMessage", () => {
        window.at_once = document.activeElement === document.querySelector(focused); }, {once: true})""",
        focused,
    )
    wire.say()
    assert wire.replaced("results") and page.evaluate("window.at_once")
