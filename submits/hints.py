"""Hints on their way to the pages: a thread of each process sends them, so that nobody waits for the store.

A hint is a message to a group of pages; of each group only the newest counts, and one that is lost is only a later
look. The thread keeps its event loop, and so its connection to the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from channels.layers import get_channel_layer

log = logging.getLogger(__name__)
HINT, QUIET = 1.0, 5.0  # seconds the store may take for one; seconds it is left alone after one that failed
GROUPS = 100  # whose hints may wait at once
Message = dict[str, Any]


async def send(group: str, message: Message) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(group, message)


class Hints:
    """Those that wait, and the thread that sends them. `give` neither blocks nor raises, whatever the store does.

    Without a lock between the two: each step on `waiting` is one that Python does whole.
    """

    def __init__(self, send: Callable[[str, Message], Awaitable[None]] = send) -> None:
        self.send = send
        self.begin_anew()
        os.register_at_fork(after_in_child=self.begin_anew)

    def begin_anew(self) -> None:
        """Also in a child after a fork: the thread is not there, and what it had locked would stay so."""
        self.waiting: dict[str, Message] = {}  # by group
        self.news = threading.Event()
        self.starting = threading.Lock()
        self.thread: threading.Thread | None = None

    def give(self, group: str, message: Message) -> None:
        if group not in self.waiting and len(self.waiting) >= GROUPS:
            return
        self.waiting[group] = message
        self.news.set()
        if self.thread is None or not self.thread.is_alive():
            self.start()

    def start(self) -> None:
        if not self.starting.acquire(blocking=False):
            return  # somebody else is at it
        try:
            if self.thread is None or not self.thread.is_alive():
                self.thread = threading.Thread(target=self.run, name="hints", daemon=True)
                self.thread.start()
        except RuntimeError as error:  # no thread is to be had, or the process ends
            log.warning("hints are not sent: %s", error)
        finally:
            self.starting.release()

    def run(self) -> None:
        """The thread. After one that failed it leaves the store alone for a while; what comes meanwhile is kept."""
        with asyncio.Runner() as runner:
            while True:
                self.news.wait()
                self.news.clear()
                while self.waiting:
                    group, message = self.waiting.popitem()
                    try:
                        runner.run(self.within(group, message))
                    except Exception as error:  # whatever the store's client raises: pages look again by themselves
                        log.warning("live hint not sent: %s", str(error) or type(error).__name__)
                        time.sleep(QUIET)

    async def within(self, group: str, message: Message) -> None:
        await asyncio.wait_for(self.send(group, message), HINT)


HINTS = Hints()
