"""The README's pictures, from the running product: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import EXAMPLE_WITHIN, manage, search_example
from tests.browser.door import held_by_the_api
from tests.onebox.running import Running

WIDE = {"width": 1200, "height": 800}
PHONE = {"width": 390, "height": 844}


def form(page: Page, base: str) -> None:
    page.goto(f"{base}/?example=1")
    expect(page.locator("aside pre")).to_be_visible()


def hits(page: Page, base: str) -> None:
    page.goto(f"{base}/searches/?show=completed&q=haemoglobin")
    page.locator(".rows .title a").first.click()
    page.locator("#q1-hit-1").get_by_role("link", name="1 alignment").click()
    expect(page.locator(".alignment")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")


def board(page: Page, base: str) -> None:
    page.goto(f"{base}/gate/")


def waiting(page: Page, base: str) -> None:
    page.goto(f"{base}/searches/?show=live")
    page.locator(".rows .title a").first.click()
    expect(page.locator("#state .picture")).to_be_visible()


# The gate first: what runs when door A is taken has ended a few seconds later.
PICTURES: list[tuple[str, Callable[[Page, str], None], dict[str, int], str]] = [
    ("gate", board, WIDE, "light"),
    ("gate-dark", board, WIDE, "dark"),
    ("gate-phone", board, PHONE, "light"),
    ("new-search", form, WIDE, "light"),
    ("waiting", waiting, WIDE, "light"),
    ("waiting-phone", waiting, PHONE, "dark"),
    ("hits", hits, {"width": 1200, "height": 1800}, "light"),
]


def take(browser: Browser, running: Running, directory: Path) -> None:
    base = running.address().rstrip("/")
    address = next(line for line in running.output().splitlines() if "/signin/" in line)
    first = browser.new_page()
    first.goto(address)
    search_example(first, base)
    expect(first.locator("table.hits")).to_be_visible(timeout=EXAMPLE_WITHIN)
    manage(running, "demo")
    first.goto(f"{base}/gate/")
    expect(first.locator(".picture.wide .track").nth(1)).to_be_visible(timeout=60_000)
    with held_by_the_api(running.state):
        for name, prepare, size, scheme in PICTURES:
            context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(address)
            prepare(page, base)
            page.screenshot(path=directory / f"{name}.png")
            context.close()


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="coordui-") as state, sync_playwright() as playwright:
        running = Running(["--state", state, "--port", "0"])
        try:
            running.says("/signin/", within=60)
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
            )
            take(browser, running, directory)
            browser.close()
            running.stop()
        finally:
            running.kill()
            running.is_gone()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
