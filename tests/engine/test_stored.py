"""Databases in an object store: found by their indexes, told when they are half there, fetched by a search's Pods."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from django.conf import settings as current

from submits import checks, demo, scopes, tasks
from submits.blast.databases import DatabaseError, format_fasta, inspect
from submits.blast.facts import DatabaseFacts
from submits.blast.formats import Chosen
from submits.blast.report import Report
from submits.engine import requested, scanning, stored
from submits.engine.batch import UNREACHABLE, read_record, run
from submits.engine.diagnosis import of_exit
from submits.engine.errors import EngineError, Exit
from submits.engine.formatjob import look
from submits.engine.stored import survey
from submits.management.commands.provision import Command as Provision
from submits.models import Database
from submits.scopes import default_scope
from submits.states import Reason
from submits.work import Unstored, WorkStore
from tests.engine.story import Stage
from tests.engine.test_objects import secret
from tests.objectstore import BUCKET, s3
from tests.onebox.cluster.fixtures import until

__all__ = ["secret"]
PLACE = f"s3://{BUCKET}/blast/db"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    with s3() as environment:
        yield environment


@pytest.fixture
def bucket(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkStore]:
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    stored._store.cache_clear()
    bucket = stored._store(f"s3://{BUCKET}")
    yield bucket
    for name, value in server.items():  # a test may have led it astray
        monkeypatch.setenv(name, value)
    stored._store.cache_clear()
    bucket.remove("blast/db")
    os.environ.pop("BLASTDB", None)  # set by what fetches: a Pod has it for its whole life


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`top`, of the one volume `vol`, and `volume`."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "short.fa").write_text(">one\nACGTTGCAACGTGATCGATCG\n>two\nTTGACGATCGATCAGCTAGCTAGGGCATCATCG\n")
    for name in ("vol", "volume"):
        format_fasta(directory / "short.fa", directory / "db" / name, f"Title of {name}")
    (directory / "db" / "top.nal").write_text("TITLE Top of all\nDBLIST vol\n")
    (directory / "db" / "taxdb.btd").write_bytes(b"names")
    return directory / "db"


def upload(bucket: WorkStore, directory: Path, *names: str, below: str = "blast/db") -> None:
    for file in [directory / name for name in names] or directory.iterdir():
        bucket.put(f"{below}/{file.name}", file.read_bytes())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """The names of the files that were read since the last question."""
    seen: list[str] = []
    really = stored.Bucket.open

    def opened(self: stored.Bucket, path: str) -> Any:
        seen.append(path.rpartition("/")[2])
        return really(self, path)

    monkeypatch.setattr(stored.Bucket, "open", opened)

    def taken() -> set[str]:
        found = set(seen)
        seen.clear()
        return found

    return taken


def test_they_are_what_blast_says_of_the_same_files(
    bucket: WorkStore, files: Path, profiles: DatabaseFacts, read: Callable[[], set[str]]
) -> None:
    upload(bucket, files)
    upload(bucket, Path(profiles.path).parent, below="blast/db/deep")
    report = survey(PLACE, Report())
    deep, top, volume = report.found
    assert not report.damaged and (top.key, volume.key) == ("top", "volume"), "a volume is none by itself"
    for found, path in ((top, files / "top"), (deep, Path(profiles.path))):
        said = inspect(path)
        assert replace(found, key=said.key, path=said.path, taxonomy=said.taxonomy) == said
    assert (volume.title, volume.sequences, volume.letters) == ("Title of volume", 2, 54)
    assert deep.path == f"{PLACE}/deep/{Path(profiles.path).name}" and deep.molecule == "rps"
    read()
    assert survey(PLACE, report) == report and read() == set(), "what is as it was is not read"


def test_what_is_not_whole_is_told_until_it_is(bucket: WorkStore, files: Path, read: Callable[[], set[str]]) -> None:
    upload(bucket, files)
    first = survey(PLACE, Report())
    bucket.delete("blast/db/vol.nhr")
    bucket.delete("blast/db/volume.nin")
    second = survey(PLACE, first)
    assert second.damaged == {f"{PLACE}/top": "vol.nhr is missing.", f"{PLACE}/volume": "volume.nin is missing."}
    assert not second.found
    upload(bucket, files, "vol.nhr", "volume.nin")
    bucket.put("blast/db/volume.nsq", b"half")
    third = survey(PLACE, second)
    assert third.damaged[f"{PLACE}/volume"].startswith("volume.nsq has 4 bytes, and") and len(third.found) == 1
    upload(bucket, files, "volume.nsq")
    read()
    assert len(survey(PLACE, third).found) == 2
    assert read() == {"top.nal", "volume.nin", "volume.ndb", "volume.ntf"}, "of the other one only what it is made of"


@pytest.mark.parametrize("failing", ["volume.nin", "volume.ndb"])
def test_one_read_that_fails_says_nothing_against_a_database(
    bucket: WorkStore, files: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    upload(bucket, files)
    really = WorkStore.open

    def away(self: WorkStore, key: str) -> BinaryIO:
        if key.endswith(failing):
            raise Unstored("no answer within 8 s")
        return really(self, key)

    monkeypatch.setattr(WorkStore, "open", away)
    with pytest.raises(DatabaseError, match="no answer within 8 s"):
        survey(PLACE, Report())
    monkeypatch.setattr(WorkStore, "open", really)
    bucket.delete("blast/db/volume.nsq")
    assert survey(PLACE, Report()).mark == "", "what is damaged is looked at again, whatever its files are"


def test_a_place_that_cannot_be_read_is_told(bucket: WorkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DatabaseError, match="names no prefix"):
        survey(f"s3://{BUCKET}", Report())
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    stored._store.cache_clear()
    with pytest.raises(DatabaseError, match=f"{PLACE} cannot be read"):
        survey(PLACE, Report())


def shortened(source: BinaryIO, file: BinaryIO, length: int) -> None:
    file.write(source.read(8))


def test_one_is_fetched_whole_with_all_its_volumes_and_no_other(
    bucket: WorkStore, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(bucket, files)
    (top, _) = survey(PLACE, Report()).found
    assert stored.fetch(top, tmp_path / "here") == replace(top, path="top")
    assert os.environ["BLASTDB"] == str(tmp_path / "here")
    names = {file.name for file in files.iterdir() if not file.name.startswith("volume.")}
    assert {file.name for file in (tmp_path / "here").iterdir()} == names
    assert all((tmp_path / "here" / name).read_bytes() == (files / name).read_bytes() for name in names)
    with pytest.raises(EngineError, match="there is no s3://work/blast/db/to") as missing:
        stored.fetch(replace(top, path=f"{PLACE}/to"), tmp_path)
    assert missing.value.status is Exit.DEPENDENCY
    with pytest.raises(EngineError, match="top was replaced since this search was prepared") as another:
        stored.fetch(replace(top, letters=top.letters + 1), tmp_path / "another")
    assert another.value.status is Exit.DEPENDENCY
    monkeypatch.setattr("shutil.copyfileobj", shortened)
    with pytest.raises(EngineError, match=r"cannot be fetched: .* has 8 bytes, and .* it was replaced meanwhile"):
        stored.fetch(top, tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    stored._store.cache_clear()
    with pytest.raises(EngineError, match="cannot be fetched") as away:
        stored.fetch(top, tmp_path)
    assert away.value.status is Exit.DEPENDENCY


def made_or_failed(stage: Stage, run_id: str, chosen: Chosen) -> bool:
    return requested.standing(stage.store, run_id, chosen).state != "asked"


def test_a_search_in_one_and_its_results(bucket: WorkStore, stage: Stage, secret: str, tmp_path: Path) -> None:
    """With the work in a directory: who the Pods are to the object store is said to those that fetch."""
    globins = demo.databases()[0]
    format_fasta(globins.fasta, tmp_path / "db" / "globins", globins.title)
    upload(bucket, tmp_path / "db")
    (facts,) = survey(PLACE, Report()).found
    run_id = stage.prepared(demo.EXAMPLE.query(), facts, letters=300)
    stage.submit(run_id, work_secret=secret)
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.queries_with_hits, outcome.batches) == ("succeeded", 3, 2), outcome
    made = []
    for chosen in (Chosen("pairwise"), Chosen("subjects")):
        requested.ask(stage.store, run_id, chosen)
        look(stage.api, stage.store, run_id, chosen.key)
        until(partial(made_or_failed, stage, run_id, chosen), 60)
        assert requested.standing(stage.store, run_id, chosen).state == "made"
        made.append(stage.store.get(requested.key(run_id, chosen.file)))
    assert globins.title.encode() in made[0] and b"/tmp/" not in made[0] and made[1].count(b">") > 10
    bucket.remove("blast/db")
    lost = stage.prepared(demo.EXAMPLE.query(), facts)
    assert run(stage.store, lost, 1, tmp_path / "again") == UNREACHABLE
    record = read_record(stage.store, lost, 1)
    assert record and of_exit(record.exit, record.stderr) is Reason.FILES_UNREACHABLE
    assert f"there is no {facts.path}" in record.stderr


@pytest.mark.django_db
def test_what_is_there_is_offered_and_what_is_gone_is_not(
    bucket: WorkStore, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(bucket, files)
    monkeypatch.setattr(current, "COORDUI_BLASTDB", PLACE)
    monkeypatch.setattr(current, "COORDUI_BLASTDB_SCAN", "cluster")  # which is for what only the cluster sees
    Provision(stdout=StringIO()).own_databases(default_scope())
    assert dict(Database.objects.values_list("key", "path")) == {"top": f"{PLACE}/top", "volume": f"{PLACE}/volume"}
    bucket.delete("blast/db/volume.nin")
    bucket.delete("blast/db/top.nal")
    tasks.look_for_databases()
    said = dict(Database.objects.filter(ready=False).values_list("key", "trouble"))
    assert said == {"top": "it is not there.", "volume": "it is damaged or half copied: volume.nin is missing."}
    upload(bucket, files, "volume.nin")
    tasks.look_for_databases()
    assert set(Database.objects.filter(ready=True).values_list("key", flat=True)) == {"vol", "volume"}
    scopes.store().remove(scanning.DIRECTORY)


@pytest.mark.parametrize(
    ("place", "engine", "words"),
    [
        ("s3://bucket", "builtin", "names no prefix"),
        ("ftp://bucket/db", "builtin", "is not known"),
        (PLACE, "elastic-blast", "cannot read results with"),
        (PLACE, "builtin", ""),
        (Path("/srv/db"), "elastic-blast", ""),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_the_start(
    place: Path | str, engine: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "COORDUI_BLASTDB", place)
    monkeypatch.setattr(current, "COORDUI_ENGINE", engine)
    broken = checks.databases_are_named()
    assert [rule.key for rule in broken] == ["E011"] * bool(words) and all(words in rule.sentence for rule in broken)
