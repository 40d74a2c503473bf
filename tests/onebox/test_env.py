from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coordui import env
from tests.world import REPOSITORY

Set = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def unnoticed(monkeypatch: Set) -> None:
    """What these tests read is no variable of the product's."""
    monkeypatch.setattr(env, "READ", set())


@pytest.mark.parametrize("value", ["three", "3.5", "1_000", "٣", "", " 7 "])
def test_integer_takes_whole_numbers_only(monkeypatch: Set, value: str) -> None:
    monkeypatch.setenv("X", value)
    if value.strip() in ("", "7"):
        assert env.integer("X", 7, least=0, most=10) == 7
    else:
        with pytest.raises(env.Wrong, match=r"X='.*' cannot be used: give a whole number from 0 to 10"):
            env.integer("X", 7, least=0, most=10)


@pytest.mark.parametrize("value", ["-1", "11"])
def test_integer_keeps_its_bounds(monkeypatch: Set, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.Wrong):
        env.integer("X", 7, least=0, most=10)


@pytest.mark.parametrize("value", ["nan", "inf", "fast", "-0.1"])
def test_number_refuses_what_is_no_amount(monkeypatch: Set, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.Wrong, match="a number from 0 to 100"):
        env.number("X", 1.0, least=0, most=100)


@pytest.mark.parametrize(("value", "meaning"), [("true", True), ("ON", True), ("0", False), ("No", False), ("", True)])
def test_flag(monkeypatch: Set, value: str, meaning: bool) -> None:
    monkeypatch.setenv("X", value)
    assert env.flag("X", True) is meaning


def test_flag_refuses_a_word_it_does_not_know(monkeypatch: Set) -> None:
    monkeypatch.setenv("X", "maybe")
    with pytest.raises(env.Wrong, match="true or false"):
        env.flag("X", True)


def test_a_file_has_to_be_there(monkeypatch: Set, tmp_path: Path) -> None:
    monkeypatch.setenv("X", str(tmp_path / "absent"))
    with pytest.raises(env.Wrong, match=r"X='.*absent' cannot be used: give the path of a file"):
        env.file("X")
    (tmp_path / "absent").touch()
    assert env.file("X") == tmp_path / "absent"
    monkeypatch.setenv("X", "")
    assert env.file("X") is None


def test_choice_names_the_choices(monkeypatch: Set) -> None:
    monkeypatch.setenv("X", "etcd")
    with pytest.raises(env.Wrong, match="one of k8s, redis"):
        env.choice("X", "k8s", ("redis", "k8s"))


def test_words(monkeypatch: Set) -> None:
    monkeypatch.setenv("X", "a.example, b.example,,")
    assert env.words("X") == ["a.example", "b.example"]


def test_directory_is_absolute(monkeypatch: Set, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("X", "state")
    assert env.directory("X", None) == tmp_path / "state"


def test_url_names_the_schemes(monkeypatch: Set) -> None:
    monkeypatch.setenv("X", "http://store")
    with pytest.raises(env.Wrong, match="begins with unix:// or redis://"):
        env.url("X", "", ("unix", "redis"))


def test_postgres(monkeypatch: Set) -> None:
    monkeypatch.setenv("X", "postgres://me:p%40ss@db.example:5433/coordui?sslmode=require")
    found = env.postgres("X")
    assert found is not None
    wanted = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "coordui",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {**env.BOUNDS, "sslmode": "require"},
    }
    assert wanted.items() <= found.items()


@pytest.mark.parametrize(
    "value", ["postgres://me:secret@host:port/x", "postgres://me:secret@host", "postgres://me:secret@h/a/b"]
)
def test_a_wrong_database_is_refused_without_its_password(monkeypatch: Set, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(env.Wrong, match="postgres://USER:PASSWORD@HOST:PORT/NAME") as refused:
        env.postgres("X")
    assert "secret" not in str(refused.value)


def test_a_wrong_variable_stops_every_command_with_one_sentence(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=REPOSITORY,
        env={"COORDUI_CLUSTER": "kind", "COORDUI_STATE": str(tmp_path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 1
    assert run.stderr == (
        "coordui: COORDUI_CLUSTER='kind' cannot be used: give one of embedded, incluster, kubeconfig, "
        "or leave COORDUI_CLUSTER unset.\n"
    )
