"""The supervisor over real, small processes."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coordui.onebox.supervisor import plan
from coordui.onebox.supervisor.plan import Process
from coordui.onebox.supervisor.tree import LOOK_EVERY, Tree
from tests.world import processes_with

FOREVER = ["sleep", "600"]
ENDS_WELL = [sys.executable, "-c", "import signal, sys; signal.signal(15, lambda *_: sys.exit(0)); signal.pause()"]


class World:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: list[str] = []
        self.mark = directory.name

    def file(self, name: str) -> Path:
        return self.directory / name

    def lines(self, name: str) -> list[str]:
        return self.file(name).read_text().splitlines() if self.file(name).exists() else []

    def run(self, *processes: Process, on_up: Callable[[], None] = lambda: None) -> int:
        env = {**os.environ, "TREE_MARK": str(self.directory)}
        tree = Tree(processes, env=env, cwd=self.directory, logs=self.directory, say=self.said.append, on_up=on_up)
        return tree.run()

    def left(self) -> list[int]:
        return processes_with("TREE_MARK", str(self.directory))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def note(world: World, word: str, then: str = "exec sleep 600") -> list[str]:
    """A process that leaves a line when it starts, and its marker once it is ready."""
    return ["sh", "-c", f"echo {word} >> {world.file('started')}; touch {world.file(word)}; {then}"]


def test_each_starts_after_what_it_needs(world: World) -> None:
    begun = time.monotonic()
    status = world.run(
        Process("web", note(world, "web"), frozenset({"store", "prepare"}), marker=world.file("web")),
        Process("prepare", note(world, "prepare", "exit 0"), frozenset({"store"}), once=True),
        Process("store", note(world, "store"), marker=world.file("store")),
        on_up=stop,
    )

    assert status == 0
    assert time.monotonic() - begun < LOOK_EVERY  # nobody waits for the next look
    assert world.lines("started") == ["store", "prepare", "web"]
    assert world.left() == []


def test_a_process_is_ready_only_by_a_marker_of_this_start(world: World) -> None:
    world.file("web").touch()  # of the run before

    status = world.run(Process("web", FOREVER, marker=world.file("web"), within=0.3), on_up=stop)

    assert status == 1
    assert "web was not ready within 0.3 s" in world.said[-1]


def test_a_dead_process_is_started_again_and_all_is_ready_again(world: World) -> None:
    ups: list[int] = []

    def on_up() -> None:
        ups.append(1)
        if len(ups) == 2:
            stop()
        else:
            os.kill(int(world.lines("pid")[-1]), signal.SIGKILL)

    argv = ["sh", "-c", f"echo $$ >> {world.file('pid')}; touch {world.file('web')}; exec sleep 600"]
    status = world.run(Process("web", argv, marker=world.file("web")), on_up=on_up)

    assert status == 0
    assert len(world.lines("pid")) == 2
    assert "web ended (killed by SIGKILL); it is started again in 0.2 s" in world.said
    assert world.left() == []


def test_five_deaths_stop_everything_and_show_the_last_lines(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "RESTART_AFTER", (0.01,))

    status = world.run(
        Process("store", ENDS_WELL, stop_rank=4),
        Process("web", ["sh", "-c", f"echo x >> {world.file('runs')}; echo no such file as CONFIG; exit 3"]),
    )

    assert status == 1
    assert len(world.lines("runs")) == 5
    assert "web died 5 times within a minute (exit status 3); everything is stopped" in world.said[-1]
    assert "no such file as CONFIG" in world.said[-1]
    assert world.left() == []


def test_a_failed_preparation_stops_everything(world: World) -> None:
    status = world.run(
        Process("store", ENDS_WELL),
        Process("prepare", ["sh", "-c", "echo the disk is full; exit 1"], frozenset({"store"}), once=True),
        Process("web", note(world, "web"), frozenset({"prepare"})),
    )

    assert status == 1
    assert "prepare failed (exit status 1)" in world.said[-1]
    assert "the disk is full" in world.said[-1]
    assert world.lines("started") == []


def test_a_command_that_does_not_exist_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "RESTART_AFTER", (0.01,))

    assert world.run(Process("store", ["no-such-program"], marker=world.file("never"))) == 1
    assert "cannot run no-such-program" in world.said[-1]


def test_they_stop_in_order_and_by_sigterm(world: World) -> None:
    def ends(word: str, rank: int) -> Process:
        code = (
            "import pathlib, signal, sys\n"
            f"def end(*_):\n    open({str(world.file('ended'))!r}, 'a').write('{word}\\n'); sys.exit(0)\n"
            f"signal.signal(15, end); pathlib.Path({str(world.file(word))!r}).touch()\n"
            "while True: signal.pause()"
        )
        return Process(word, [sys.executable, "-c", code], marker=world.file(word), stop_rank=rank)

    status = world.run(ends("store", 4), ends("web", 0), ends("worker", 2), on_up=stop)

    assert status == 0
    assert world.lines("ended") == ["web", "worker", "store"]


def test_sigterm_reaches_the_command_and_not_what_it_started(world: World) -> None:
    # The child of the command notes a SIGTERM; the command waits for it to be killed by the leash instead.
    below = f"trap 'echo term >> {world.file('below')}' TERM; touch {world.file('web')}; while :; do sleep 0.05; done"
    argv = ["sh", "-c", f"(sh -c \"{below}\") & trap 'exit 0' TERM; wait"]

    assert world.run(Process("web", argv, marker=world.file("web")), on_up=stop) == 0
    assert world.lines("below") == []
    assert world.left() == []


def test_one_that_ignores_sigterm_is_killed_after_its_grace(world: World) -> None:
    argv = ["sh", "-c", f"trap '' TERM; touch {world.file('web')}; while :; do sleep 0.05; done"]

    assert world.run(Process("web", argv, marker=world.file("web"), grace=0.3), on_up=stop) == 0
    assert world.left() == []


def test_a_second_signal_takes_the_grace_away(world: World) -> None:
    argv = [
        "sh",
        "-c",
        f"trap 'kill -INT {os.getpid()}' TERM; touch {world.file('web')}; while :; do sleep 0.05; done",
    ]

    assert world.run(Process("web", argv, marker=world.file("web"), grace=100), on_up=stop) == 0
    assert world.left() == []


def test_what_a_process_leaves_behind_in_a_session_of_its_own_is_killed(world: World) -> None:
    argv = ["sh", "-c", f"setsid sleep 600 & touch {world.file('web')}; exec sleep 600"]

    assert world.run(Process("web", argv, marker=world.file("web")), on_up=stop) == 0
    assert world.left() == []


def test_a_log_of_an_earlier_run_is_kept_beside(world: World) -> None:
    argv = ["sh", "-c", f"echo hello; touch {world.file('web')}; exec sleep 600"]
    web = Process("web", argv, marker=world.file("web"))

    world.run(web, on_up=stop)
    world.run(web, on_up=stop)

    assert world.lines("web.log") == world.lines("web.log.1") == ["hello"]


def test_ready_by_a_probe(world: World) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    serve = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]

    def answers() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    assert world.run(Process("web", serve, ready=answers), on_up=stop) == 0
    assert any(line.startswith("web is ready") for line in world.said)


def test_a_process_that_hangs_is_killed_and_started_again(world: World) -> None:
    """It answers by touching a file; stopped, it does neither that nor anything else."""

    def alive() -> bool:
        said = world.file("web").stat().st_mtime
        if len(world.lines("started")) == 2:
            stop()
        elif len(world.lines("pid")) == 1:
            os.kill(int(world.lines("pid")[0]), signal.SIGSTOP)
        return time.time() - said < 0.1

    script = f"echo web >>{world.file('started')}; echo $$ >>{world.file('pid')}; "
    script += f"while :; do touch {world.file('web')}; sleep 0.02; done"
    status = world.run(Process("web", ["sh", "-c", script], marker=world.file("web"), alive=alive, silence=0.3))

    assert status == 0
    assert world.lines("started") == ["web", "web"]
    assert any("it is killed" in line for line in world.said)
    assert world.left() == []


def test_one_that_answers_is_left_alone(world: World) -> None:
    asked: list[float] = []

    def alive() -> bool:
        asked.append(time.monotonic())
        if len(asked) == 8:
            stop()
        return len(asked) % 2 == 0  # now and then it is too busy

    status = world.run(Process("web", note(world, "web"), marker=world.file("web"), alive=alive, silence=0.3))

    assert (status, world.lines("started")) == (0, ["web"])
