"""New search: what is wrong is said beside its field, keeps what was typed, and starts nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from submits import demo, live
from submits.models import Database, Submission
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


def test_two_people_with_the_same_form_key_are_two_searches(people: People, bob: Client) -> None:
    send(bob)
    send(people.client(people.eve))
    assert Submission.objects.count() == 2


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


def test_an_option_that_is_not_on_the_list_is_refused_by_name(bob: Client) -> None:
    answer = send(bob, outfmt="5", word_size="2", num_threads="")
    assert answer.status_code == 422
    assert Submission.objects.count() == 0
    found = re.search(r'<ul class="findings" id="stray-findings">.*?</ul>', text_of(answer), re.S)
    assert found and "“outfmt”" in found[0] and "“word_size”" in found[0] and "num_threads" not in found[0]


def test_a_right_search_has_the_options_of_the_list_and_no_others(bob: Client) -> None:
    send(bob)
    assert set(Submission.objects.get().options) == {"task", "evalue", "max_target_seqs", "low_complexity"}


def test_control_characters_reach_no_column(bob: Client) -> None:
    assert send(bob, title="A\0B\x07C\x9b", form_key="k\0" * 16, database="glo\0bins").status_code == 302
    row = Submission.objects.get()
    assert (row.title, row.database.key) == ("ABC", "globins")
    assert "\0" not in row.form_key and row.form_key.startswith("k" * 16)
    assert bob.get(reverse("new"), {"from": f"\0{row.key}"}).status_code == 200
    assert row.key in text_of(bob.get(reverse("searches"), {"q": "A\0B"}))


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


def test_a_database_that_was_damaged_since_says_what_is_wrong_with_it(bob: Client) -> None:
    Database.objects.filter(key="lambda").update(ready=False, trouble="it is damaged or half copied: l.nsq is missing.")
    answer = send(bob, query=GENE, database="lambda")
    words = "“Phage lambda genome” is not offered any more: it is damaged or half copied: l.nsq is missing."
    assert answer.status_code == 422 and words in text_of(answer)


def test_a_database_that_no_node_can_hold_is_marked_and_refused(bob: Client, settings: Settings) -> None:
    Database.objects.filter(key="globins").update(letters=252 * 2**30 / 1.1)
    health = live.empty_view(3)["health"]
    factory.publish(health=health)
    assert send(bob).status_code == 302, "nobody knows how large the nodes are"
    factory.publish(health={**health, "largest_node": 64 * 1024})
    assert "too large for this cluster" in text_of(bob.get(reverse("new")))
    answer = send(bob, form_key="b" * 32)
    words = "“Globins (45 proteins)” can never fit: a batch needs 252 GiB of memory, and the largest node has 64 GiB."
    assert answer.status_code == 422 and words in text_of(answer)
    assert send(bob, form_key="b" * 32, query=GENE, database="lambda").status_code == 302
    settings.COORDUI_NODE_MEMORY_GIB = 300
    assert send(bob, form_key="c" * 32).status_code == 302, "an administrator knows better"
    assert "too large" not in text_of(bob.get(reverse("new")))


def test_taxonomy_ids_are_refused_where_nobody_knows_species(bob: Client) -> None:
    for flag in ("-taxids", "-negative_taxids"):
        answer = send(bob, flags=f"{flag} 9606")
        words = (
            f"{flag} needs a database that knows the species of its sequences, and “Globins (45 proteins)” does not."
        )
        assert answer.status_code == 422 and words in text_of(answer)
    for known in (True, None):
        Database.objects.update(taxonomy=known)
        assert send(bob, flags="-taxids 9606", form_key=str(known) * 8).status_code == 302


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
    page = text_of(bob.post(reverse("look"), {"query": GENE, "database": "globins", "program": "blastp"}))
    assert '<ul class="findings">' in page and "nucleotide" in page


def test_the_exact_command_can_be_seen_before_and_without_javascript(bob: Client) -> None:
    answer = send(bob, flags="-word_size 6 -max_hsps 2", evalue="1e-9", show="command")
    page = text_of(answer)
    assert answer.status_code == 200 and Submission.objects.count() == 0
    assert (
        "blastp -task blastp -evalue 1e-09 -max_target_seqs 100 -seg no -word_size 6 -max_hsps 2 -query query.fa "
        "-parse_deflines -db globins -num_threads 1 -outfmt 11 -out hits.asn"
    ) in page
    assert 'value="-word_size 6 -max_hsps 2"' in page and "MVLSPADKTNVKAAWGKVG" in page
    assert '<noscript><button name="show"' in text_of(bob.get(reverse("new")))
    assert send(bob, flags="-word_size 6", evalue="1e-9").status_code == 302
    assert Submission.objects.get().options["flags"] == "-word_size 6"


def test_an_earlier_search_can_be_changed(bob: Client, people: People) -> None:
    send(bob, title="Once", evalue="7")
    page = text_of(bob.get(f"{reverse('new')}?from={Submission.objects.get().key}"))
    assert "MVLSPADKTNVKAAWGKVG" in page and 'value="Once"' in page and 'value="7"' in page


def strict(people: People) -> tuple[Client, str]:
    """A browser that is held to its tokens, and the token of the form it has open."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(people.bob)
    return client, token_in(client.get(reverse("new")))


