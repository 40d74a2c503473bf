"""While everything runs: what appears, changes, is damaged, mended or taken away is told by the next look."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as current
from django.test import Client

from submits import catalogue, demo, tasks
from submits.blast import databases
from submits.blast.databases import format_fasta
from submits.cluster import ApiCluster
from submits.engine import scanning
from submits.gatekeeper import SCAN_LOOK
from submits.models import Database
from submits.scopes import store
from tests.test_gatekeeper import Turns, turns

__all__ = ["turns"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    place = tmp_path / "databases"
    place.mkdir()
    current.LAYOUT.make()
    monkeypatch.setattr(current, "COORDUI_BLASTDB", place)
    yield place
    store().remove(scanning.DIRECTORY)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Which databases BLAST was asked of since the last question; "-list" for a listing."""
    asked: list[str] = []
    really = databases._run

    def run(command: list[str], *more: Any) -> Any:
        asked.append("-list" if "-list" in command else Path(command[2].strip('"')).name)
        return really(command, *more)

    monkeypatch.setattr(databases, "_run", run)

    def taken() -> list[str]:
        found = sorted(set(asked))
        asked.clear()
        return found

    return taken


def formatted(out: Path, number: int = 3) -> None:
    format_fasta(demo.databases()[number].fasta, out, out.name)


def offered() -> dict[str, str]:
    """What is said of each: "" of one that is offered."""
    return {row.key: "" if row.ready else row.trouble or "taken out" for row in Database.objects.all()}


def test_what_changes_is_told_and_what_does_not_costs_nothing(place: Path, ran: Callable[[], list[str]]) -> None:
    formatted(place / "a")
    tasks.look_for_databases()
    assert offered() == {"a": ""}
    ran()
    tasks.look_for_databases()
    assert ran() == [], "nothing is other than it was"
    formatted(place / "b", 0)
    ran()
    tasks.look_for_databases()
    assert ran() == ["-list", "b"] and offered() == {"a": "", "b": ""}
    before = Database.objects.get(key="a").sequences
    formatted(place / "a", 2)
    tasks.look_for_databases()
    assert Database.objects.get(key="a").sequences != before
    whole = (place / "b.psq").read_bytes()
    (place / "b.psq").write_bytes(whole[:50])
    tasks.look_for_databases()
    assert offered()["b"].startswith("it is damaged or half copied: b.psq has 50 bytes, and")
    assert scanning.last(store()).mark == "", "it is asked again, whatever its files are"
    (place / "b.psq").write_bytes(whole[:60])
    tasks.look_for_databases()
    assert offered()["b"].startswith("it is damaged or half copied: b.psq has 60 bytes"), "as it is by now"
    (place / "b.psq").write_bytes(whole)
    for file in place.glob("a.*"):
        file.unlink()
    tasks.look_for_databases()
    assert offered() == {"a": "it is not there.", "b": ""}, "mended, it is offered again"
    assert ran() and not (tasks.look_for_databases() or ran())


def test_an_alias_is_another_when_a_file_of_its_volumes_is(place: Path, ran: Callable[[], list[str]]) -> None:
    formatted(place / "vol")
    (place / "top.nal").write_text("TITLE top\nDBLIST vol\n")
    tasks.look_for_databases()
    assert offered()["top"] == ""
    ran()
    (place / "vol.nsq").write_bytes((place / "vol.nsq").read_bytes()[:9])
    tasks.look_for_databases()
    assert offered()["top"].startswith("it is damaged or half copied: vol.nsq has 9 bytes")


def test_what_an_administrator_took_out_stays_out_whatever_happens_to_its_files(place: Path) -> None:
    formatted(place / "a")
    tasks.look_for_databases()
    Database.objects.update(ready=False)
    moved = shutil.move(place / "a.nsq", place.parent / "kept")
    tasks.look_for_databases()
    shutil.move(moved, place / "a.nsq")
    tasks.look_for_databases()
    assert offered() == {"a": "taken out"}


