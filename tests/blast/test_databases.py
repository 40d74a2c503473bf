from __future__ import annotations

import errno
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from submits import demo
from submits.blast import databases, report
from submits.blast.databases import DatabaseError
from submits.blast.facts import DatabaseFacts
from submits.blast.report import Report
from tests.blast.searching import searched


def test_facts_are_what_blast_says(made: dict[str, DatabaseFacts]) -> None:
    assert {(facts.key, facts.molecule, facts.sequences, facts.letters) for facts in made.values()} == {
        ("globins", "prot", 45, 6519),
        ("kinases", "prot", 38, 10156),
        ("lambda", "nucl", 1, 48502),
        ("made1", "nucl", 100, 7817),
    }
    assert made["globins"].title == "Globins (45 proteins)"
    assert made["globins"].formatted[4] == "-" and "T" in made["globins"].formatted


def test_a_directory_is_scanned_and_damaged_databases_are_left_out(
    made: dict[str, DatabaseFacts], tmp_path: Path
) -> None:
    directory = Path(made["lambda"].path).parent
    assert databases.scan(directory) == [made[key] for key in sorted(made)]
    shutil.copytree(directory, tmp_path / "below" / "deep")
    (tmp_path / "below" / "deep" / "lambda.nsq").unlink()
    (tmp_path / "below" / "deep" / "globins.psq").write_bytes(b"half")
    assert [facts.key for facts in databases.scan(tmp_path)] == ["below-deep-kinases", "below-deep-made1"]
    for name in ("lambda", "globins"):
        with pytest.raises(DatabaseError, match="damaged or half copied"):
            databases.inspect(tmp_path / "below" / "deep" / name)
    with pytest.raises(DatabaseError, match="cannot be read as a BLAST database"):
        databases.inspect(tmp_path / "nothing")
    with pytest.raises(DatabaseError, match="There is no directory"):
        databases.scan(tmp_path / "nothing")


