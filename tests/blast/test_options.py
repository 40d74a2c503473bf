from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from submits.blast.findings import Findings
from submits.blast.options import KEYS, Options, default, parse
from submits.blast.programs import PROGRAMS

BLASTN, BLASTP = PROGRAMS["blastn"], PROGRAMS["blastp"]

# What people, and others, have put where options go. None may become an argument of a program.
HOSTILE = [
    "-out x", "-outfmt 5 -outfmt 6", "-db other", "-query y", "-num_threads 64", "-remote", "-export_search_strategy s",
    "-logfile l", "-import_search_strategy /etc/passwd", "-subject /etc/hostname", "-seqidlist=/etc/passwd", "-h",
    "-version", "-html", "--outfmt 6", "-evalue 1e400", "-evalue -1", '-evalue "1', "-query_loc 50-10", "$(id)",
    "`id`", "-evalue 1 > x", "-evalue 1 #", "-evalue 1\n  x: y", "\u2212evalue 1", "-EVALUE 1", "x'; id; '",
]  # fmt: skip


def test_defaults_are_the_programs_own() -> None:
    assert default(BLASTN) == Options("megablast", 0.05, 100, True)
    assert default(BLASTP) == Options("blastp", 0.05, 100, False)
    assert parse(BLASTP, {}) == default(BLASTP) == parse(BLASTP, dict.fromkeys(KEYS, " "))


def test_arguments_are_one_item_each() -> None:
    options = parse(BLASTN, {"task": "dc-megablast", "evalue": "1e-10", "max_target_seqs": "7", "low_complexity": "no"})
    assert isinstance(options, Options)
    assert options.argv(BLASTN) == [
        "-task", "dc-megablast", "-evalue", "1e-10", "-max_target_seqs", "7", "-dust", "no",
    ]  # fmt: skip
    assert default(BLASTP).argv(BLASTP)[-2:] == ["-seg", "no"]


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("evalue", "0", "above 0"),
        ("evalue", "-1", "above 0"),
        ("evalue", "1e400", "above 0"),
        ("evalue", "1e-400", "above 0"),
        ("evalue", "nan", "above 0"),
        ("evalue", "inf", "above 0"),
        ("evalue", "1_0", "above 0"),
        ("evalue", "\u0661", "above 0"),
        ("evalue", "\u22121", "above 0"),
        ("evalue", "0x10", "above 0"),
        ("max_target_seqs", "0", "1 to 5000"),
        ("max_target_seqs", "5001", "1 to 5000"),
        ("max_target_seqs", "1.5", "1 to 5000"),
        ("max_target_seqs", "9" * 30, "1 to 5000"),
        ("task", "MegaBLAST", "Did you mean “megablast”"),
        ("task", "blastp", "not a task of blastn"),
        ("low_complexity", "maybe", "either yes or no"),
        ("word_size", "7", "not one that can be set"),
    ],
)
def test_what_is_not_allowed_is_named(key: str, value: str, words: str) -> None:
    findings = parse(BLASTN, {key: value})
    assert isinstance(findings, Findings)
    assert [finding.field for finding in findings] == [key]
    assert words in findings[0].sentence


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("key", [*KEYS, "extra"])
def test_hostile_text_never_becomes_an_argument(key: str, text: str) -> None:
    assert isinstance(parse(BLASTN, {key: text}), Findings)
    assert isinstance(parse(BLASTN, {text: "1"}), Findings)


@given(st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=8)), st.text(max_size=12), max_size=5))
def test_every_accepted_option_is_one_of_a_known_few(given_options: dict[str, str]) -> None:
    options = parse(BLASTN, given_options)
    if isinstance(options, Options):
        assert set(given_options) <= set(KEYS)
        assert options.task in BLASTN.tasks
        assert 0 < options.evalue < math.inf and 1 <= options.max_target_seqs <= 5000
        flags, values = options.argv(BLASTN)[::2], options.argv(BLASTN)[1::2]
        assert flags == ["-task", "-evalue", "-max_target_seqs", "-dust"]
        assert float(values[1]) == options.evalue


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 5000), st.booleans())
def test_options_survive_the_form(evalue: float, most: int, masked: bool) -> None:
    options = Options("blastp-fast", evalue, most, masked)
    assert parse(BLASTP, options.text()) == options


def test_chips_show_what_differs() -> None:
    assert default(BLASTN).changed(BLASTN) == {}
    assert Options("blastn", 10, 100, True).changed(BLASTN) == {"task": "blastn", "evalue": "10"}
