from __future__ import annotations

import json
import math
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts import blast_facts
from submits.blast import known
from submits.blast.facts import DatabaseFacts
from submits.blast.findings import Findings
from submits.blast.flags import PERMITTED, REFUSED, permitted
from submits.blast.options import KEYS, Options, default, parse
from submits.blast.programs import PROGRAMS, Program, executable
from tests.blast.asking import accepted, ask
from tests.world import SCALE

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
    for program in PROGRAMS.values():
        known_default = known.flags(program.name)[program.filter.removeprefix("-")]["default"]
        assert program.filtered is (known_default != "no"), program.name
        listed = known.flags(program.name).get("task", {"choices": [], "default": ""})
        assert set(program.tasks) == set(listed["choices"]) - {"rmblastn"}
        assert (program.tasks or ("",))[0] == listed["default"]


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
        ("flags", "-out x", "-out cannot be set here"),
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
        flags, values = options.argv(BLASTN)[:8:2], options.argv(BLASTN)[1:8:2]
        assert flags == ["-task", "-evalue", "-max_target_seqs", "-dust"]
        assert float(values[1]) == options.evalue


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 5000), st.booleans())
def test_options_survive_the_form(evalue: float, most: int, masked: bool) -> None:
    options = Options("blastp-fast", evalue, most, masked)
    assert parse(BLASTP, options.text()) == options


def read(program: Program, text: str, **fields: str) -> Options:
    options = parse(program, {"flags": text, **fields})
    assert isinstance(options, Options), options
    return options


def refusal(program: Program, text: str, **fields: str) -> str:
    findings = parse(program, {"flags": text, **fields})
    assert isinstance(findings, Findings), findings
    assert {finding.field for finding in findings} == {"flags"}
    return " ".join(finding.sentence for finding in findings)


def test_typed_flags_are_written_anew_in_the_order_of_the_help() -> None:
    options = read(BLASTN, "  -max_hsps 03 -dust '20  64 1'\n-word_size 7 -lcase_masking -perc_identity 9e1")
    assert options.argv(BLASTN) == [
        "-task", "megablast", "-evalue", "0.05", "-max_target_seqs", "100", "-word_size", "7", "-dust", "20 64 1",
        "-lcase_masking", "-perc_identity", "90", "-max_hsps", "3",
    ]  # fmt: skip
    assert parse(BLASTN, options.text()) == options
    assert options.changed(BLASTN) == {"flags": options.text()["flags"]}


def test_a_flag_with_a_field_of_its_own_is_taken_for_it() -> None:
    options = read(BLASTN, "-task blastn -evalue 1 -max_target_seqs 7 -dust no")
    assert options == Options("blastn", 1.0, 7, False)
    assert "both are filled in" in refusal(BLASTN, "-evalue 1", evalue="2")
    assert "both are filled in" in refusal(BLASTN, "-dust no", low_complexity="yes")


