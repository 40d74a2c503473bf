"""The witness of the submits sees what overlaps, and only that."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.story.audit import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def living() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait(10)


def sign(journal: Journal, *lines: tuple[str, str, int]) -> None:
    with journal.path.open("a") as file:
        file.writelines(f"{word} {run} {pid} 1.0\n" for word, run, pid in lines)
    journal.look()


def test_one_after_the_other_is_no_overlap(journal: Journal) -> None:
    sign(journal, ("start", "a", 1), ("end", "a", 1), ("start", "b", os.getpid()), ("end", "b", os.getpid()))
    assert journal.overlaps == set() and journal.started == {"a": 1, "b": 1}


def test_two_that_sign_out_across_each_other_overlap_also_when_both_are_gone(journal: Journal) -> None:
    gone = 2**22 + 1  # no process can have this number
    sign(journal, ("start", "a", gone), ("start", "b", gone + 1), ("end", "a", gone), ("end", "b", gone + 1))
    assert journal.overlaps == {"b while a"}


def test_one_that_never_signs_out_overlaps_while_it_lives(journal: Journal, living: subprocess.Popen[bytes]) -> None:
    sign(journal, ("start", "a", living.pid))
    sign(journal, ("start", "b", os.getpid()), ("end", "b", os.getpid()))
    assert journal.overlaps == {"b while a"}


def test_one_that_was_killed_overlaps_with_nobody_after_it(journal: Journal, living: subprocess.Popen[bytes]) -> None:
    sign(journal, ("start", "a", living.pid))
    living.kill()  # not yet reaped
    os.waitid(os.P_PID, living.pid, os.WEXITED | os.WNOWAIT)
    sign(journal, ("start", "b", os.getpid()), ("end", "b", os.getpid()))
    assert journal.overlaps == set()
