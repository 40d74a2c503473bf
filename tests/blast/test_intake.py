from __future__ import annotations

import pytest

from submits.blast.facts import DatabaseFacts
from submits.blast.findings import Findings
from submits.blast.intake import Guess, Limits, Search, guess, read_search

DNA = "AGAGTTTTTCGAACTCGTGTTGTCGAGCGACGGAATTAGATCAGTTAAATGGCAGAAAACTGGCAGGGC"
PROTEIN = "MKIPNIGNVMNKFEILGVVGEGAYGVVLKCRHKETHEIVAIKKF"
NUCL = DatabaseFacts("phage", "Phage", "/db/phage", "nucl", 1, 48502, "2026-01-01T00:00")
RPS = DatabaseFacts("families", "Families", "/db/families", "rps", 45, 6519, "2026-01-01T00:00")
PROT = DatabaseFacts("globins", "Globins", "/db/globins", "prot", 45, 6519, "2026-01-01T00:00")


def good(text: str, database: DatabaseFacts | None, program: str | None = None, **options: str) -> Search:
    search = read_search(text, program=program, database=database, options=options)
    assert isinstance(search, Search), search
    return search


def bad(text: str | bytes, database: DatabaseFacts | None, program: str | None = None, **options: str) -> Findings:
    findings = read_search(text, program=program, database=database, options=options, limits=Limits(2000, 3, 500, 200))
    assert isinstance(findings, Findings), findings
    return findings


def test_the_program_is_proposed_from_query_and_database() -> None:
    assert good(f">q\n{DNA}", NUCL).argv() == [
        "blastn", "-task", "megablast", "-evalue", "0.05", "-max_target_seqs", "100", "-dust", "yes",
    ]  # fmt: skip
    search = good(f">q\n{PROTEIN}\n>r\n{PROTEIN}", PROT, task="blastp-fast")
    assert (search.program, search.task, search.molecule, search.letters) == ("blastp", "blastp-fast", "prot", 88)


@pytest.mark.parametrize(
    ("text", "database", "program", "field", "words"),
    [
        (PROTEIN, NUCL, "blastn", "program", "blastn takes nucleotide sequences, but this looks like protein"),
        (PROTEIN, PROT, "blastn", "program", "Choose blastp for it"),
        (DNA, PROT, "blastp", "program", "blastp takes protein sequences, but this looks like nucleotide"),
        (DNA, PROT, "rpsblast", "program", "Choose blastx for it"),
        (PROTEIN, PROT, "rpsblast", "database", "rpsblast searches profile databases, but “Globins” holds protein"),
        (PROTEIN, RPS, "blastp", "database", "holds profiles of families. Choose another database, or rpsblast"),
        (DNA, PROT, "blastn", "database", "“Globins” holds protein sequences"),
        (DNA, NUCL, "blastz", "program", "There are: blastn, blastp"),
        (DNA, NUCL, "rm -rf /", "program", "not a program"),
        (DNA, None, "blastn", "database", "Choose a database to search in."),
        (f">n\n{DNA}\n>p\n{PROTEIN}", NUCL, None, "query", "sequence 1 is nucleotide, 2 is protein"),
        (f">q\n{DNA}E{DNA}", NUCL, None, "query", "has “E” at position 70"),
        (f">q\n{DNA}*", NUCL, None, "query", "has “*” at position 70"),
        ("", NUCL, None, "query", "nothing to search with"),
    ],
)
def test_what_does_not_fit_says_what_to_do(
    text: str, database: DatabaseFacts | None, program: str | None, field: str, words: str
) -> None:
    findings = bad(text, database, program)
    assert findings[0].field == field
    assert words in findings[0].sentence


def test_a_database_that_is_not_there_is_named() -> None:
    findings = read_search(DNA, program=None, database=None, options={}, asked="old\x07one")
    assert isinstance(findings, Findings)
    assert findings[0].sentence.startswith("There is no database “old\ufffdone” here")


def test_a_name_of_several_sequences_is_no_reason_to_refuse() -> None:
    notices = good(f">a\n{DNA}\n>b\n{DNA}\n>a\n{DNA}", NUCL).notices
    assert notices == ("“a” is the name of 2 sequences: tell them apart by their numbers.",)
    notices = good(f">a\n{DNA}\n>b\n{DNA}\n" * 2, NUCL).notices
    assert notices[0].startswith("“a” is the name of 2 sequences, and other names are shared too")


def test_limits_say_how_much_there_is_and_how_much_may_be() -> None:
    assert "4 sequences; one search may bring 3" in bad(f">q\n{DNA}\n" * 4, NUCL)[0].sentence
    assert "207 letters; one sequence may have 200" in bad(f">a\n{DNA}\n>b\n{DNA * 3}", NUCL)[0].sentence
    assert bad(f">a\n{DNA}\n>b\n{DNA * 3}", NUCL)[0].line == 3
    assert "bytes" in bad("é" * 1001, NUCL)[0].sentence
    assert "bytes" in bad(b"A" * 2001, NUCL)[0].sentence


