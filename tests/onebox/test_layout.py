from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from coordui.layout import LONGEST_SOCKET, Layout, kept_secret, private, write_secret


def test_the_socket_lies_in_the_state_while_its_path_fits(tmp_path: Path) -> None:
    room = LONGEST_SOCKET - len(os.fsencode(tmp_path / "x" / "store" / "valkey.sock"))
    fits, too_long = Layout(tmp_path / ("x" * (room + 1))), Layout(tmp_path / ("x" * (room + 2)))

    assert len(os.fsencode(fits.socket())) == LONGEST_SOCKET
    assert fits.socket().is_relative_to(fits.root)
    assert not too_long.socket().is_relative_to(too_long.root)
    assert len(os.fsencode(too_long.socket())) <= LONGEST_SOCKET


def test_each_state_has_a_socket_of_its_own(tmp_path: Path) -> None:
    one, other = (Layout(tmp_path / ("x" * 150) / name) for name in "ab")
    assert one.socket() != other.socket()


def test_a_directory_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    private(tmp_path / "mine")
    private(tmp_path / "mine")
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / "mine")

    for name in ("open", "link"):
        with pytest.raises(ImproperlyConfigured, match="only we can enter"):
            private(tmp_path / name)


def test_a_secret_is_for_its_owner_only_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "run" / "key"
    write_secret(path, "one")
    write_secret(path, "two")

    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_all_who_make_a_secret_at_once_get_the_same(tmp_path: Path) -> None:
    found: list[str] = []
    begin = threading.Barrier(8)

    def ask() -> None:
        begin.wait()
        found.append(kept_secret(tmp_path / "secret"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 8 and len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_an_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    with pytest.raises(ImproperlyConfigured, match="does not hold a key"):
        kept_secret(tmp_path / "secret")


def test_a_secret_is_not_kept_where_nothing_was_started(tmp_path: Path) -> None:
    nowhere = tmp_path / "new" / "secret_key"
    assert kept_secret(nowhere) != kept_secret(nowhere)
    assert not nowhere.parent.exists()
    Layout(nowhere.parent).make()
    assert kept_secret(nowhere) == kept_secret(nowhere) == nowhere.read_text().strip()
