"""The leash, as a program: whatever happens to its holder, nothing it started goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

LEASH = [sys.executable, "-I", "-S", str(Path(__file__).parents[1] / "submits" / "leash.py")]


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


class Leashed:
    def __init__(self, *command: str, options: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [*LEASH, *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def wait(self) -> int:
        return self.process.wait(15)


@pytest.fixture
def leashed() -> Iterator[Callable[..., Leashed]]:
    made: list[Leashed] = []

    def start(*command: str, options: tuple[str, ...] = ()) -> Leashed:
        made.append(Leashed(*command, options=options))
        return made[-1]

    yield start
    for one in made:
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            if stream:
                stream.close()
        one.wait()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False


def pids(path: Path, wanted: int) -> list[int]:
    """The process ids that a test's command has written down, once there are enough."""
    assert until(lambda: path.exists() and len(path.read_text().split()) >= wanted)
    return [int(word) for word in path.read_text().split()]


# A shell, a child in a session of its own, and a grandchild whose parent has ended.
FAMILY = "echo $$ >>{0}; setsid sh -c 'echo $$ >>{0}; sleep 300' & (sh -c 'echo $$ >>{0}; sleep 300' &) ; sleep 300"


def test_it_ends_with_the_commands_own_status(leashed: Callable[..., Leashed]) -> None:
    assert leashed("sh", "-c", "exit 7").wait() == 7
    assert leashed("sh", "-c", "kill -9 $$").wait() == 137


def test_a_command_that_does_not_exist_is_said_and_is_no_success(leashed: Callable[..., Leashed]) -> None:
    one = leashed("no-such-program")
    assert one.wait() == 127
    assert one.process.stderr
    assert b"cannot run no-such-program" in one.process.stderr.read()


def test_the_end_of_the_pipe_kills_the_whole_family(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    one = leashed("sh", "-c", FAMILY.format(tmp_path / "pids"))
    family = pids(tmp_path / "pids", 3)
    assert all(map(alive, family))
    one.close()
    assert one.wait() == 124
    assert not any(map(alive, family))


def test_what_a_command_leaves_behind_is_killed_when_it_ends(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    one = leashed(
        "sh", "-c", f"setsid sh -c 'echo $$ >>{tmp_path}/pids; sleep 300' & while [ ! -s {tmp_path}/pids ]; do :; done"
    )
    assert one.wait() == 0
    assert not alive(pids(tmp_path / "pids", 1)[0])


def test_silence_kills_and_a_heartbeat_puts_it_off(leashed: Callable[..., Leashed]) -> None:
    one = leashed("sleep", "300", options=("--within", "0.8"))
    started = boot()
    while boot() - started < 1.6:
        one.write(b"beat %.6f\n" % boot())
        time.sleep(0.1)
    assert one.process.poll() is None
    assert one.wait() == 124
    assert boot() - started >= 2.3


def test_a_heartbeat_counts_from_when_it_was_sent(leashed: Callable[..., Leashed]) -> None:
    one = leashed("sleep", "300", options=("--within", "30"))
    one.write(b"beat %.6f\n" % (boot() - 100))
    one.write(b"beat %.6f\n" % (boot() - 29.5))
    assert not until(lambda: one.process.poll() is not None, 0.5)  # the first 30 s, from its start, still run
    short = leashed("sleep", "300", options=("--within", "0.5"))
    short.write(b"beat %.6f\n" % (boot() - 100))
    assert short.wait() == 124
    one.close()


def test_term_gives_a_grace_and_then_kills(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    kind = leashed(
        "sh",
        "-c",
        f"trap 'echo bye >{tmp_path}/bye; exit 3' TERM; echo $$ >{tmp_path}/pids; while :; do sleep 0.05; done",
    )
    pids(tmp_path / "pids", 1)
    kind.write(b"term\n")
    assert kind.wait() == 3
    assert (tmp_path / "bye").read_text() == "bye\n"
    stubborn = leashed("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done", options=("--grace", "0.3"))
    assert stubborn.process.stdout
    assert stubborn.process.stdout.readline() == b"up\n"
    stubborn.write(b"term\n")
    assert stubborn.wait() == 137


def test_a_term_may_bring_its_own_grace_and_a_second_one_a_shorter(leashed: Callable[..., Leashed]) -> None:
    for words in ((b"term 0.2\n",), (b"term 60\n", b"term 0.2\n"), (b"term 60\n", b"term 0\n"), (b"term 0\n",)):
        one = leashed("sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done")
        assert one.process.stdout
        assert one.process.stdout.readline() == b"up\n"
        for word in words:
            one.write(word)
        assert one.wait() == 137
    kind = leashed("sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done")
    assert kind.process.stdout
    assert kind.process.stdout.readline() == b"up\n"
    kind.write(b"term 0\n")
    assert kind.wait() == 137


def test_an_end_that_nobody_asked_for_is_written_down(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    for name, script in (("own", "exit 5"), ("killed", "kill -9 $$"), ("told", "sleep 300"), ("gone", "sleep 300")):
        one = leashed("sh", "-c", script, options=("--result", str(tmp_path / name)))
        if name == "told":
            one.write(b"term\n")
        if name == "gone":
            one.close()
        one.wait()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"own": "5\n", "killed": "137\n"}


def test_the_death_of_the_holder_is_the_end_of_the_pipe(tmp_path: Path) -> None:
    command = [*LEASH, "--", "sh", "-c", FAMILY.format(tmp_path / "pids")]
    script = f"import subprocess, time\nsubprocess.Popen({command!r}, stdin=subprocess.PIPE)\ntime.sleep(300)\n"
    holder = subprocess.Popen([sys.executable, "-c", script])
    family = pids(tmp_path / "pids", 3)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert until(lambda: not any(map(alive, family)))


def test_the_command_dies_with_a_leash_that_is_killed(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    one = leashed("sh", "-c", f"echo $$ >{tmp_path}/pids; exec sleep 300")
    (pid,) = pids(tmp_path / "pids", 1)
    one.process.kill()
    assert until(lambda: not alive(pid))


def test_a_command_is_not_started_too_long_after_the_heartbeat(leashed: Callable[..., Leashed], tmp_path: Path) -> None:
    """Its holder was stopped between its last heartbeat and the start: another may hold the gate by now."""
    late = f"{boot() - 41:.6f}"
    one = leashed("sh", "-c", f"echo up >{tmp_path}/up", options=("--within", "40", "--since", late))
    assert one.wait() == 124
    assert not (tmp_path / "up").exists()
    soon = leashed("sleep", "300", options=("--within", "40", "--since", f"{boot() - 39.5:.6f}"))
    assert soon.wait() == 124
