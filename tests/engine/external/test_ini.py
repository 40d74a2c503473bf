"""The `.ini` as it was agreed, and as the program's own reader takes it."""

from __future__ import annotations

import shlex
from configparser import ConfigParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from submits.blast import table
from submits.engine.errors import EngineError, Exit
from submits.engine.external.ini import KNOWN, REFUSED, Asked, build, longest, read_given

GOLDEN = Path(__file__).parent / "elastic-blast.ini"
ADMINISTRATORS = """\
[cloud-provider]
gcp-project = our-project
gcp-region = us-east4
[cluster]
machine-type = n1-highmem-32
num-nodes = 4
labels = owner=100%%
use-preemptible = yes
[blast]
mem-limit = 60.5G
batch-len = 20000
[timeouts]
init-pv = 45
"""
ASKED = Asked(
    program="blastp",
    database="gs://bucket/db/100%/globins",
    queries="queries.fa",
    results="gs://bucket/results/job-0123/ab12",
    options=("-evalue", "1e-05", "-seg", "12 2.2 2.5", "-parse_deflines", "-outfmt", table.OUTFMT),
)


def given_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "given.ini"
    path.write_text(text)
    return path


def as_read(text: str) -> dict[str, dict[str, str]]:
    """As elastic-blast reads it: interpolation on."""
    parser = ConfigParser()
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


def test_it_is_as_it_was_agreed(tmp_path: Path) -> None:
    assert build(read_given(given_file(tmp_path, ADMINISTRATORS)), ASKED, quotes=True) == GOLDEN.read_text()


def test_what_was_meant_is_what_is_read(tmp_path: Path) -> None:
    found = as_read(build(read_given(given_file(tmp_path, ADMINISTRATORS)), ASKED, quotes=True))
    assert found["cluster"]["labels"] == "owner=100%"
    assert found["blast"]["db"] == ASKED.database
    assert tuple(shlex.split(found["blast"]["options"])) == ASKED.options
    assert found["blast"]["mem-limit"] == "60.5G"


texts = some.text(some.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=30)


@given(database=texts, results=texts)
def test_no_character_of_a_value_becomes_syntax(database: str, results: str) -> None:
    found = as_read(build({}, Asked("blastp", database, "q.fa", results, ("-evalue", "1")), quotes=True))
    assert found == {
        "blast": {"program": "blastp", "db": database, "queries": "q.fa", "results": results, "options": "-evalue 1"}
    }


@pytest.mark.parametrize(
    "word", ["$(id)", "`id`", "; rm -rf /", "a\nb: c", "'", '"', "a  b", "", "%(x)s", "{x}", "a: #b"]
)
def test_a_word_that_a_shell_or_a_manifest_would_read_is_refused(word: str) -> None:
    with pytest.raises(EngineError, match="cannot be handed to elastic-blast") as caught:
        build({}, Asked("blastp", "db", "q.fa", "gs://r", ("-evalue", word)), quotes=True)
    assert caught.value.status is Exit.INPUT


def test_an_option_that_would_be_taken_apart_is_refused() -> None:
    with pytest.raises(EngineError, match=r"takes an option of several words apart, so '12 2.2 2.5' cannot be set"):
        build({}, ASKED, quotes=False)
    assert "-outfmt 11" in build({}, Asked("blastp", "db", "q", "gs://r", ("-outfmt", "11")), quotes=False)


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "", " a", "a\0"])
def test_a_value_that_is_no_line_is_refused(value: str) -> None:
    with pytest.raises(EngineError, match=r"\[blast\] db is empty or holds a line end"):
        build({}, Asked("blastp", value, "q.fa", "gs://r", ("-evalue", "1")), quotes=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[cluster]\nnum-nodes = many\n", r"\[cluster\] num-nodes = 'many' is not a whole number from 1"),
        ("[cluster]\nnum-nodes = 0\n", "is not a whole number"),
        ("[cluster]\nnumnodes = 1\n", r"\[cluster\] numnodes is not a setting of elastic-blast"),
        ("[clusters]\nnum-nodes = 1\n", r"\[clusters\] num-nodes is not a setting of elastic-blast"),
        ("[cluster]\nreuse = perhaps\n", "is not true or false"),
        ("[blast]\nmem-limit = much\n", r"is not a size such as 0\.5G"),
        ("[blast]\ndb-memory-margin = -1\n", "is not a number"),
        ("[cloud-provider]\ngcp-project =\n", "is not a text"),
        ("[cloud-provider]\nazure-storage-account-key =\n", "azure-storage-account-key is not a text"),
        ("[cluster]\nlabels = 100%\n", "is not a configuration file"),
        ("num-nodes = 1\n", "is not a configuration file"),
    ],
)
def test_an_administrators_file_is_read_strictly(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(EngineError, match=sentence):
        read_given(given_file(tmp_path, text))


@pytest.mark.parametrize(("section", "key"), REFUSED)
def test_what_belongs_to_a_search_is_refused_with_the_reason(tmp_path: Path, section: str, key: str) -> None:
    with pytest.raises(EngineError, match=f"{key} cannot be given: {REFUSED[section, key]}"):
        read_given(given_file(tmp_path, f"[{section}]\n{key} = 1\n"))
    assert key not in KNOWN[section]


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be read: No such file"):
        read_given(tmp_path / "none.ini")


def test_how_long_a_search_may_take_is_what_it_says_or_the_programs_own_week() -> None:
    assert longest({}) == (45 + 10_080) * 60
    assert longest({"timeouts": {"blast-k8s-job": "30000"}}) == (45 + 30_000) * 60
    assert longest({"timeouts": {"blast-k8s-job": "60", "init-pv": "90"}}) == 150 * 60
