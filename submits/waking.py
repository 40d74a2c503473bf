"""Waking rows: a message to a worker, or, when the broker refuses it, the same flow in a child of our own."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

from celery import Task
from django.conf import settings

from submits import tasks

log = logging.getLogger(__name__)
AGAIN = 2.0  # seconds after which a row that is still asleep is woken once more
AWAY = 10.0  # seconds for which a broker that has refused is not asked again: a refusal may take seconds
CHILDREN = 2  # flows at once while the broker is away


class Waker:
    """Woken twice is harmless: the flow begins with a claim that one caller wins."""

    def __init__(self) -> None:
        self.woken: dict[tuple[str, int, int], float] = {}
        self.children: dict[int, subprocess.Popen[bytes]] = {}  # by the row's primary key
        self.refused_at = -AWAY

    def wake(self, task: Task[[int], None], pk: int, now: float, attempt: int = 0) -> None:
        """`now`: seconds of the caller's clock, which nobody sets. `attempt`: the row's; a new one tells that the
        try it was woken for has ended."""
        key = (task.name or "", pk, attempt)
        if now - self.woken.get(key, -AGAIN) < AGAIN:
            return
        self.woken[key] = now
        if len(self.woken) > 10_000:
            self.woken = {known: at for known, at in self.woken.items() if now - at < AGAIN}
        if now - self.refused_at < AWAY or not tasks.send(task, pk):
            if now - self.refused_at >= AWAY:
                self.refused_at = now
            self.run_here(pk)

    def run_here(self, pk: int) -> None:
        self.children = {key: child for key, child in self.children.items() if child.poll() is None}
        if pk in self.children or len(self.children) >= CHILDREN:
            return
        command: list[Any] = [sys.executable, Path(settings.BASE_DIR) / "manage.py", "runsearch", str(pk)]
        log.warning("running submission %s here, without the broker", pk)
        try:
            self.children[pk] = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        except OSError as error:
            log.error("submission %s cannot be run here: %s", pk, error)
