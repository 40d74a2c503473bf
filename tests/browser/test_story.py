"""The whole story in a real browser: searched, watched without a reload, and read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Sign, finished, search_example
from tests.browser.door import held_by_the_api
from tests.onebox.running import Running


def watch(page: Page) -> None:
    """Every state the page says, in order, gathered in the page itself: a reload would lose them."""
    page.evaluate(
        """() => {
          window.told = [];
          const look = () => { const said = document.querySelector("#state .mood strong").textContent;
            if (told[told.length - 1] !== said) told.push(said); };
          look(); new MutationObserver(look).observe(document.body, {childList: true, subtree: true}); }"""
    )


@pytest.mark.usefixtures("troubles")
def test_an_example_is_searched_and_its_hits_appear_by_themselves(page: Page, base: str) -> None:
    search_example(page, base)
    watch(page)
    finished(page)
    expect(page.locator("#state .mood strong")).to_have_text("done")
    told = page.evaluate("window.told")
    assert told[-1] == "done" and "running" in told, told
    expect(page).to_have_title(re.compile("^✓ 119 hits · Human haemoglobin"))
    expect(page.locator("#state")).to_contain_text("3 of 3 queries had hits: 119 hits in all.")
    expect(page.locator(".coverage polygon").first).to_be_visible()
    expect(page.locator("#announce")).to_contain_text("119 hits")


@pytest.mark.usefixtures("troubles")
def test_a_hit_shows_its_alignment_and_the_rest_stays_as_it_is(page: Page, base: str) -> None:
    search_example(page, base)
    finished(page)
    page.locator("#q1-hit-2").get_by_role("link", name="1 alignment").click()
    expect(page.locator("#a1-2 .alignment")).to_contain_text("VHLT")
    page.locator("#q1-hit-2").get_by_role("link", name="1 alignment").click()
    expect(page.locator("#a1-2 .alignment")).to_have_count(0)
    page.locator("#results .queries").get_by_role("link", name="MYG_MUSAN").click()
    expect(page.locator("#hits h2")).to_contain_text("MYG_MUSAN")
    page.locator("#hits").get_by_role("link", name="Identity").click()
    expect(page.locator("#hits th[aria-sort=descending]")).to_contain_text("Identity")


def test_the_results_can_be_taken_away(page: Page, example: str, tmp_path: Path) -> None:
    page.goto(example)
    for name, first in (("Table", "qseqid\tsaccver"), ("Aligned", ">HBB_")):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name).click()
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text().startswith(first)
        assert waiting.value.suggested_filename.startswith("human-haemoglobin")


def test_a_finished_search_asks_no_more_about_itself(page: Page, base: str) -> None:
    address = search_example(page, base)
    finished(page)
    expect(page.locator("#pulse")).to_have_attribute("data-poll", "/live/word/")
    assert page.goto(address) is not None
    expect(page.locator("#wire")).to_have_attribute("ws-connect", "/ws/word/")


def test_a_search_that_waits_says_which_gate_holds_it_and_its_place(running: Running, page: Page, base: str) -> None:
    """Somebody of the API is at door A. Both searches stand in line, and go on by themselves when it is free."""
    with held_by_the_api(running.state) as holder:
        search_example(page, base)
        second = page.context.new_page()
        address = search_example(second, base)
        state = second.locator("#state")
        expect(state).to_contain_text("Another search is being submitted")
        expect(state).to_contain_text("through the API")
        expect(state).to_contain_text("You are 2nd in line")
        expect(state.locator(".mood strong")).to_have_text("waiting")
        expect(state.locator("code").first).to_have_text("waiting_for_submit_slot")
        expect(state.locator(".picture .one.mine")).to_be_visible()
        expect(second).to_have_title(re.compile("^2nd · Human"))
        expect(page.locator("#state")).to_contain_text("You are next")
        found = second.request.get(address.rstrip("/") + ".json").json()
        assert (found["status"], found["gate"], found["lease_holder"]) == ("waiting", "A_busy", holder)
        assert found["position"] == 2 and found["wait_elapsed"] >= 0
        board = second.context.new_page()
        board.goto(f"{base}/gate/")
        expect(board.locator("#pulse")).to_contain_text("busy")
        expect(board.locator(".picture.wide .door.shut")).to_have_count(1)
        expect(board.locator(".picture.wide .one.mine")).to_have_count(2)
        expect(board.locator("#board")).to_contain_text(holder)
    for waited in (page, second):
        finished(waited)
    expect(board.locator(".picture.wide .one.mine")).to_have_count(0)


def test_bad_input_is_told_beside_its_field_and_nothing_is_lost(page: Page, base: str) -> None:
    page.goto(base)
    page.get_by_label("Sequences").fill(">mine\nACDEFGHIKLMNPQRSTVWY\n")
    page.get_by_label("Database").select_option("globins")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Largest e-value").fill("lots")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#evalue-findings")).to_contain_text("“lots” is not")
    expect(page.get_by_label("Sequences")).to_have_value(re.compile("ACDEFGHIKLMNPQRSTVWY"))
    expect(page.get_by_label("Largest e-value")).to_be_focused()
    expect(page.locator("#send")).to_be_enabled()


def test_the_form_says_what_would_be_run_while_one_types(page: Page, base: str) -> None:
    page.goto(base)
    page.get_by_label("Database").select_option("globins")
    page.get_by_label("Sequences").fill(">mine\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYF\n")
    expect(page.locator("aside pre")).to_contain_text("blastp -task blastp -evalue 0.05")
    page.get_by_text("Options", exact=True).click()
    page.get_by_label("Largest e-value").fill("1e-9")
    page.keyboard.press("Tab")
    expect(page.locator(".chip")).to_have_text("e-value 1e-09")


def test_a_file_is_chosen_or_dropped_and_the_keyboard_sends(page: Page, base: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.fa"
    file.write_text(">from_a_file\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYF\n")
    page.goto(base)
    page.get_by_label("Database").select_option("globins")
    page.get_by_label("Choose a file").set_input_files(file)
    expect(page.get_by_label("Sequences")).to_have_value(re.compile("from_a_file"))
    page.get_by_label("Sequences").press("Control+Enter")
    page.wait_for_url("**/searches/*/")
    expect(page.get_by_role("heading", level=1)).to_have_text("from_a_file")


def test_a_stranger_finds_nothing(page: Page, base: str, sign_in: Sign, bob: str) -> None:
    address = search_example(page, base)
    stranger = sign_in(bob).new_page()
    for path in (address, address.rstrip("/") + ".json", address + "hits.tsv"):
        answer = stranger.request.get(path)
        assert answer.status == 404
    assert stranger.request.get(f"{base}/gate.json").ok