def test_a_place_that_is_away_takes_nothing_out_and_is_told(
    place: Path, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    formatted(place / "a")
    tasks.look_for_databases()
    place.rename(place.parent / "away")
    caplog.clear()
    with caplog.at_level(logging.INFO, "submits.catalogue"):
        tasks.look_for_databases()
        tasks.look_for_databases()
    assert [record.message for record in caplog.records] == [
        f"COORDUI_BLASTDB: There is no directory {place}. Its databases stay as they were."
    ], "once"
    assert offered() == {"a": ""}
    assert json.loads(client.get("/readyz").content)["checks"]["databases"] == {
        "ok": False, "why": f"There is no directory {place}.",
    }  # fmt: skip
    (place.parent / "away").rename(place)
    tasks.look_for_databases()
    assert json.loads(client.get("/readyz").content)["checks"]["databases"]["ok"]


def test_a_volume_that_is_empty_for_one_look_takes_nothing_out(place: Path) -> None:
    formatted(place / "a")
    tasks.look_for_databases()
    place.rename(place.parent / "away")
    place.mkdir()
    tasks.look_for_databases()
    assert offered() == {"a": ""} and "No database is found any more" in scanning.last(store()).trouble
    tasks.look_for_databases()
    assert offered() == {"a": "it is not there."}, "the next look says the same"


def test_what_is_just_being_made_is_no_database(place: Path) -> None:
    formatted(place / ".making-1" / "half")
    (place / ".making-1" / "half.nsq").write_bytes(b"")
    formatted(place / "a")
    tasks.look_for_databases()
    assert offered() == {"a": ""} and not scanning.last(store()).damaged


def test_a_report_of_another_version_counts_as_none(place: Path) -> None:
    formatted(place / "a")
    store().put(scanning.REPORT, b'{"found": [{"key": "a"}]}')
    tasks.look_for_databases()
    assert offered() == {"a": ""} and scanning.last(store()).found[0].key == "a"


def test_one_look_at_a_time(place: Path) -> None:
    formatted(place / "a")
    with catalogue.alone() as first:
        assert first
        tasks.look_for_databases()
        assert offered() == {}
    tasks.look_for_databases()
    assert offered() == {"a": ""}


def test_a_row_that_was_taken_away_comes_back(place: Path) -> None:
    formatted(place / "a")
    tasks.look_for_databases()
    Database.objects.all().delete()
    tasks.look_for_databases()
    assert offered() == {"a": ""}


def test_the_gatekeeper_has_it_done_again_and_again(
    place: Path, turns: Turns, cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks, "send", lambda task, *what: sent.append(task.name))
    turns.turn()
    turns.turn()
    assert sent == ["submits.tasks.look_for_databases"], "at its start, and then when it is time"
    every, now = current.COORDUI_BLASTDB_SCAN_SECONDS, turns.keeper.searched
    turns.keeper.look_for_databases(now + every - 1)
    assert len(sent) == 1
    turns.keeper.look_for_databases(now + every)
    assert len(sent) == 2
    monkeypatch.setattr(current, "COORDUI_BLASTDB", None)
    turns.keeper.look_for_databases(now + 9 * every)
    assert len(sent) == 2


def test_while_the_cluster_looks_the_gatekeeper_has_it_asked_whether_it_has_ended(
    place: Path, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks, "send", lambda task, *what: sent.append(task.name.rpartition(".")[2]))
    turns.keeper.look_for_databases(0.0)
    turns.keeper.look_for_databases(SCAN_LOOK)
    assert sent == ["look_for_databases"], "a look of our own ends by itself"
    monkeypatch.setattr(current, "COORDUI_BLASTDB_SCAN", "cluster")
    for now in (SCAN_LOOK - 1, SCAN_LOOK, SCAN_LOOK + 1, 2 * SCAN_LOOK):
        turns.keeper.look_for_databases(now)
    assert sent[1:] == ["look_at_scan"] * 2