def test_one_of_which_blast_does_not_answer_in_time_hides_no_other_and_is_asked_again(
    made: dict[str, DatabaseFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, really = Path(made["lambda"].path).parent, databases._run
    slow: tuple[str, ...] = ("-info", "-tax_info")

    def run(command: list[str], *more: Any) -> subprocess.CompletedProcess[str]:
        if made["lambda"].path in command[2] and set(slow) & set(command):
            raise DatabaseError("blastdbcmd did not finish within 60 s.")
        return really(command, *more)

    monkeypatch.setattr(databases, "_run", run)
    damaged: dict[str, str] = {}
    found = {facts.key: facts for facts in databases.scan(directory, damaged.__setitem__)}
    assert damaged == {} and found == made | {"lambda": replace(made["lambda"], taxonomy=None)}
    with pytest.raises(DatabaseError, match="did not finish"):
        databases.inspect(made["lambda"].path)
    before = report.survey(directory, Report())
    slow = ()
    assert {facts.key: facts for facts in report.survey(directory, before).found} == made


@pytest.mark.parametrize("killed", ["-info", "-tax_info"])
def test_one_of_which_a_signal_ended_blast_is_not_damaged_and_is_asked_again(
    made: dict[str, DatabaseFacts], monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    directory, really = Path(made["lambda"].path).parent, databases._run

    def run(command: list[str], *more: Any) -> subprocess.CompletedProcess[str]:
        if made["lambda"].path in command[2] and killed in command:
            return subprocess.CompletedProcess(command, -9, "", "")
        return really(command, *more)

    monkeypatch.setattr(databases, "_run", run)
    before = report.survey(directory, Report())
    assert before.damaged == {} and made["lambda"].path not in before.marks and before.mark == ""
    monkeypatch.setattr(databases, "_run", really)
    after = report.survey(directory, before)
    assert {facts.key: facts for facts in after.found} == made and after.mark


def test_a_folder_that_cannot_be_read_is_trouble_where_a_database_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    databases.format_fasta(demo.databases()[3].fasta, tmp_path / "below" / "nr")
    (tmp_path / "lost+found").mkdir()
    really = os.scandir
    refused, number = tmp_path / "lost+found", errno.EACCES

    def scandir(path: str) -> Any:
        if str(path) == str(refused):
            raise OSError(number, os.strerror(number), str(path))
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    before = report.survey(tmp_path, Report())
    assert len(before.found) == 1
    refused = tmp_path / "below"
    with pytest.raises(DatabaseError, match="Permission denied"):
        report.survey(tmp_path, before)
    refused, number = tmp_path / "lost+found", errno.EIO
    with pytest.raises(DatabaseError, match="Input/output error"):
        report.survey(tmp_path, before)


def test_a_link_that_leads_elsewhere_is_another_database_and_one_that_leads_back_is_none(
    tmp_path: Path,
) -> None:
    older, newer = (
        databases.format_fasta(demo.databases()[number].fasta, tmp_path / folder / "nr")
        for number, folder in ((3, "2026-11"), (2, "2026-12"))
    )
    current, back = tmp_path / "current", tmp_path / "2026-11" / "back"
    current.symlink_to("2026-11")
    first = report.survey(tmp_path, Report())
    assert first.marks.keys() == {f"{tmp_path}/{folder}/nr" for folder in ("2026-11", "2026-12", "current")}
    assert report.mark_of("/elsewhere/nr", {}) == "", "which no look takes for one that is as it was"
    current.unlink()
    current.symlink_to("2026-12")
    second = {facts.path: facts for facts in report.survey(tmp_path, first).found}
    assert second[f"{current}/nr"].letters == newer.letters != older.letters
    back.symlink_to("..")
    assert not any("back" in path for path in report._files(tmp_path, Report()))


def test_a_directory_with_a_space_in_its_name(tmp_path: Path) -> None:
    facts = databases.format_fasta(demo.databases()[0].fasta, tmp_path / "my data" / "globins", "G")
    assert facts == databases.scan(tmp_path / "my data")[0]
    assert (facts.key, facts.sequences) == ("globins", 45)
    assert searched(demo.text("hbb_human"), facts).summary.hits > 30
    with pytest.raises(DatabaseError, match="quotation mark"):
        databases.format_fasta(demo.databases()[0].fasta, tmp_path / 'a"b' / "x")
    with pytest.raises(DatabaseError, match="has a space in it"):
        databases.format_fasta(demo.databases()[0].fasta, tmp_path / "a b")


def test_names_that_blast_cannot_index_are_kept_in_the_titles(tmp_path: Path) -> None:
    source = tmp_path / "odd.fa"
    sequence = demo.text("lambda").split("\n", 1)[1].replace("\n", "")
    records = [("gi|1|x|y|z| a pipe", 0, 900), ("dup <b>ë</b>", 900, 2000), ("dup", 2000, 3000)]
    text = "\r\n\r\n".join(f">{header}\r\n{sequence[start:end]}" for header, start, end in records)
    source.write_bytes(b"\xef\xbb\xbf" + text.encode())
    facts = databases.format_fasta(source, tmp_path / "db" / "odd", "Odd\tnames ë")
    assert (facts.sequences, facts.letters, facts.molecule) == (3, 3000, "nucl")
    assert sorted(path.name for path in (tmp_path / "db").iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "bad.fa holds no sequence; a database is made from"),
        (b"; no more than a comment\n", "bad.fa holds no sequence"),
        (b">only a name\n", "bad.fa, line 1: Sequence 1 .* has a name but no sequence"),
        (b">a\nACGT?CGT\n", "line 2"),
        (b">n\nACGTACGTACGTACGT\n>p\nMKLVEEFILGVVGEGAYG\n", "nucleotides and proteins together"),
        (b">a\nACG\n", "too short to tell"),
    ],
)
def test_a_file_that_makes_no_database_says_why(tmp_path: Path, data: bytes, words: str) -> None:
    source = tmp_path / "bad.fa"
    source.write_bytes(data)
    with pytest.raises(DatabaseError, match=words):
        databases.format_fasta(source, tmp_path / "db" / "bad")
    assert not (tmp_path / "db" / "bad.nin").exists()
    with pytest.raises(DatabaseError, match="cannot be read"):
        databases.format_fasta(tmp_path / "nothing.fa", tmp_path / "db" / "bad")


def test_keys_are_made_of_file_names() -> None:
    assert databases.key_of("/data/My Database (2026).v1") == "my-database-2026-.v1"
    assert databases.key_of("/data/---") == "database"


def test_profiles_are_told_from_proteins(profiles: DatabaseFacts) -> None:
    assert (profiles.molecule, profiles.title, profiles.sequences) == ("rps", "Two families", 2)
    (found,) = databases.scan(Path(profiles.path).parent)
    assert (found.key, found.molecule) == ("families", "rps")
