"""axe-core finds nothing to complain of, in the light and in the dark: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from tests.browser.conftest import Sign, finished, search_example
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


def test_axe_finds_nothing(running: Running, page: Page, base: str, sign_in: Sign) -> None:
    signed_out = sign_in()
    signed_out.clear_cookies()
    outside = signed_out.new_page()
    outside.goto(base)
    told = found(outside)
    page.goto(base)
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Largest e-value").fill("lots")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#query-findings")).to_be_visible()
    told += found(page)
    with held_by_the_api(running.state):
        address = search_example(page, base)
        expect(page.locator("#state")).to_contain_text("You are next")
        told += found(page)
        page.goto(f"{base}/gate/")
        expect(page.locator(".picture.wide .one.mine")).to_have_count(1)
        told += found(page)
    page.goto(address)
    finished(page)
    page.locator("#q1-hit-2").get_by_role("link", name="1 alignment").click()
    expect(page.locator("#a1-2 .alignment")).to_be_visible()
    page.evaluate(FEWER)
    told += found(page)
    assert told == []
