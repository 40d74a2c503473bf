"""Waking a row: by a message; and, while the broker refuses, by a child that runs the same flow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu.exceptions import OperationalError
from pytest_django import Settings

from submits.waking import AGAIN, AWAY, CHILDREN, Waker
from tests.world import until


class Task:
    """What the waker knows of a task."""

    name = "search"

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.refuses = False

    def delay(self, pk: int) -> None:
        self.sent.append(pk)
        if self.refuses:
            raise OperationalError("away")


@pytest.fixture
def task() -> Any:
    return Task()


@pytest.fixture
def ran(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """Where each child writes its arguments; it lives until `end` is there, at the latest when the test is over."""
    place = tmp_path / "ran"
    settings.BASE_DIR = tmp_path
    (tmp_path / "manage.py").write_text(
        f"import os, sys, time\nopen({str(place)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        f"while not os.path.exists({str(tmp_path / 'end')!r}): time.sleep(0.01)\n"
    )
    yield place
    (tmp_path / "end").touch()


def lines(place: Path) -> list[str]:
    return sorted(place.read_text().splitlines()) if place.exists() else []


def test_a_row_is_woken_by_a_message_and_not_again_at_once(task: Any, ran: Path) -> None:
    waker = Waker()
    waker.wake(task, 1, 100.0)
    waker.wake(task, 1, 100.0 + AGAIN / 2)
    waker.wake(task, 2, 100.0 + AGAIN / 2)
    waker.wake(task, 1, 100.0 + AGAIN)
    assert task.sent == [1, 2, 1]
    assert waker.children == {} and not ran.exists()


def test_a_row_whose_try_has_ended_is_woken_at_once(task: Any, ran: Path) -> None:
    """The head of the line is shut out, and the gate comes free a moment later."""
    waker = Waker()
    for attempt in (1, 1, 2, 2):
        waker.wake(task, 1, 100.0, attempt)
    assert task.sent == [1, 1]


def test_while_the_broker_is_away_each_row_has_one_child_and_few_have_one_at_once(task: Any, ran: Path) -> None:
    waker, task.refuses = Waker(), True
    for turn in range(3):
        waker.wake(task, 1, 100.0 + AGAIN * turn)
    for pk in range(1, CHILDREN + 2):
        waker.wake(task, pk, 100.0 + AGAIN * 3)
    assert task.sent == [1]  # a broker that has just refused is not asked again
    until(lambda: lines(ran) == [f"runsearch {pk}" for pk in range(1, CHILDREN + 1)])
    (ran.parent / "end").touch()
    until(lambda: all(child.poll() is not None for child in waker.children.values()))
    waker.wake(task, CHILDREN + 1, 100.0 + 4 * AGAIN)
    until(lambda: len(lines(ran)) == CHILDREN + 1)
    task.refuses = False
    waker.wake(task, 1, 100.0 + AWAY)
    assert task.sent == [1, 1]
    for child in waker.children.values():
        child.wait(10)


def test_a_child_that_cannot_be_started_stops_nothing(task: Any, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task.refuses = True
    monkeypatch.setattr("sys.executable", str(ran.parent / "no-such-program"))
    waker = Waker()
    waker.wake(task, 1, 100.0)
    assert waker.children == {}
