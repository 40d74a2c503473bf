"""One search: its states in words, its results, its alignments and what can be taken away."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from submits import demo
from submits.blast.table import COLUMNS
from submits.models import Event, Submission
from submits.scopes import store
from submits.shown import pages, results
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.views import factory
from tests.views.conftest import People


def get(client: Client, row: Submission, query: str = "") -> str:
    answer = client.get(reverse("search", args=[row.key]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def body(client: Client, name: str, *args: object) -> bytes:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200
    return b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]


def test_a_waiting_search_says_why_since_when_and_its_place(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob, since=252, reason=Reason.WAITING_FOR_SUBMIT_SLOT)
    line = [factory.place(None, 1), factory.place(None, 2), factory.place(row, 3)]
    factory.publish(gate="A_busy", line=line, lease=factory.lease())
    page = get(bob, row)
    said = r"Another search is being submitted \(4[2-9] s so far, through the API\)\. You are 3rd in line\."
    assert re.search(said, page)
    assert "<title>3rd · Human haemoglobin</title>" in page
    assert ">4:1" in page
    assert "<code>waiting_for_submit_slot</code>" in page
    assert 'class="one mine"' in page
    assert "3 searches wait in line, yours is 3rd; at door A another search is being submitted" in page


def test_a_full_house_is_told_with_its_numbers(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob, reason=Reason.WAITING_FOR_CAPACITY)
    slots = [factory.slot(None, ago=n) for n in (10, 20, 30)]
    factory.publish(gate="B_full", active=3, slots=slots, line=[factory.place(row, 1)])
    page = get(bob, row)
    assert "3 of 3 places for running searches are taken. You are next." in page


def test_a_running_search_counts_its_batches(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    factory.publish(active=1, slots=[factory.slot(row)])
    page = get(bob, row)
    assert "7 of 20 batches done." in page and '<progress max="100" value="35">' in page
    assert "<title>running 7/20 · Human haemoglobin</title>" in page
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page


def test_a_failed_search_shows_blasts_own_words(people: People, bob: Client) -> None:
    words = "BLAST engine error: <Bad> & broken"
    row = factory.submission(
        people.bob, status=Status.FAILED, phase=Phase.ENDED, reason=Reason.ENGINE_FAILED, detail=words
    )
    page = get(bob, row)
    assert "BLAST engine error: &lt;Bad&gt; &amp; broken" in page
    assert "BLAST&#x27;s engine failed." in page and "search again with fewer or shorter sequences" in page
    said = bob.get(reverse("search_json", args=[row.key])).json()
    assert (said["reason"], said["reason_kind"], said["detail"]) == ("engine_failed", "final", words)
    assert "BLAST&#x27;s engine failed." in page and f"?from={row.key}" in page
    assert "http-equiv" not in page


def test_results_are_a_picture_a_table_by_evalue_and_downloads(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    page = get(bob, row)
    assert "3 of 3 queries had hits" in page
    assert f"<title>✓ {row.hits:,} hits · Human haemoglobin</title>" in page
    assert page.count("<polygon") >= 40 and 'href="#q1-hit-1"' in page and 'id="q1-hit-1"' in page
    assert "HBB_CALAR" in page
    assert "blastp -task blastp" in page and "-db globins" in page
    first, second = page.index("HBB_CALAR"), page.index("MYG_ESCGI")
    assert first < second
    assert "http-equiv" not in page


def test_another_query_another_page_and_another_order(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    assert "148 letters" in get(bob, row, "?query=2")
    part = bob.get(reverse("hits", args=[row.key]) + "?query=1&sort=identity").content.decode()
    assert part.startswith('<div id="hits"') and 'aria-sort="descending"' in part
    for odd in ("?query=999", "?query=-1", "?query='>", "?page=99", "?sort=';alert(1)//", "?queries=7"):
        page = get(bob, row, odd)
        assert "alert" not in page


def test_alignments_are_loaded_for_one_hit(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    address = reverse("alignments", args=[row.key, 1, 1])
    part = bob.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert 'VHLT<b class="mismatch">P</b>EEKSA' in part
    assert 'class="alignment"' in part and ">146</td>" in part
    whole = bob.get(address).content.decode()
    assert "<html" in whole and 'class="alignment"' in whole
    assert bob.get(reverse("alignments", args=[row.key, 1, 9999])).status_code == 404
    assert bob.get(reverse("alignments", args=[row.key, 99, 1])).status_code == 404


def test_the_table_has_every_column_and_every_alignment(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    lines = list(csv.reader(io.StringIO(body(bob, "tsv", row.key).decode()), delimiter="\t"))
    assert lines[0][: len(COLUMNS)] == list(COLUMNS)
    raw = store().get(run_key(row.run_id, "hits.tsv")).decode().splitlines()
    assert len(lines) == len(raw) + 1
    assert lines[1][0] == "HBB_HUMAN"


def test_downloads_have_names_that_say_what_they_are(people: People, bob: Client) -> None:
    row = factory.completed(people.bob, title='A/B "quoted"\n<i>')
    answer = bob.get(reverse("tsv", args=[row.key]))
    name = f"ab-quoted-i_globins-45-proteins_{row.created_at:%Y%m%d}_hits.tsv"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'


def test_the_fasta_holds_the_aligned_parts(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    text = body(bob, "fasta", row.key).decode()
    assert text.startswith(">HBB_") and "\n" in text and "-" not in text.split("\n")[1]


def test_nothing_to_take_away_before_the_end(people: People, bob: Client) -> None:
    row = factory.running(people.bob)
    for name in ("tsv", "fasta", "hits"):
        assert bob.get(reverse(name, args=[row.key])).status_code == 404
    assert "Downloads" not in get(bob, row)
    assert body(bob, "log_text", row.key) == b"Nothing has been written yet.\n"
    store().put(run_key(row.run_id, "log.txt"), b"")
    assert body(bob, "log_text", row.key) == b"Nothing has been written yet.\n"


def test_no_hits_say_so_and_what_may_help(people: People, bob: Client) -> None:
    query = ">odd\n" + "WCWCHMWYCWHM" * 3 + "\n"
    row = factory.completed(people.bob, query, options={"task": "blastp", "evalue": "1e-20"})
    page = get(bob, row)
    assert "Nothing was found." in page and "A larger e-value" in page


def test_results_that_are_gone_or_damaged_are_told(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    store().put(run_key(row.run_id, "hits.tsv"), b"not\ta\ttable\n" * 4000)
    assert "The table of hits is damaged" in get(bob, row)
    store().delete(run_key(row.run_id, "hits.tsv"))
    assert "not in the work store any more" in get(bob, row)
    store().put(run_key(row.run_id, "summary.json"), b'{"queries": [{}]}')
    assert "The results are not in the work store any more" in get(bob, row)


EVIL = "x<img/src=x/onerror=alert(1)>"


@pytest.mark.parametrize("name", ["search", "searches", "gate"])
def test_a_title_is_text_wherever_it_is_shown(people: People, bob: Client, name: str) -> None:
    row = factory.waiting(people.bob, title=EVIL)
    factory.publish(line=[factory.place(row, 1)], slots=[factory.slot(row)], lease=factory.lease(row))
    for client in (bob, people.client(people.ann)):
        path = reverse(name, args=[row.key] if name == "search" else []) + "?everyone=yes"
        page = client.get(path).content.decode()
        assert "<img" not in page
    assert "&lt;img/src=x/onerror=alert(1)&gt;" in client.get(path).content.decode()


def test_names_in_queries_and_subjects_are_text(people: People, bob: Client) -> None:
    """Both may hold markup: the query is the author's, the subject the database's."""
    row = factory.completed(people.bob, demo.text("hbb_human").replace("HBB_HUMAN", EVIL))
    key = run_key(row.run_id, "hits.tsv")
    table = store().get(key).replace(b"HBB_CALAR", b"HB<b>ALAR").replace(b"Hemoglobin", b"<script>x")
    summary = store().get(run_key(row.run_id, "summary.json"))
    assert EVIL.encode() in summary
    size = summary.replace(f'"size":{len(store().get(key))}'.encode(), f'"size":{len(table)}'.encode())
    store().put(key, table)
    store().put(run_key(row.run_id, "summary.json"), size)
    pages = [get(bob, row)]
    pages += [
        bob.get(reverse(name, args=[row.key, *rest]), headers={"HX-Request": "true"}).content.decode()
        for name, rest in (("hits", ()), ("alignments", (1, 1)), ("picture", (1,)))
    ]
    for page in pages:
        assert "<img" not in page and "<b>ALAR" not in page and "<script>x" not in page
    assert "HB&lt;b&gt;ALAR" in pages[0] and "&lt;script&gt;x" in pages[0] and "x&lt;img" in pages[0]


def test_the_picture_can_be_taken_away_and_runs_nothing(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    answer = bob.get(reverse("picture", args=[row.key, 1]))
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert answer.content.startswith(b'<svg xmlns="http://www.w3.org/2000/svg"')


def test_the_story_is_told_in_order(people: People, bob: Client) -> None:
    row = factory.submission(people.bob)
    Submission.objects.move(row, Status.PREPARING, phase=Phase.PREPARING)
    Submission.objects.move(row, Status.WAITING, phase=Phase.IN_LINE, reason=Reason.DRAINED)
    page = get(bob, row)
    steps = ["Received.", "Being checked and split.", "An operator has stopped new searches."]
    places = [page.rindex(step) for step in steps]
    assert places == sorted(places)


def test_the_time_of_an_admission_counts_from_its_own_beginning(people: People, bob: Client) -> None:
    row = factory.waiting(people.bob, since=3000, reason=Reason.COORDINATION_UNAVAILABLE)
    row.events.all().delete()
    for ago, status, phase, reason in [
        (900, Status.SUBMITTING, Phase.GATE_TAKEN, ""),
        (800, Status.WAITING, Phase.IN_LINE, Reason.SUBMIT_RETRY),
        (34, Status.SUBMITTING, Phase.IN_LINE, Reason.SUBMIT_RETRY),
        (31, Status.SUBMITTING, Phase.GATE_TAKEN, ""),
    ]:
        row.status, row.phase, row.reason = status, phase, reason
        Event.record(row, timezone.now() - timedelta(seconds=ago))
    row.reason = ""
    row.save()
    factory.publish(lease=factory.lease(row))
    page = get(bob, row)
    assert re.search(r"<strong>being submitted</strong>\s*<span class=\"faint\">for <time[^>]*>3[4-9] s</time>", page)
    told = re.findall(r"<span>([^<]+) <code>(\w+)</code></span></li>", page)
    assert told[-2:] == [("Its turn has come.", "in_line"), ("Door A is yours.", "gate_taken")]
    assert told[-3][1] == "submit_retry"


def test_the_age_of_what_is_shown_is_a_number_at_once(people: People, bob: Client) -> None:
    factory.publish()
    assert "as of 0 s ago" in get(bob, factory.waiting(people.bob))


def many(people: People) -> Submission:
    """205 queries, of which the 3rd and the 150th have hits."""
    odd = "WCWCHMWYCWHM" * 2
    found = demo.text("hbb_human").partition("\n")[2]
    text = "".join(f">q{n}\n{found if n in (3, 150) else odd}\n" for n in range(1, 206))
    return factory.completed(people.bob, text, options={"task": "blastp", "evalue": "1e-20"})


def numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'<td class="num">(\d+)</td>\s*<td class="title">', page)]


def test_every_page_of_queries_can_be_reached(people: People, bob: Client) -> None:
    row = many(people)
    third = get(bob, row, "?query=150")
    assert numbers(third) == list(range(101, 201))
    before = re.search(r'aria-label="Pages of queries">\s*<a href="([^"]+)">Before', third)
    assert before
    assert numbers(get(bob, row, before[1].replace("&amp;", "&"))) == list(range(1, 101))
    assert "q150 " in third and numbers(get(bob, row)) == list(range(1, 101))


def test_choosing_a_query_moves_the_mark_and_the_address(people: People, bob: Client) -> None:
    row = factory.completed(people.bob)
    answer = bob.get(reverse("hits", args=[row.key]) + "?query=2&sort=bits", headers={"HX-Request": "true"})
    part = answer.content.decode()
    assert answer.headers["HX-Replace-Url"] == reverse("search", args=[row.key]) + "?query=2&sort=bits"
    assert re.search(r'<details class="queries" id="queries" open hx-swap-oob="true">', part)
    marked = re.findall(r'<tr class="current" aria-current="true"><td class="num">(\d+)</td>', part)
    assert marked == ["2"]
    assert 'id="by-bits"' in part and 'id="query-1"' in part


def test_a_bar_of_the_picture_leads_to_its_row_wherever_that_is(
    people: People, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = factory.completed(people.bob)
    monkeypatch.setattr(results, "HITS", 10)
    page = get(bob, row, "?query=1&page=2")
    links = re.findall(r'<a href="([^"]+)" tabindex="-1">', page)
    assert len(links) > 20 and 'role="img" aria-labelledby="coverage' not in page
    here = [link for link in links if link.startswith("#")]
    assert len(here) == 10 and all(f'id="{link[1:]}"' in page for link in here)
    for link in links[:1] + links[-1:]:
        assert f'id="{link.partition("#")[2]}"' in get(bob, row, link.partition("#")[0].replace("&amp;", "&"))


def test_the_results_of_two_selections_are_two_pieces(people: People) -> None:
    """One rendering is kept for all who see the same: another query is not the same."""
    row = factory.completed(people.bob)
    viewer = pages.viewer_of(people.bob)
    first, second = (
        pages.pieces(pages.subject("search", viewer, row.key, query))["results"] for query in ("", "query=2")
    )
    assert first.mark != second.mark and first.push() != second.push()


def test_my_searches_are_filtered_by_the_address(people: People, bob: Client) -> None:
    factory.running(people.bob, title="Running one")
    factory.submission(people.bob, status=Status.FAILED, phase=Phase.ENDED, title="Failed one")

    def titles(query: str) -> set[str]:
        page = bob.get(reverse("searches") + query).content.decode()
        return {title for title in ("Running one", "Failed one") if title in page}

    assert titles("") == {"Running one", "Failed one"}
    assert titles("?show=live") == {"Running one"}
    assert titles("?show=failed") == {"Failed one"}
    assert titles("?q=failed") == {"Failed one"}
    assert titles("?show=%22%3E&page=-3&q=one") == {"Running one", "Failed one"}


def test_an_empty_list_teaches_the_next_step(bob: Client) -> None:
    assert "Try the example" in bob.get(reverse("searches")).content.decode()
    assert "No search fits" in bob.get(reverse("searches") + "?q=xyz").content.decode()
