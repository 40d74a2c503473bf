"""What was typed stays, whatever happens between the box and the search."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import Sign, finished, manage, search_example
from tests.onebox.running import Running

TYPED = ">typed\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYF\n"


def fill(page: Page, base: str, text: str = TYPED) -> None:
    page.goto(base)
    page.get_by_label("Database").select_option("globins")
    page.get_by_label("Sequences").fill(text)
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Largest e-value").fill("1e-3")


def expect_kept(page: Page) -> None:
    expect(page.get_by_label("Sequences")).to_have_value(TYPED)
    expect(page.get_by_label("Database")).to_have_value("globins")
    expect(page.locator("#evalue")).to_have_value("1e-3")


def test_after_another_tab_signed_in_again_the_form_comes_back_and_works(
    page: Page, base: str, addresses: dict[str, str]
) -> None:
    fill(page, base)
    other = page.context.new_page()
    other.goto(addresses[""])
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("alert")).to_contain_text("This form was too old")
    expect_kept(page)
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")


def test_after_the_session_ended_what_was_typed_is_back_after_the_sign_in(
    page: Page, base: str, addresses: dict[str, str]
) -> None:
    fill(page, base)
    session = {cookie["name"]: cookie for cookie in page.context.cookies()}["coordui_session"]
    page.context.clear_cookies(name=session["name"])
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(addresses[""])
    expect_kept(page)
    expect(page.locator("#restored")).to_be_visible()
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")
    page.goto(base)
    expect(page.get_by_label("Sequences")).to_have_value("")
    expect(page.locator("#restored")).to_be_hidden()


def test_back_from_a_search_is_the_form_as_it_was_sent(page: Page, base: str) -> None:
    fill(page, base)
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")
    first = page.url
    page.go_back()
    expect_kept(page)
    page.get_by_label("Largest e-value").fill("1e-4")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")
    assert page.url != first


def test_what_came_back_can_be_emptied(page: Page, base: str) -> None:
    fill(page, base)
    page.goto(f"{base}/gate/")
    page.goto(base)
    expect_kept(page)
    page.get_by_role("button", name="Empty the form").click()
    expect(page.get_by_label("Sequences")).to_have_value("")
    page.reload()
    expect(page.get_by_label("Sequences")).to_have_value("")


def test_nobody_finds_what_another_typed(running: Running, sign_in: Sign, base: str, bob: str) -> None:
    page = sign_in().new_page()
    fill(page, base)
    page.goto(f"{base}/gate/")
    page.goto(manage(running, "signin", bob).split()[0])
    expect(page.get_by_label("Sequences")).to_have_value("")


def test_the_example_asks_before_it_replaces_what_was_typed(page: Page, base: str) -> None:
    asked: list[str] = []

    def refuse(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", refuse)
    fill(page, base)
    page.get_by_role("link", name="Use the example").click()
    expect_kept(page)
    assert len(asked) == 1
    page.goto(f"{base}/?example=1")
    page.get_by_role("link", name="Use the example").click()
    expect(page.get_by_label("Sequences")).to_have_value(re.compile("HBB_HUMAN"))
    assert len(asked) == 1


def test_a_file_that_is_no_text_is_left_to_the_server(page: Page, base: str, tmp_path: Path) -> None:
    packed, latin = tmp_path / "mine.fa.gz", tmp_path / "latin.fa"
    packed.write_bytes(gzip.compress(TYPED.encode()))
    latin.write_bytes(b">prot\xe9ine\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYF\n")
    for file in (packed, latin):
        page.goto(base)
        page.get_by_label("Database").select_option("globins")
        page.get_by_label("Choose a file").set_input_files(file)
        expect(page.locator("#file-name")).to_contain_text(f"{file.name} is sent as it is")
        expect(page.get_by_label("Sequences")).to_have_value("")
        assert page.locator("#file").evaluate("e => e.files[0].name") == file.name


def test_of_a_long_file_the_beginning_alone_is_sent_while_the_form_is_filled_in(
    page: Page, base: str, tmp_path: Path
) -> None:
    long = tmp_path / "long.fa"
    long.write_text(f">a\n{TYPED.rsplit(maxsplit=1)[-1]}\n" * 60_000)
    assert long.stat().st_size > 2_000_000
    page.goto(base)
    page.get_by_label("Database").select_option("globins")
    size = "e.detail.requestConfig.formData.get('file').size"
    page.evaluate(f"addEventListener('htmx:beforeRequest', (e) => {{ window.sent = {size}; }})")
    page.get_by_label("Choose a file").set_input_files(long)
    expect(page.locator("aside")).to_contain_text("Only the first 1 MB was looked at")
    assert page.evaluate("window.sent") == 1_000_001
    assert page.locator("#file").evaluate("e => e.files[0].size") == long.stat().st_size


def test_choosing_and_sorting_keep_focus_mark_and_address(page: Page, base: str) -> None:
    address = search_example(page, base)
    finished(page)
    page.locator("#query-3").click()
    expect(page.locator(".queries .current #query-3")).to_have_count(1)
    expect(page.locator(".queries .current")).to_have_count(1)
    expect(page.locator("#query-3")).to_be_focused()
    expect(page).to_have_url(f"{address}?query=3")
    page.locator("#by-identity").click()
    expect(page.locator("#hits th[aria-sort=descending]")).to_contain_text("Identity")
    expect(page.locator("#by-identity")).to_be_focused()
    expect(page).to_have_url(f"{address}?query=3&sort=identity")
    shown = page.locator("#hits h2").text_content()
    page.reload()
    expect(page.locator("#hits h2")).to_have_text(str(shown))
    expect(page.locator("#hits th[aria-sort=descending]")).to_contain_text("Identity")


def test_a_phone_reads_a_hit_without_scrolling_sideways(sign_in: Sign, base: str, page: Page) -> None:
    address = search_example(page, base)
    finished(page)
    phone = sign_in(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).new_page()
    phone.goto(address)
    table = phone.locator(".scroll:has(> table.hits)")
    assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
    link = phone.locator("#q1-hit-1").get_by_role("link")
    for target in (link, phone.locator("#by-bits"), phone.locator("#query-1"), phone.locator(".copy").first):
        box = target.bounding_box()
        assert box and box["height"] >= 40, target
    link.click()
    expect(phone.locator(".alignment")).to_be_visible()
    assert table.evaluate("e => e.scrollWidth <= e.clientWidth")
    svg, last = phone.locator(".coverage svg").bounding_box(), phone.locator(".coverage text").last.bounding_box()
    assert svg and last and last["x"] + last["width"] <= svg["x"] + svg["width"]


def test_paper_is_light_and_whole_whatever_the_screen(sign_in: Sign, base: str, page: Page) -> None:
    address = search_example(page, base)
    finished(page)
    paper = sign_in(color_scheme="dark").new_page()
    paper.goto(address)
    paper.emulate_media(media="print", color_scheme="dark")
    ink = paper.evaluate("getComputedStyle(document.querySelector('#state .say')).color")
    assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80, ink
    assert paper.evaluate("getComputedStyle(document.querySelector('.queries .scroll')).maxHeight") == "none"
