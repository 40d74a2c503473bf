"""Processes of Pods that outlived the server that started them, known by a variable in their environment.

A leash kills what is below it within milliseconds of its server's death, but one that was stopped cannot. Before any
Pod starts again, nothing of the last run may be left. The limit: of a leash that was itself killed, a process that
has also emptied its environment is not found.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

CLUSTER_MARK = "COORDUI_CLUSTER_ID"
POD_MARK = "COORDUI_POD_UID"
CONTAINER_MARK = "COORDUI_CONTAINER"
_PATIENCE = 0.5
_LIMIT = 30.0


def _is_marked(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return wanted in file.read().split(b"\0")
    except OSError:
        return False


def marked(name: str, value: str) -> list[int]:
    """Every living process with this variable in the environment it was started with."""
    wanted = f"{name}={value}".encode()
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [pid for pid in pids if pid != os.getpid() and _is_marked(pid, wanted)]


def kill_marked(name: str, value: str) -> None:
    for pid in marked(name, value):
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            # Looked at again with the process held: its number may have become another's in between.
            if _is_marked(pid, f"{name}={value}".encode()):
                for sig in (signal.SIGKILL, signal.SIGCONT):
                    signal.pidfd_send_signal(process, sig)
        except ProcessLookupError:
            pass
        finally:
            os.close(process)


async def wait_until_none(name: str, value: str) -> None:
    """Give the leashes a moment to do it, then kill what is left, again and again until nothing is."""
    start = time.monotonic()
    while left := marked(name, value):
        waited = time.monotonic() - start
        if waited > _LIMIT:
            raise RuntimeError(f"processes of Pods cannot be killed: {left}")
        if waited > _PATIENCE:
            kill_marked(name, value)
        await asyncio.sleep(0.01)