def token_in(answer: Any) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', text_of(answer))
    assert found
    return found[1]


def test_a_form_from_before_the_last_sign_in_comes_back_with_its_content_and_works(people: People) -> None:
    client, old = strict(people)
    client.post(reverse("signin"), {"username": "bob", "password": "hush"})
    client.cookies.pop("coordui_csrf")
    client.force_login(people.bob)
    typed = {"title": "Kept & safe", "evalue": "1e-7", "csrfmiddlewaretoken": old}
    answer = send(client, **typed)
    page = text_of(answer)
    assert answer.status_code == 403 and Submission.objects.count() == 0
    assert "This form was too old" in page and "This is not for you to see" not in page
    assert "MVLSPADKTNVKAAWGKVG" in page and 'value="Kept &amp; safe"' in page and 'value="1e-7"' in page
    assert f'name="form_key" value="{"k" * 32}"' in page and '<option value="globins" selected>' in page
    assert send(client, **{**typed, "csrfmiddlewaretoken": token_in(answer)}).status_code == 302
    assert Submission.objects.get().title == "Kept & safe"


def test_a_file_in_a_form_that_was_too_old_comes_back_in_the_box(people: People) -> None:
    client, _ = strict(people)
    page = text_of(send(client, query="", file=SimpleUploadedFile("mine.fa", PROTEIN.encode())))
    assert "This form was too old" in page and "MVLSPADKTNVKAAWGKVG" in page and "“mine.fa”" in page


def test_a_form_that_was_too_old_and_nobody_signed_in_leads_to_the_sign_in(people: People) -> None:
    answer = send(Client(enforce_csrf_checks=True))
    assert answer.status_code == 302 and answer.headers["Location"] == "/signin/?next=/"


def test_what_another_site_sends_is_refused_and_not_shown(people: People) -> None:
    client, token = strict(people)
    answer = client.post(
        reverse("new"),
        {"query": PROTEIN, "database": "globins", "csrfmiddlewaretoken": token},
        headers={"Origin": "https://evil.example"},
    )
    assert answer.status_code == 403
    assert "This form came from elsewhere" in text_of(answer) and "MVLSPADK" not in text_of(answer)
    assert Submission.objects.count() == 0


def test_another_old_form_says_so_too(people: People) -> None:
    client, _ = strict(people)
    answer = client.post(reverse("signout"))
    assert answer.status_code == 403 and "This form was too old" in text_of(answer)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "Nobody waits: it goes straight in."),
        ({"drained": True}, "An operator has stopped new searches"),
        ({"gate": "unknown"}, "The gates are not seen"),
    ],
)
def test_where_it_would_stand_is_told_without_a_wait_there_is_not(
    people: People, bob: Client, values: dict[str, Any], told: str
) -> None:
    for _ in range(5):
        factory.running(people.eve, finished_at=timezone.now())
    factory.publish(**values)
    page = text_of(bob.get(reverse("new")))
    assert told in page and "Usually" not in page


def test_a_usual_wait_is_told_to_who_would_wait(people: People, bob: Client) -> None:
    for _ in range(5):
        factory.running(people.eve, finished_at=timezone.now())
    factory.publish(gate="B_full", active=3, slots=[factory.slot(None, ago=n) for n in (1, 2, 3)])
    assert "It would be first in line. Usually less than a minute." in text_of(bob.get(reverse("new")))
