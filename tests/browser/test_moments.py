"""What arrives in the very moment of a click takes away neither the click nor the focus."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.world import until

NOTE = """document.addEventListener("htmx:beforeSend", (event) => { window.sent = event.detail.xhr; })"""
GIVE_UP = "window.sent.timeout /= 50"  # it counts from the sending, and 0 is for ever
LOOK = "document.dispatchEvent(new Event('visibilitychange'))"
KEEP = """() => { for (const name of ["state", "results"]) document.getElementById(name).kept = true; }"""


def replaced(page: Page, name: str) -> bool:
    """Since KEEP."""
    return not page.evaluate("name => Boolean(document.getElementById(name).kept)", name)


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
        self.page.evaluate(KEEP)
        self.page.evaluate(
            """() => { window.taken = new Promise(
              (done) => addEventListener("htmx:wsAfterMessage", done, {once: true})); }"""
        )
        self.sockets[-1].send(pieces)
        self.page.evaluate("window.taken")

    def replaced(self, name: str) -> bool:
        return replaced(self.page, name)

    def asks_for_results(self) -> None:
        """Once, by itself, within a moment."""

        def heard() -> list[str]:
            self.page.wait_for_timeout(20)
            return self.heard

        assert "results%3A" in until(heard)[0] and len(self.heard) == 1
        self.say()
        assert self.replaced("results")


@pytest.fixture
def wire(page: Page, example: str) -> Wire:
    wire = Wire(page, example)
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


@pytest.mark.parametrize(
    "end", [None, "document.dispatchEvent(new Event('dragend'))", "window.dispatchEvent(new Event('blur'))"]
)
def test_what_was_not_taken_is_asked_for_although_nothing_was_clicked(wire: Wire, end: str | None) -> None:
    page = wire.page
    page.locator("#by-bits").hover()
    page.mouse.down()
    wire.say()
    assert not wire.replaced("results") and wire.heard == []
    if end:
        page.evaluate(end)
    else:
        page.mouse.move(2, 2)
        page.mouse.up()
    wire.asks_for_results()


def test_the_end_of_one_press_does_not_end_the_next(wire: Wire) -> None:
    page = wire.page
    page.locator("#hits h2").hover()
    page.evaluate(
        """() => { window.later = new Promise(
          (done) => addEventListener("pointerup", () => setTimeout(done, 500), {once: true})); }"""
    )
    page.mouse.down()
    page.mouse.up()
    page.mouse.down()
    page.evaluate("window.later")
    wire.say()
    assert wire.replaced("state") and not wire.replaced("results")
    page.mouse.up()
    wire.asks_for_results()


def test_a_click_that_is_never_answered_holds_nothing_for_ever(wire: Wire) -> None:
    page = wire.page
    page.evaluate(NOTE)
    page.route("**/hits/**", lambda route: None)
    page.locator("#query-3").click()
    wire.say()
    assert wire.replaced("state") and not wire.replaced("results")
    page.evaluate(GIVE_UP)
    wire.asks_for_results()


@pytest.mark.parametrize("status", [503, None])
def test_a_poll_that_fails_leaves_what_was_not_taken_to_the_next(page: Page, example: str, status: int | None) -> None:
    """The page of a search that ends while no socket is to be had: its next polls are no longer of the search."""
    live = example.replace("/searches/", "/live/search/")
    under, polls = False, list[str]()
    page.route_web_socket(re.compile("/ws/"), lambda socket: socket.close(code=1011))

    def loaded(route: Route) -> None:
        text = route.fetch().text()
        assert 'data-poll="/live/word/"' in text
        route.fulfill(body=text.replace("/live/word/", re.sub("^.*(?=/live/)", "", live)), content_type="text/html")

    def answer(route: Route) -> None:
        if not under:
            route.fulfill(status=204)
            return
        polls.append(route.request.url)
        if len(polls) != 2:
            route.fulfill(response=route.fetch(url=route.request.url.partition("?")[0]))
        elif status:
            route.fulfill(status=status, body="<p>Try again later</p>")

    page.route(example, loaded)
    page.route("**/live/**", answer)
    page.goto(example)
    page.evaluate(NOTE)
    page.evaluate(KEEP)
    page.locator("#hits h2").hover()
    page.mouse.down()
    under = True
    page.evaluate(LOOK)
    page.wait_for_function("() => document.getElementById('pulse').dataset.poll === '/live/word/'")
    assert replaced(page, "state") and not replaced(page, "results")
    page.mouse.up()

    def again() -> bool:
        page.wait_for_timeout(20)
        return len(polls) > 1

    until(again)
    if not status:
        page.evaluate(GIVE_UP)
    page.wait_for_function(f"() => !document.getElementById('results').kept || {LOOK} && false", polling=100)
    assert all(poll.startswith(live) for poll in polls[:3])


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
