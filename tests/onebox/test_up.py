"""`manage.py up` as somebody at a shell sees it, with the store alone."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from coordui.layout import Layout
from tests.onebox.running import Running
from tests.world import until

Up = Callable[..., Running]
READY = "all is ready"


@pytest.fixture
def store(up: Up, tmp_path: Path) -> Callable[..., Running]:
    """The store alone, on a state of the test's own and any free port."""
    return lambda *words, **env: up("--only", "store", "--port", "0", "--state", str(tmp_path / "s"), *words, **env)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_on_a_signal_even_if_that_was_inherited_as_ignored(store: Up, how: signal.Signals) -> None:
    running = store()
    running.says(READY)
    assert len(running.left()) == 2  # the leash and the store

    assert running.stop(how) == 0
    assert running.left() == []
    assert "everything has stopped" in running.said


def test_sigkill_of_the_supervisor_leaves_no_process_and_the_next_one_starts(store: Up) -> None:
    first = store()
    first.says(READY)
    started = set(first.left())
    first.process.kill()

    second = store()
    second.says(READY)

    assert len(started) == 2
    assert not started & set(second.left())
    assert second.stop() == 0
    assert second.left() == []


def test_a_second_up_says_where_the_first_one_runs(store: Up, tmp_path: Path) -> None:
    first = store()
    first.says(READY)
    address = first.address()

    second = store()

    assert second.ends() == 1
    assert f"already runs on {tmp_path / 's'}: pid {first.process.pid}, {address}" in second.said
    assert first.process.poll() is None


def test_a_taken_port_is_named(up: Up, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        running = up("--port", str(port), "--state", str(tmp_path / "s"))

        assert running.ends() == 1
        assert f"Port {port} on 127.0.0.1 is taken" in running.said


def test_the_store_is_started_again_when_it_is_killed(store: Up, tmp_path: Path) -> None:
    running = store()
    running.says(READY)
    os.kill(max(running.left()), signal.SIGKILL)

    running.says("it is started again in 0.2 s")
    until(lambda: running.output().count(READY) == 2)

    assert running.stop() == 0


def test_the_store_works_where_its_path_is_too_long_for_a_socket(up: Up, tmp_path: Path) -> None:
    state = tmp_path / ("deep" * 30)
    assert len(os.fsencode(state / "store" / "valkey.sock")) > 107

    running = up("--only", "store", "--port", "0", "--state", str(state))
    running.says(READY)

    assert stat.S_ISSOCK(Layout(state).socket().stat().st_mode)
    assert running.stop() == 0
    Layout(state).socket().parent.rmdir()


def test_what_is_kept_can_be_read_by_its_owner_only(store: Up, tmp_path: Path) -> None:
    running = store()
    running.says(READY)
    layout = Layout(tmp_path / "s")

    for path in (layout.root, layout.run, layout.signin_key, layout.secret_key, layout.logs / "store.log"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert running.stop() == 0


def test_each_start_has_a_fresh_key_to_sign_in_and_the_same_secret(store: Up, tmp_path: Path) -> None:
    layout, seen = Layout(tmp_path / "s"), []
    for _ in range(2):
        running = store()
        running.says(READY)
        seen.append((layout.signin_key.read_text(), layout.secret_key.read_text()))
        assert running.stop() == 0

    assert seen[0][0] != seen[1][0]
    assert seen[0][1] == seen[1][1]


def test_the_queue_survives_a_restart(store: Up, tmp_path: Path) -> None:
    for command, answer in ((b"LPUSH default message\r\n", b":1"), (b"LLEN default\r\n", b":1")):
        running = store()
        running.says(READY)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(Layout(tmp_path / "s").socket()))
            client.sendall(command)
            assert client.recv(64).startswith(answer)
        assert running.stop() == 0


def test_a_kubeconfig_in_the_shell_is_seen_and_not_used(store: Up) -> None:
    running = store(KUBECONFIG="/home/me/production.yaml")
    running.says(READY)

    assert "KUBECONFIG (/home/me/production.yaml) is set and not used" in running.said
    assert "make up COORDUI_CLUSTER=kubeconfig" in running.said


def test_an_unknown_part_is_refused(store: Up) -> None:
    running = store("--only", "store,wbe")

    assert running.ends() == 1
    assert "--only wbe: there is no such part" in running.said


def test_a_wrong_setting_is_told_in_one_sentence(store: Up) -> None:
    running = store(BLAST_MAX_RUN_CONCURRENCY="three")

    assert running.ends() == 1
    assert running.said == (
        "coordui: BLAST_MAX_RUN_CONCURRENCY='three' cannot be used: "
        "give a whole number from 1 to 1000, or leave BLAST_MAX_RUN_CONCURRENCY unset.\n"
    )
