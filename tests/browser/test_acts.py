"""Cancelling, searching again and reading the log in a real browser, with JavaScript and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from submits.cluster import Connection, connect
from tests.browser.conftest import EXAMPLE_WITHIN, Sign, search_example
from tests.browser.door import held_by_the_api
from tests.onebox.running import Running
from tests.story.installation import long_query


def cancel(page: Page) -> None:
    page.locator("#to-cancel").click()
    page.get_by_role("button", name="Cancel this search").click()
    page.wait_for_url("**/searches/*/")


@pytest.mark.usefixtures("troubles")
def test_a_running_search_is_cancelled_and_nothing_of_it_is_left(running: Running, page: Page, base: str) -> None:
    page.goto(base)
    page.get_by_label("Database").select_option("globins")
    page.get_by_label("Sequences").fill(long_query(200))
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/searches/*/")
    state = page.locator("#state")
    expect(state).to_contain_text("batches done", timeout=EXAMPLE_WITHIN)
    run_id = page.request.get(page.url.rstrip("/") + ".json").json()["run_id"]
    log = page.context.new_page()
    log.goto(page.url + "log/?part=submit")
    expect(log.locator("pre")).to_contain_text(f"{run_id} is in namespace default")
    cancel(page)
    expect(state.locator(".mood strong")).to_have_text("cancelled", timeout=EXAMPLE_WITHIN)
    cluster = connect(Connection(str(running.state / "kubeconfig"), "default"))
    left = [cluster.list(kind, f"elb-job-id={run_id}").items for kind in ("jobs", "pods")]
    assert left == [(), ()]
    expect(log.locator("#newest")).to_have_text("That is all.")
    log.set_viewport_size({"width": 800, "height": 200})
    log.get_by_role("link", name="Show newest").click()
    expect(log.locator("#newest")).to_be_in_viewport()
    page.get_by_role("link", name="Edit and search again").click()
    expect(page.get_by_label("Sequences")).to_have_value(long_query(200))


def test_without_javascript_a_waiting_search_is_cancelled_and_made_again(
    running: Running, sign_in: Sign, base: str
) -> None:
    page = sign_in(java_script_enabled=False).new_page()
    with held_by_the_api(running.state):
        first = search_example(page, base)
        cancel(page)
        expect(page.locator("#state .mood strong")).to_have_text("cancelled")
    page.get_by_role("button", name="Search again").click()
    page.wait_for_url("**/searches/*/")
    assert page.url != first
    expect(page.get_by_role("heading", level=1)).to_contain_text("Human haemoglobin")