def test_findings_of_query_and_options_come_together() -> None:
    fields = bad(f">q\n{DNA}*", NUCL, evalue="x", nosuch="1").by_field()
    assert set(fields) == {"query", "evalue", "nosuch"}


@pytest.mark.parametrize(
    ("text", "database", "program", "options", "fields"),
    [
        ("", PROT, None, {"evalue": "x"}, ["query", "evalue"]),
        (
            ">a\n>b\n",
            PROT,
            "blastp",
            {"evalue": "x", "task": "megablast", "out": "f"},
            ["query", "out", "task", "evalue"],
        ),
        (f">n\n{DNA}\n>p\n{PROTEIN}", NUCL, None, {"max_target_seqs": "0"}, ["query", "max_target_seqs"]),
        (f">q\n{DNA}\n" * 4, NUCL, None, {"flags": "-out x"}, ["query", "flags"]),
        ("é" * 1001, None, "blastz", {"evalue": "x"}, ["query", "database", "program", "evalue"]),
        (DNA, None, None, {"evalue": "x", "task": "megablast"}, ["database", "evalue"]),
        (PROTEIN, None, "blastn", {"flags": "-out x"}, ["database", "program", "flags"]),
        (DNA + "*", None, None, {}, ["query", "database"]),
        (f">p\n{PROTEIN}\n>n\n{DNA}", NUCL, "blastn", {}, ["query"]),
        (DNA, PROT, "blastn", {"evalue": "x"}, ["database", "evalue"]),
        (PROTEIN, NUCL, "blastn", {"evalue": "x"}, ["program", "evalue"]),
        ("", PROT, "blastp", {"flags": "-query_loc 5-9"}, ["query"]),
    ],
)
def test_all_that_is_wrong_is_told_at_once(
    text: str, database: DatabaseFacts | None, program: str | None, options: dict[str, str], fields: list[str]
) -> None:
    assert list(bad(text, database, program, **options).by_field()) == fields


@pytest.mark.parametrize(
    "options",
    [
        {"task": "megablast"},
        {"flags": "-penalty -2"},
        {"task": "blastx"},
        {"task": "megablast", "flags": "-matrix PAM30"},
    ],
)
def test_an_option_is_not_refused_for_a_program_that_nobody_knows_yet(options: dict[str, str]) -> None:
    assert list(bad(DNA, None, None, **options).by_field()) == ["database"]
    assert list(bad("", None, None, **options).by_field()) == ["query", "database"]
    assert list(bad(DNA, None, None, task="blastp").by_field()) == ["database", "task"], "it takes no nucleotides"


def test_faults_of_the_query_leave_room_for_those_of_the_options() -> None:
    many = "".join(f">q{number}\nAC\ufffdGT?\n" for number in range(30))
    found = bad(many, PROT, None, evalue="x", flags=" ".join(["-a"] * 30)).by_field()
    assert set(found) == {"query", "evalue", "flags"} and len(found["flags"]) == 20


def test_an_untold_molecule_is_taken_as_the_database_and_said() -> None:
    search = good("ACGTACG", NUCL)
    assert search.program == "blastn" and "taken as nucleotide" in search.notices[0]
    assert good("ACGTACG", PROT).program == "blastp"
    assert good("ACGTACG", PROT, "blastp").program == "blastp"


def test_short_queries_are_told_of_the_short_task() -> None:
    assert any("choose “blastn-short”" in notice for notice in good(f">q\n{DNA[:30]}", NUCL).notices)
    assert not good(f">q\n{DNA[:30]}", NUCL, task="blastn-short").notices
    assert any("1 of" not in n and "“a” is" in n for n in good(f">a\n{DNA[:30]}\n>b\n{DNA}", NUCL).notices)
    assert any("choose “blastp-short”" in notice for notice in good(f">q\n{PROTEIN[:20]}", PROT).notices)
    assert not good(f">q\n{DNA}", NUCL).notices


def test_few_hits_are_not_the_best_hits() -> None:
    assert any("fewer than 5" in notice for notice in good(DNA, NUCL, max_target_seqs="4").notices)


def test_a_part_of_the_query_begins_within_every_query() -> None:
    """BLAST would fail by a query that ends before."""
    text = f">long\n{DNA * 2}\n>short\n{DNA}"
    assert good(text, NUCL, flags="-query_loc 60-100").argv()[-2:] == ["-query_loc", "60-100"]
    (finding,) = bad(text, NUCL, flags="-query_loc 69-100")
    assert finding.field == "flags" and "begins at 69, but “short” has 69 letters" in finding.sentence


def test_a_guess_never_refuses_for_what_is_not_chosen_yet() -> None:
    told = guess(f">q\n{DNA}", NUCL)
    assert isinstance(told, Guess)
    assert (told.program, told.sentence) == ("blastn", "1 nucleotide sequence, 69 letters.")
    assert isinstance(guess(DNA), Guess)
    other = guess(DNA, PROT)
    assert isinstance(other, Guess) and other.program == "blastx"
    assert isinstance(guess(">q"), Findings)
