"""Which databases are offered under which key, over starts that find different things, and the command adding one."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as current
from django.core.management import CommandError, call_command
from django.db import connection

from submits import demo
from submits.blast.databases import format_fasta, present
from submits.blast.facts import DatabaseFacts
from submits.catalogue import free_keys, register_database
from submits.management.commands.adddb import own_directory
from submits.management.commands.provision import Command as Provision
from submits.models import Database
from submits.scopes import default_scope

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own(tmp_path: Path) -> Iterator[None]:
    current.LAYOUT.make()
    yield
    shutil.rmtree(current.LAYOUT.blastdb)


def start(directory: Path | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The part of a start that looks for one's own databases; what it says."""
    monkeypatch.setattr(current, "COORDUI_BLASTDB", directory)
    said = StringIO()
    Provision(stdout=said, stderr=said, no_color=True).own_databases(default_scope())
    return said.getvalue()


def placed(directory: Path, name: str = "a") -> DatabaseFacts:
    return format_fasta(demo.databases()[3].fasta, directory / name, "Copies")


def test_two_with_one_key_are_both_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed(tmp_path / "sub")
    placed(tmp_path, "sub-a")
    said = start(tmp_path, monkeypatch)
    keys = dict(Database.objects.values_list("path", "key"))
    assert sorted(keys.values()) == ["sub-a", "sub-a-2"] and set(keys) == {f"{tmp_path}/sub/a", f"{tmp_path}/sub-a"}
    second = next(path for path, key in keys.items() if key == "sub-a-2")
    assert f"{second} is “sub-a-2”, because “sub-a” is another database" in said
    start(tmp_path, monkeypatch)
    assert dict(Database.objects.values_list("path", "key")) == keys


def test_no_demo_database_is_made_where_no_pod_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = demo.databases()[:1]
    monkeypatch.setattr(demo, "databases", lambda: first)
    monkeypatch.setattr(current, "COORDUI_CLUSTER", "incluster")
    in_state = current.LAYOUT.blastdb

    def made(place: Path | None, scan: str = "dashboard") -> list[str]:
        monkeypatch.setattr(current, "COORDUI_BLASTDB", place)
        monkeypatch.setattr(current, "COORDUI_BLASTDB_SCAN", scan)
        said = StringIO()
        Provision(stdout=said).demo_databases(default_scope())
        rows = list(Database.objects.values_list("path", flat=True))
        assert bool(rows) is any(in_state.iterdir()) is not ("no Pod" in said.getvalue())
        return rows

    # Nowhere; on every node, in another directory; in a volume that only the cluster sees; where all see it.
    assert made(None) == made(tmp_path) == made(in_state, "cluster") == []
    assert made(in_state) == [str(in_state / "globins")]


def test_an_own_database_takes_no_other_ones_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call_command("adddb", str(demo.databases()[0].fasta), "--title", "A", stdout=StringIO(), stderr=StringIO())
    first = Database.objects.get()
    assert first.key == "a"
    placed(tmp_path)
    start(tmp_path, monkeypatch)
    first.refresh_from_db()
    assert (first.title, first.molecule, present(first.path)) == ("A", "prot", True)
    assert Database.objects.get(key="a-2").molecule == "nucl"


def test_what_an_administrator_wrote_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed(tmp_path)
    start(tmp_path, monkeypatch)
    Database.objects.update(title="Mine", description="of 1998", ready=False, sequences=1)
    assert "is there but not offered" in start(tmp_path, monkeypatch)
    row = Database.objects.get()
    assert (row.title, row.description, row.ready, row.sequences) == ("Mine", "of 1998", False, 100)


def test_what_is_gone_damaged_or_named_no_more_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gone", "half", "whole"):
        placed(tmp_path / "one", name)
    start(tmp_path / "one", monkeypatch)
    for file in (tmp_path / "one").glob("gone.*"):
        file.unlink()
    (tmp_path / "one" / "half.nsq").write_bytes(b"half")
    said = start(tmp_path / "one", monkeypatch)
    assert "one/gone is not there" in said and "one/half is damaged or half copied: half.nsq has 4 bytes" in said
    trouble = dict(Database.objects.filter(ready=False).values_list("key", "trouble"))
    assert trouble["gone"] == "it is not there." and trouble["half"].startswith(
        "it is damaged or half copied: half.nsq"
    )
    assert list(Database.objects.filter(ready=True).values_list("key", flat=True)) == ["whole"]
    (tmp_path / "two").mkdir()
    assert "is in no directory that COORDUI_BLASTDB names" in start(tmp_path / "two", monkeypatch)
    assert not Database.objects.filter(ready=True)
    Database.objects.update(ready=True)
    start(None, monkeypatch)
    assert not Database.objects.filter(ready=True)


def test_those_of_the_state_directory_stay_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    call_command("adddb", str(demo.databases()[3].fasta), stdout=StringIO(), stderr=StringIO())
    assert start(None, monkeypatch) == "" and Database.objects.get().ready


