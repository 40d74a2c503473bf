"""axe-core finds nothing to complain of, in the light and in the dark: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import finished, search_example
from tests.browser.door import held_by_the_api
from tests.onebox.running import Running

VIOLATIONS = {"resultTypes": ["violations"]}
SCHEMES: dict[Literal["light", "dark"], dict[str, list[str]]] = {
    "light": VIOLATIONS,
    "dark": {**VIOLATIONS, "runOnly": ["color-contrast"]},  # nothing else differs
}

# One hit reads like the next: forty would take axe ten times as long.
MANY = ".hits tbody tr:nth-child(n+7), .coverage svg a:nth-of-type(n+5)"
FEWER = f"document.querySelectorAll('{MANY}').forEach(one => one.remove())"

Told = list[tuple[str, str, str, list[str]]]


def found(page: Page) -> Told:
    """The page's address, the scheme, what axe finds in it, and where."""
    told: Told = []
    for scheme, options in SCHEMES.items():
        page.emulate_media(color_scheme=scheme)
        violations: list[dict[str, Any]] = Axe().run(page, options=options).response["violations"]
        told += [(page.url, scheme, v["id"], [node["html"][:120] for node in v["nodes"]]) for v in violations]
    return told


def test_axe_finds_nothing(running: Running, browser: Browser, page: Page, base: str, examples: list[str]) -> None:
    """The pages that need no search are looked at while one is on its way."""
    other = page.context.new_page()
    with held_by_the_api(running.state):
        address = search_example(page, base)
        outside = browser.new_page()
        outside.goto(base)
        expect(outside.get_by_role("heading", name="Sign in")).to_be_visible()
        told = found(outside)
        outside.close()
        other.goto(base)
        other.get_by_text("Options", exact=True).click()
        other.get_by_label("Largest e-value").fill("lots")
        other.get_by_role("button", name="Search").click()
        expect(other.locator("#query-findings")).to_be_visible()
        told += found(other)
        expect(page.locator("#state")).to_contain_text("You are next")
        told += found(page)
        other.goto(f"{base}/gate/")
        expect(other.locator(".picture.wide .one.mine")).to_have_count(1)
        told += found(other)
    finished(page)
    examples.append(address)
    page.locator("#q1-hit-2").get_by_role("link", name="1 alignment").click()
    expect(page.locator("#a1-2 .alignment")).to_be_visible()
    page.evaluate(FEWER)
    told += found(page)
    assert told == []
