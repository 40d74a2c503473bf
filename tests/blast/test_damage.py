"""Half-copied databases of the real makeblastdb: each file missing, cut and empty says so, and spoils no other."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from submits import demo
from submits.blast import damage, databases
from submits.blast.databases import DatabaseError
from submits.blast.facts import DatabaseFacts

NEEDED = ("in", "hr", "sq", "db")  # without one of these nothing can be searched


@pytest.fixture
def place(made: dict[str, DatabaseFacts], tmp_path: Path) -> Path:
    """A copy of three databases, to be spoilt."""
    (tmp_path / "dbs").mkdir()
    for key in ("globins", "lambda", "made1"):
        for file in Path(made[key].path).parent.glob(f"{key}.*"):
            shutil.copy(file, tmp_path / "dbs")
    return tmp_path / "dbs"


def cut(file: Path, part: float) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * part)])


def words(path: Path) -> str:
    with pytest.raises(DatabaseError) as caught:
        databases.inspect(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "letter", "ending", "part"),
    [
        *(("globins", "p", ending, part) for ending in NEEDED for part in (0.0, 0.5, None)),
        *(("lambda", "n", ending, 0.99) for ending in NEEDED),
    ],
)
def test_each_file_that_is_missing_or_cut_is_told_by_name_and_the_others_are_offered(
    place: Path, name: str, letter: str, ending: str, part: float | None
) -> None:
    file = place / f"{name}.{letter}{ending}"
    if part is None:
        file.unlink()
    else:
        cut(file, part)
    told: dict[str, str] = {}
    found = databases.scan(place, told.__setitem__)
    assert [facts.key for facts in found] == sorted({"globins", "lambda", "made1"} - {name})
    if part is None and ending == "in":  # without its index BLAST sees no database
        assert told == {} and "cannot be read as a BLAST database" in words(place / name)
        return
    assert told.keys() == {f"{place}/{name}"} and told[f"{place}/{name}"].startswith(f"{file.name} ")
    assert words(place / name).startswith(f"“{name}” is damaged or half copied: {file.name} ")


def volumes(place: Path) -> Path:
    """A database of three volumes, beside a whole one."""
    shutil.copy(demo.databases()[0].fasta, place / "g.fa")
    command = ["makeblastdb", "-in", "g.fa", "-dbtype", "prot", "-parse_seqids", "-out", "mv", "-max_file_sz", "3000B"]
    subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=60)
    assert (place / "mv.02.psq").exists()
    return place / "mv"


@pytest.mark.parametrize("file", ["mv.01.psq", "mv.02.phr", "mv.00.pin", "mv.pdb"])
def test_a_volume_that_is_missing_or_cut_spoils_its_database_alone(place: Path, file: str) -> None:
    whole = volumes(place)
    assert (databases.inspect(whole).sequences, databases.inspect(whole).letters) == (45, 6519)
    cut(place / file, 0.6)
    told: dict[str, str] = {}
    assert len(databases.scan(place, told.__setitem__)) == 3
    assert told.keys() == {f"{place}/mv"} and file in told[f"{place}/mv"]
    (place / file).unlink()
    told.clear()
    assert len(databases.scan(place, told.__setitem__)) == 3 and told.keys() == {f"{place}/mv"}


def test_what_is_no_database_is_told_from_one_and_never_raises(tmp_path: Path) -> None:
    (tmp_path / "a.pin").write_bytes(b"\xff" * 5000)
    (tmp_path / "b.nin").write_bytes(b"\0\0\0\5\0\0\0\0" + b"\x7f" * 5000)
    (tmp_path / "c.pdb").write_bytes(b"\0" * 9000)
    (tmp_path / "note.txt").write_text("no database")
    found = damage.broken(tmp_path, recursive=True)
    assert {Path(path).name for path in found} == {"a", "b", "c"}
    assert damage.damage(str(tmp_path / "nothing"), "p") == "nothing.pin is missing."
    told: dict[str, str] = {}
    assert databases.scan(tmp_path, told.__setitem__) == [] and len(told) == 3


def test_whether_a_database_knows_species(made: dict[str, DatabaseFacts], tmp_path: Path) -> None:
    names = [line[1:].split()[0] for line in demo.text("globins").splitlines() if line.startswith(">")]
    (tmp_path / "map").write_text("".join(f"{name} 9606\n" for name in names))
    shutil.copy(demo.databases()[0].fasta, tmp_path / "g.fa")
    for out, more in (("known", ["-taxid_map", "map"]), ("old", ["-blastdb_version", "4"])):
        command = ["makeblastdb", "-in", "g.fa", "-dbtype", "prot", "-parse_seqids", "-out", out, *more]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert databases.inspect(tmp_path / "known").taxonomy is True
    assert databases.inspect(tmp_path / "old").taxonomy is False
    assert made["globins"].taxonomy is False
    assert {facts.key: facts.taxonomy for facts in databases.scan(tmp_path)} == {"known": True, "old": False}
