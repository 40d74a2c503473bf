"""New search: what is wrong is said beside its field, keeps what was typed, and starts nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from submits import demo
from submits.models import Submission
from submits.scopes import store
from submits.work import run_key
from tests.views import factory
from tests.views.conftest import People

PROTEIN = ">p1 a protein\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKK\n"
GENE = ">g1\nACGTACGTTGCAACGTGATCGATCGATTAGCATCGATCGATCAGCTAGCATCGATCAGCATCGACTA\n"


@pytest.fixture(autouse=True)
def databases(people: People) -> None:
    factory.database("globins")
    factory.database("lambda")


def send(client: Client, **values: object) -> Any:
    return client.post(reverse("new"), {"query": PROTEIN, "database": "globins", "form_key": "k" * 32, **values})


def text_of(answer: Any) -> str:
    return str(answer.content.decode())


def test_a_search_is_received_and_its_page_opened(bob: Client, people: People) -> None:
    answer = send(bob, title="  My  first ", evalue="1e-5")
    row = Submission.objects.get()
    assert answer.status_code == 302
    assert answer.headers["Location"] == reverse("search", args=[row.key])
    assert (row.owner, row.title, row.program, row.status) == (people.bob, "My first", "blastp", "queued")
    assert row.options["evalue"] == "1e-05"
    assert store().get(run_key(row.run_id, "query.fa")).decode() == PROTEIN
    assert row.events.count() == 1


def test_without_a_title_the_first_sequence_names_it(bob: Client) -> None:
    send(bob, query=PROTEIN + PROTEIN.replace("p1", "p2"))
    assert Submission.objects.get().title == "p1 and 1 more"


def test_the_same_form_sent_twice_is_one_search(bob: Client) -> None:
    assert send(bob).headers["Location"] == send(bob).headers["Location"]
    assert Submission.objects.count() == 1


def test_the_same_form_with_another_query_in_it_is_another_search(bob: Client) -> None:
    send(bob)
    send(bob, query=PROTEIN.replace("MVLSP", "MVLSA"))
    assert Submission.objects.count() == 2


def test_two_people_with_the_same_form_key_are_two_searches(people: People, bob: Client) -> None:
    send(bob)
    send(people.client(people.eve))
    assert Submission.objects.count() == 2


BAD = [
    ("query", {"query": ""}),
    ("query", {"query": "   \n "}),
    ("query", {"query": ">only a header\n"}),
    ("query", {"query": "@r1\nACGT\n+\nIIII\n"}),
    ("program", {"program": "blastn", "database": "lambda"}),
    ("program", {"program": "rm -rf"}),
    ("database", {"database": "nothing-here"}),
    ("database", {"database": ""}),
    ("database", {"query": GENE, "program": "blastn"}),
    ("evalue", {"evalue": "1e-5; id"}),
    ("evalue", {"evalue": "-1"}),
    ("evalue", {"evalue": "1e400"}),
    ("max_target_seqs", {"max_target_seqs": "0"}),
    ("max_target_seqs", {"max_target_seqs": "many"}),
    ("task", {"task": "megablast"}),
    ("task", {"task": "-out x"}),
    ("low_complexity", {"low_complexity": "perhaps"}),
]


@pytest.mark.parametrize(("field", "values"), BAD)
def test_what_is_wrong_is_said_beside_its_field_and_starts_nothing(
    bob: Client, field: str, values: dict[str, str]
) -> None:
    answer = send(bob, **values)
    assert answer.status_code == 422
    assert Submission.objects.count() == 0
    assert re.search(rf'<ul class="findings" id="{field}-findings"><li>.+?</li>', text_of(answer), re.S)


def test_everything_typed_is_kept(bob: Client) -> None:
    typed = {"title": "A & B <i>", "evalue": "nonsense", "max_target_seqs": "17", "low_complexity": "yes"}
    page = text_of(send(bob, **typed, query=PROTEIN + ">more\n", program="blastp"))
    assert "MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKK" in page
    assert 'value="A &amp; B &lt;i&gt;"' in page and "<i>" not in page
    assert 'value="nonsense"' in page and 'value="17"' in page
    assert '<option value="yes" selected>' in page and '<option value="blastp" selected>' in page
    assert '<option value="globins" selected>' in page
    assert f'name="form_key" value="{"k" * 32}"' in page


def test_a_first_newline_of_what_was_typed_is_kept(bob: Client) -> None:
    """HTML drops one newline after <textarea>; the template writes one for it."""
    assert "<textarea" in (page := text_of(send(bob, query="\n\n" + PROTEIN, evalue="x")))
    assert re.search(r"<textarea[^>]*>\n\n\n&gt;p1", page)


def test_a_file_counts_before_the_box(bob: Client) -> None:
    file = SimpleUploadedFile("mine.fa", b"\xef\xbb\xbf" + PROTEIN.replace("p1", "of_the_file").encode())
    assert send(bob, query="", file=file).status_code == 302
    assert Submission.objects.get().title.startswith("of_the_file")


def test_a_file_with_a_mistake_comes_back_in_the_box(bob: Client) -> None:
    page = text_of(send(bob, query="", file=SimpleUploadedFile("mine.fa", b">a\nACDEF!GHIKLMNPQ\n")))
    assert "ACDEF!GHIKLMNPQ" in page
    assert "mine.fa" in page


def test_a_file_over_the_limit_is_refused_by_name_and_size(bob: Client, settings: Settings) -> None:
    settings.COORDUI_MAX_QUERY_BYTES = 1000
    answer = send(bob, file=SimpleUploadedFile("big.fa", b"A" * 1001), title="kept")
    assert answer.status_code == 422
    page = text_of(answer)
    assert "“big.fa” has 1,001 bytes; one search may bring 1,000" in page and 'value="kept"' in page
    assert Submission.objects.count() == 0


def test_an_option_that_is_not_on_the_list_is_ignored_with_the_rest_of_the_form(bob: Client) -> None:
    send(bob, out="/etc/passwd", num_threads="64")
    assert set(Submission.objects.get().options) == {"task", "evalue", "max_target_seqs", "low_complexity"}


def test_another_scopes_database_is_not_known(bob: Client) -> None:
    from submits.models import Cluster, Database

    elsewhere = Cluster.objects.create(name="elsewhere")
    Database.objects.filter(key="lambda").update(scope=elsewhere)
    assert send(bob, query=GENE, database="lambda").status_code == 422


def test_a_database_that_is_not_ready_is_not_offered(bob: Client) -> None:
    from submits.models import Database

    Database.objects.filter(key="lambda").update(ready=False)
    assert "Phage lambda" not in text_of(bob.get(reverse("new")))
    assert send(bob, query=GENE, database="lambda").status_code == 422


def test_the_example_fills_the_form(bob: Client) -> None:
    page = text_of(bob.get(reverse("new") + "?example=1"))
    assert demo.EXAMPLE.query().split("\n")[1] in page
    assert '<option value="globins" selected>' in page


def test_the_form_says_what_would_be_run(bob: Client) -> None:
    factory.publish()
    answer = bob.post(reverse("look"), {"query": PROTEIN, "database": "globins", "evalue": "1e-9"})
    page = text_of(answer)
    assert "blastp -task blastp -evalue 1e-09" in page
    assert "1 sequence, 62 letters of protein" in page
    assert "e-value <b>1e-09</b>" in page
    assert "Nobody waits: it goes straight in." in page
    assert Submission.objects.count() == 0


def test_the_form_says_what_stands_in_the_way(bob: Client) -> None:
    page = text_of(bob.post(reverse("look"), {"query": GENE, "database": "globins"}))
    assert '<ul class="findings">' in page and "nucleotide" in page


def test_an_earlier_search_can_be_changed(bob: Client, people: People) -> None:
    send(bob, title="Once", evalue="7")
    page = text_of(bob.get(f"{reverse('new')}?from={Submission.objects.get().key}"))
    assert "MVLSPADKTNVKAAWGKVG" in page and 'value="Once"' in page and 'value="7"' in page


def test_a_form_from_elsewhere_is_refused(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.bob)
    assert send(client).status_code == 403
    assert Submission.objects.count() == 0
