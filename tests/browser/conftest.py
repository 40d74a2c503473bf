"""The whole product, started as somebody at a shell starts it, and a real Chromium before it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.onebox.running import Running
from tests.world import REPOSITORY

Sign = Callable[..., BrowserContext]
EXAMPLE_WITHIN = 60_000  # ms: an example search from the press of the button to its hits, on a busy machine
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    quiet = ["quic", "background-networking", "component-update", "sync"]
    return {
        "executable_path": "/usr/bin/chromium",
        "args": ["--no-sandbox", "--disable-gpu", "--no-first-run", *(f"--disable-{name}" for name in quiet)],
    }


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Everything, on a state of its own; when it is stopped no process of it may be left."""
    state = tmp_path_factory.mktemp("state")
    up = Running(["--state", str(state), "--port", "0"])
    try:
        up.says("/signin/", within=60)
        yield up
        up.stop()
        assert up.left() == []
    finally:
        up.kill()
        up.is_gone()


def manage(running: Running, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COORDUI_")}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env={**environment, "COORDUI_STATE": str(running.state)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    ).stdout


@pytest.fixture(scope="session")
def bob(running: Running) -> str:
    """Somebody who is no operator."""
    manage(running, "adduser", "bob")
    return "bob"


@pytest.fixture(scope="session")
def addresses(running: Running) -> dict[str, str]:
    """By user: the address that signs in, which is good for as long as it all runs."""
    return {"": next(line for line in running.output().splitlines() if "/signin/" in line)}


@pytest.fixture
def sign_in(running: Running, browser: Browser, addresses: dict[str, str]) -> Iterator[Sign]:
    """A browser of its own, signed in; as the first user if nobody else is named."""
    opened: list[BrowserContext] = []

    def enter(user: str = "", **options: Any) -> BrowserContext:
        if user not in addresses:
            addresses[user] = manage(running, "signin", user).split()[0]
        address = addresses[user]
        context = browser.new_context(**options)
        opened.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.goto(address)
        page.close()
        return context

    yield enter
    for context in opened:
        context.close()


@pytest.fixture
def base(running: Running) -> str:
    return running.address().rstrip("/")


@pytest.fixture
def page(sign_in: Sign) -> Page:
    """In place of the plugin's: signed in."""
    return sign_in().new_page()


@pytest.fixture(scope="session")
def examples() -> list[str]:
    """The addresses of finished example searches that nobody changes, once there are any."""
    return []


@pytest.fixture
def example(sign_in: Sign, base: str, examples: list[str]) -> str:
    """The address of one of them."""
    if not examples:
        page = sign_in().new_page()
        address = search_example(page, base)
        finished(page)
        examples.append(address)
    return examples[0]


@pytest.fixture
def troubles(page: Page) -> Iterator[list[str]]:
    """What the page's console complains of: nothing may be there at the end."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield said
    assert said == []


def search_example(page: Page, base: str) -> str:
    """Two clicks from the empty form; the address of the search's page."""
    page.goto(base)
    page.get_by_role("link", name="Use the example").click()
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")
    return page.url


def finished(page: Page) -> None:
    """All of its results are there: what is pressed from now on, no last batch comes in between."""
    expect(page.locator("table.hits")).to_be_visible(timeout=EXAMPLE_WITHIN)
    expect(page.locator("#state .mood strong")).to_have_text("done")