@pytest.mark.parametrize(
    ("program", "text", "words"),
    [
        ("blastn", "-outfmt 6 std qlen", "-outfmt cannot be set here: the format is chosen when"),
        ("blastn", "-num_threads 64", "-num_threads cannot be set here"),
        ("blastn", "-remote", "it searches at NCBI"),
        ("blastn", "-seqidlist=/etc/passwd", "it reads or writes a file"),
        ("psiblast", "-num_iterations 3", "every query is searched once"),
        ("blastn", "-word_size 7-task blastn", "-word_size takes a whole number from 4; “7-task” is not"),
        ("blastn", "-word_size=7", "write a space between"),
        ("blastn", "-WORD_SIZE 7", "Did you mean -word_size? Upper and lower case matter"),
        ("blastn", "\u2212word_size 7", "Did you mean -word_size? An option begins with one plain hyphen"),
        ("blastn", "--word_size 7", "begins with one plain hyphen"),
        ("blastn", "-word_size", "needs a whole number from 4 after it"),
        ("blastn", "-word_size 7 -word_size 8", "is there twice"),
        ("blastn", "word_size 7", "Did you mean -word_size?"),
        ("blastn", "7 megablast", "options begin with a hyphen"),
        ("blastp", "-matrix IDENTITY -word_size 6", "With the matrix IDENTITY"),
        ("blastn", "-seg yes", "“-seg” is not an option of blastn"),
        ("blastp", "-dust yes", "“-dust” is not an option of blastp"),
        ("blastp", "-seg YES", "three numbers in quotes"),
        ("blastp", "-matrix NONE", "one of BLOSUM45"),
        ("blastx", "-matrix IDENTITY", "one of BLOSUM45"),
        ("blastp", "-word_size 8", "from 2 to 7"),
        ("psiblast", "-word_size 6", "from 2 to 5"),
        ("blastp", "-gapopen 3", "BLOSUM62 has no gap costs 3/1"),
        ("blastp", "-matrix PAM30 -gapopen 11 -gapextend 1", "It has: 7/2"),
        ("blastn", "-gapopen 5", "no gap costs 5/0"),
        ("blastn", "-reward 7 -penalty -1", "no statistics for -reward 7 with -penalty -1"),
        ("blastn", "-penalty -1", "a gap must cost something"),
        ("blastn", "-no_greedy", "without -no_greedy"),
        ("blastn", "-template_type coding", "-template_type needs -template_length"),
        ("blastn", "-template_type coding -template_length 18", "belong to the task dc-megablast"),
        ("blastn", "-task dc-megablast -word_size 28", "11 or 12"),
        ("blastn", "-off_diagonal_range 5", "-window_size above 0"),
        ("blastp", "-taxids 9606 -negative_taxids 10090", "exclude each other"),
        ("blastp", "-taxids human", "taxonomy ids with commas"),
        ("blastp", "-culling_limit 1 -best_hit_overhang 0.1", "exclude each other"),
        ("blastp", "-best_hit_overhang 0.5", "above 0 below 0.5"),
        ("blastp", "-ungapped", "needs -comp_based_stats 0"),
        ("blastp", "-ungapped -comp_based_stats 0 -use_sw_tback", "exclude each other"),
        ("blastp", "-task blastp-fast -threshold 5", "-threshold is at least 11"),
        ("blastp", "-query_loc 50-10", "a part of the query"),
        ("tblastx", "-max_intron_length 5", "not an option of tblastx"),
        ("rpsblast", "-sum_stats true", "not an option of rpsblast"),
        ("blastp", "-searchsp 99999999999999999999", "a whole number from 0"),
        ("blastp", "-evalue 1 " * 300, "there may be 2,000"),
    ],
)
def test_a_refusal_says_why_and_what_instead(program: str, text: str, words: str) -> None:
    assert words in refusal(PROGRAMS[program], text)


def test_every_flag_of_blast_is_either_permitted_or_refused_for_a_reason() -> None:
    for program in PROGRAMS:
        for name in known.flags(program):
            assert (name in PERMITTED) != (name in REFUSED), f"{program} -{name}"
    assert not {
        name
        for name in PERMITTED
        for program in PROGRAMS
        if known.flags(program).get(name, {}).get("type", "")[:4] == "File"
    }


def test_what_is_known_of_blast_is_what_the_installed_one_says() -> None:
    assert blast_facts.executable("rpsblast") == executable("rpsblast")
    for program in PROGRAMS:
        text = blast_facts.run(executable(program), "-help")[1]
        said = blast_facts.flags(text)
        if "matrix" in said:
            said["matrix"]["choices"] = known.flags(program)["matrix"]["choices"]
        assert said == known.flags(program), f"{program}: run scripts/blast_facts.py again"
    assert blast_facts.columns(blast_facts.run("blastn", "-help")[1]) == list(known.columns())
    if SCALE > 1:
        assert json.loads(json.dumps(blast_facts.facts())) == known.facts()


def test_what_the_form_takes_blast_takes_too(profiles: DatabaseFacts, tmp_path: Path) -> None:
    """Chosen by chance, but the same each time; more of them in the long run."""
    for file in Path(profiles.path).parent.glob("families.*"):
        (tmp_path / file.name).symlink_to(file)
    for program in PROGRAMS.values():
        for options in islice(accepted(program, seed=SCALE), 3 * SCALE):
            done = ask(program, options.argv(program), tmp_path)
            assert done.returncode == 0, f"{program.name} {options.argv(program)}: {done.stderr[-300:]}"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_no_flag_of_any_program(text: str) -> None:
    for program in PROGRAMS.values():
        assert isinstance(parse(program, {"flags": text}), Findings)
        assert isinstance(parse(program, {"flags": f"-max_hsps 3 {text}"}), Findings)


@settings(max_examples=300)
@given(st.text(st.sampled_from("-abcdefmoprstuwz_=.'\"$`;<>|&\n 0123456789"), max_size=30))
def test_no_text_makes_an_argument_that_is_not_known(text: str) -> None:
    for name in ("blastn", "blastp"):
        options = parse(PROGRAMS[name], {"flags": text})
        if isinstance(options, Options):
            for flag, value in options.flags:
                assert flag in PERMITTED and (not value or permitted(name)[flag].read(value) == value)


def test_chips_show_what_differs() -> None:
    assert default(BLASTN).changed(BLASTN) == {}
    assert Options("blastn", 10, 100, True).changed(BLASTN) == {"task": "blastn", "evalue": "10"}
