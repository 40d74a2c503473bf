"""Processes of Pods that outlived the server that started them, known by a variable in their environment.

A leash kills what is below it within milliseconds of its server's death, but one that was stopped cannot. Before any
Pod starts again, nothing of the last run may be left.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

CLUSTER_MARK = "COORDUI_CLUSTER_ID"
POD_MARK = "COORDUI_POD_UID"
_PATIENCE = 3.0
_LIMIT = 30.0


def marked(name: str, value: str) -> list[int]:
    """Every living process with this variable in the environment it was started with."""
    wanted, found = f"{name}={value}".encode(), []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue
    return found


def kill_marked(name: str, value: str) -> None:
    for pid in marked(name, value):
        for sig in (signal.SIGKILL, signal.SIGCONT):
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                break


async def wait_until_none(name: str, value: str) -> None:
    """Give the leashes a moment to do it, then kill what is left, again and again until nothing is."""
    start = time.monotonic()
    while marked(name, value):
        waited = time.monotonic() - start
        if waited > _LIMIT:
            raise RuntimeError(f"processes of Pods cannot be killed: {marked(name, value)}")
        if waited > _PATIENCE:
            kill_marked(name, value)
        await asyncio.sleep(0.01)
