from __future__ import annotations

from pathlib import Path

import pytest

from submits.engine import settings
from submits.engine.errors import EngineError, Exit
from submits.engine.settings import Settings


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    places = ("work-claim/runs of ours", "secret", "account", "db-claim", "/srv/blastdb")
    chosen = Settings("ns-1", "/work/100% mine", "image:1", "runner", 4, 512, 1, 60, 120, 10, 5, *places)
    path = tmp_path / "cfg.ini"
    path.write_text(settings.write(chosen))
    assert settings.read(path) == chosen
    assert Settings.from_json(chosen.to_json()) == chosen
    assert Settings.from_json(b'{"work_url": "/w", "of_a_newer_version": 1}') == Settings(work_url="/w")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[work]\nurl = /w\n[limits]\nthreads = many\n", r"\[limits\] threads = 'many' is not a whole number"),
        ("[work]\nurl = /w\n[limits]\nthreads = -1\n", "not a whole number"),
        ("[work]\nurl = /w\n[blast]\noptions = -remote\n", r"\[blast\] options is not a setting"),
        ("[work]\nurl = /w\nnamespace = x\n", r"\[work\] namespace is not a setting"),
        ("[cluster]\nnamespace = x\n", r"\[work\] url is missing"),
        ("nonsense", "not a configuration file"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "cfg.ini"
    path.write_text(text)
    with pytest.raises(EngineError, match=words) as caught:
        settings.read(path)
    assert caught.value.status is Exit.INPUT


def test_a_line_end_cannot_add_a_setting() -> None:
    with pytest.raises(ValueError, match="line end"):
        settings.write(Settings(work_url="/w", image="x\n[cluster]\nnamespace = other"))