def test_a_directory_that_is_moved_keeps_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed(tmp_path / "one")
    start(tmp_path / "one", monkeypatch)
    Database.objects.update(title="Mine")
    (tmp_path / "one").rename(tmp_path / "two")
    start(tmp_path / "two", monkeypatch)
    row = Database.objects.get()
    assert (row.key, row.title, row.path, row.ready) == ("a", "Mine", f"{tmp_path}/two/a", True)


def test_a_directory_that_is_not_there_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"COORDUI_BLASTDB: there is no directory .*/nothing"):
        start(tmp_path / "nothing", monkeypatch)


def test_examples_are_made_once_and_of_their_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = default_scope()
    facts = replace(format_fasta(demo.databases()[0].fasta, tmp_path / "other" / "globins"), title="Ours")
    register_database(scope, facts)
    Provision(stdout=StringIO()).demo_databases(scope)
    paths = dict(Database.objects.values_list("key", "path"))
    assert set(paths) == {"globins", "globins-2", "kinases", "lambda", "made1"}
    assert paths["globins"] == facts.path and present(paths["globins-2"])
    before = {file: file.stat().st_mtime_ns for file in current.LAYOUT.blastdb.iterdir()}
    Provision(stdout=StringIO()).demo_databases(scope)
    assert {file: file.stat().st_mtime_ns for file in current.LAYOUT.blastdb.iterdir()} == before
    assert Database.objects.count() == 5


def test_a_copied_state_directory_makes_its_own_examples() -> None:
    scope = default_scope()
    Provision(stdout=StringIO()).demo_databases(scope)
    for row in Database.objects.all():
        Database.objects.filter(pk=row.pk).update(path=f"/elsewhere/blastdb/{row.key}")
    Provision(stdout=StringIO()).demo_databases(scope)
    assert Database.objects.count() == 4
    assert all(present(row.path) and Path(row.path).parent == current.LAYOUT.blastdb for row in Database.objects.all())


def test_keys_stay_within_their_field(tmp_path: Path) -> None:
    scope = default_scope()
    facts = replace(placed(tmp_path), key="k" * 99)
    keys = [register_database(scope, replace(facts, path=f"{facts.path}{n}")).key for n in range(3)]
    assert len(set(keys)) == 3 and max(map(len, keys)) <= 63
    assert next(free_keys(scope, "free")) == "free"


def test_adddb_says_how_many_names_are_shared(tmp_path: Path) -> None:
    file = tmp_path / "dup.fa"
    file.write_text(">g one\nACGTACGTACGTTTGACGATCGATCAGCTAGCTA\n>g\x07 two\nTTGACGATCGATCAGCTAGCTAGGGCATCATCG\n")
    said = StringIO()
    call_command("adddb", str(file), stdout=StringIO(), stderr=said)
    assert "One name is shared by 2 sequences (“g”)" in said.getvalue()
    assert "One control character was taken out" in said.getvalue()


def test_adddb_of_nothing_has_words_of_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.fa").write_text("")
    with pytest.raises(CommandError, match=r"empty\.fa holds no sequence; a database is made from"):
        call_command("adddb", str(tmp_path / "empty.fa"))
    assert not any(current.LAYOUT.blastdb.iterdir())


def test_two_at_once_get_directories_of_their_own() -> None:
    barrier, got = threading.Barrier(8), []

    def take() -> None:
        barrier.wait(10)
        got.append(own_directory(["same", *(f"same-{n}" for n in range(2, 20))]))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(got) == len(set(got)) == 8


def test_a_key_that_somebody_takes_in_between_is_not_taken_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked when neither has written: the constraint decides, and the second takes the next key."""
    scope = default_scope()
    facts = placed(tmp_path)
    monkeypatch.setattr("submits.catalogue.free_keys", lambda scope, wanted: iter([wanted, f"{wanted}-2"]))
    assert register_database(scope, facts).key == "a"
    assert register_database(scope, replace(facts, path=f"{facts.path}-other")).key == "a-2"
    assert connection.needs_rollback is False


def test_a_damaged_one_that_was_never_offered_says_so_too_and_a_mended_one_has_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(tmp_path / "one", "half")
    kept = (tmp_path / "one" / "half.nsq").read_bytes()
    (tmp_path / "one" / "half.nsq").write_bytes(kept[:9])
    said = start(tmp_path / "one", monkeypatch)
    assert (
        f"{tmp_path}/one/half is damaged or half copied: half.nsq has 9 bytes" in said and "It is not offered" in said
    )
    assert not Database.objects.exists()
    (tmp_path / "one" / "half.nsq").write_bytes(kept)
    assert start(tmp_path / "one", monkeypatch) == f"1 databases in {tmp_path}/one\n"
    row = Database.objects.get()
    assert (row.ready, row.trouble, row.taxonomy) == (True, "", False)
