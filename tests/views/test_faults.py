"""New search: what is wrong is said beside its field, all of it at once, and starts nothing."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from submits.models import Database, Submission
from tests.views.test_new import GENE, PROTEIN, databases, send, text_of

__all__ = ["databases"]

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
    ("flags", {"flags": "-out x"}),
    ("flags", {"flags": "-gapopen 3"}),
]


@pytest.mark.parametrize(("field", "values"), BAD)
def test_what_is_wrong_is_said_beside_its_field_and_starts_nothing(
    bob: Client, field: str, values: dict[str, str]
) -> None:
    answer = send(bob, **values)
    assert answer.status_code == 422
    assert Submission.objects.count() == 0
    assert re.search(rf'<ul class="findings" id="{field}-findings"><li>.+?</li>', text_of(answer), re.S)


def marked(page: str) -> list[str]:
    """The ids of the fields that are marked as wrong, in reading order; each has its sentences and takes the focus."""
    tags = re.findall(r"<(?:textarea|input|select)[^>]*aria-invalid[^>]*>", page)
    assert all(" autofocus " in tag for tag in tags)
    ids = re.findall(r' aria-describedby="(\w+)-findings"', "".join(tags))
    assert all(f' id="{id}"' in tag for id, tag in zip(ids, tags, strict=True))
    assert all(f'<ul class="findings" id="{id}-findings"><li>' in page for id in ids)
    return ids


def test_all_that_is_wrong_is_said_at_once_each_beside_its_field(bob: Client, settings: Settings) -> None:
    wrong = {"evalue": "lots", "flags": "-out x", "max_target_seqs": "0", "low_complexity": "perhaps"}
    fields = ["evalue", "max_target_seqs", "low_complexity", "flags"]
    answer = send(bob, query=">only a header\n", **wrong)
    assert answer.status_code == 422 and marked(text_of(answer)) == ["query", *fields]
    assert marked(text_of(send(bob, database="nothing-here", **wrong))) == ["database", *fields]
    Database.objects.filter(key="lambda").update(ready=False, trouble="it is damaged.")
    page = text_of(send(bob, query="", database="lambda", program="blastz", **wrong))
    assert marked(page) == ["query", "database", "program", *fields]
    assert "it is damaged." in page and "There is no database" not in page
    settings.COORDUI_MAX_TYPED_BYTES = 10
    page = text_of(send(bob, task="megablast", **wrong))
    assert marked(page) == ["query", "task", *fields]
    assert "bytes in the box; it takes 10" in page and "nothing to search with" not in page
    typed = {"query": PROTEIN, "database": "globins", **wrong}
    said = bob.post(reverse("new"), typed, headers={"Accept": "application/json"}).json()["error"]["message"]
    assert all(words in said for words in ("bytes in the box", "“lots” is not", "-out cannot", "either yes or no"))
    assert Submission.objects.count() == 0
    assert marked(text_of(bob.get(reverse("new")))) == []
