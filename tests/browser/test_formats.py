"""The page of other formats: asked for, watched without a reload, and taken away; by keyboard and on a phone too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import EXAMPLE_WITHIN, Sign, finished, search_example


def formats_of(page: Page, base: str) -> str:
    """The address of the page of formats of an example that is done."""
    search_example(page, base)
    finished(page)
    page.locator("a[href$='/formats/']").first.click()
    expect(page.get_by_role("heading", name="Downloads", exact=True)).to_be_visible()
    return page.url


def taken(page: Page, format: str, to: Path) -> str:
    with page.expect_download() as waiting:
        page.locator(f"#get-{format}").click()
    waiting.value.save_as(to)
    return to.read_text()


@pytest.mark.usefixtures("troubles")
def test_a_format_is_made_while_one_watches_and_then_downloaded(page: Page, base: str, tmp_path: Path) -> None:
    formats_of(page, base)
    page.evaluate("window.same = 'page'")
    made = page.get_by_role("button", name="Make it: XML", exact=True)
    made.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#formats")).to_contain_text(re.compile(r"being made for \d+ s|Download"))
    page.evaluate("window.same = 'page'")
    expect(page.get_by_role("link", name="Download: XML", exact=True)).to_be_visible(timeout=EXAMPLE_WITHIN)
    assert page.evaluate("window.same") == "page"
    assert page.locator("#formats[role=status]").count() == 1 and "hx-trigger" not in page.locator("#formats").evaluate(
        "each => each.outerHTML"
    )
    whole = taken(page, "xml", tmp_path / "xml")
    assert whole.startswith("<?xml") and "<BlastOutput_query-def>HBB_HUMAN" in whole
    page.reload()
    assert page.locator("#get-xml").count() == 1 and page.locator("#make-json").count() == 1


@pytest.mark.usefixtures("troubles")
def test_a_table_of_chosen_columns(page: Page, base: str, tmp_path: Path) -> None:
    formats_of(page, base)
    page.get_by_label("As", exact=True).select_option("csv")
    for name in ("pident", "length", "bitscore"):
        page.get_by_role("checkbox", name=name, exact=True).uncheck()
    page.get_by_role("group", name="Columns").get_by_role("checkbox", name="btop", exact=True).check()
    page.locator("form.card").get_by_role("button", name="Make it", exact=True).click()
    link = page.get_by_role("link", name="Download: Table with commas: qaccver, saccver, evalue, btop", exact=True)
    expect(link).to_be_visible(timeout=EXAMPLE_WITHIN)
    rows = taken(page, (link.get_attribute("id") or "").removeprefix("get-"), tmp_path / "csv").splitlines()
    assert len(rows) == 119 and all(len(row.split(",")) == 4 for row in rows)
    assert len({row.split(",")[0] for row in rows}) == 3 and rows[0].startswith("HBB_HUMAN,HBB_")


def test_no_columns_are_too_wide_for_a_phone_and_every_control_has_a_name(page: Page, base: str, sign_in: Sign) -> None:
    address = formats_of(page, base)
    for width in (320, 390, 820):
        narrow = sign_in(viewport={"width": width, "height": 844}).new_page()
        narrow.goto(address)
        assert narrow.evaluate("document.documentElement.scrollWidth") <= width, width
    names = (
        page.locator("#formats")
        .get_by_role("button")
        .evaluate_all("all => all.map(each => each.getAttribute('aria-label') || each.textContent.trim())")
    )
    assert len(set(names)) == len(names) == 8, names
    for field in page.locator("main input:not([type=hidden]), main select").all():
        assert field.evaluate("each => each.labels.length") == 1
