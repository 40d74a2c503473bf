"""One `up` to a state directory, and a port that is free. The lock is held by the supervisor and by every leash,
so it comes free only when nothing of the last run is left, also after the supervisor was killed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coordui.layout import Layout, write_secret

LAST_RUN_ENDS_WITHIN = 20.0  # seconds


class Refused(Exception):
    """`up` does not start; the text says why and what to do."""


@contextmanager
def claimed(layout: Layout) -> Iterator[int]:
    """Hold the state directory. Yields the descriptor of the lock, for the leashes to keep too."""
    descriptor = os.open(layout.lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        _lock(descriptor, layout)
        layout.running.unlink(missing_ok=True)
        layout.ready.unlink(missing_ok=True)
        try:
            yield descriptor
        finally:
            layout.running.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def record(layout: Layout, address: str) -> None:
    """Who holds it, for a second `up` to say."""
    write_secret(layout.running, json.dumps({"pid": os.getpid(), "born": born(os.getpid()), "address": address}))


def _lock(descriptor: int, layout: Layout) -> None:
    patience = time.monotonic() + LAST_RUN_ENDS_WITHIN
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            _refuse_if_running(layout)
        if time.monotonic() > patience:
            raise Refused(
                f"An earlier run on {layout.root} has not ended yet. `fuser {layout.lock}` names what is left."
            )
        time.sleep(0.05)


def _refuse_if_running(layout: Layout) -> None:
    try:
        other = json.loads(layout.running.read_text())
        living = born(other["pid"]) == other["born"]
    except (OSError, ValueError, KeyError):
        return  # it has only just begun, or is just ending
    if living:
        raise Refused(
            f"coordui already runs on {layout.root}: pid {other['pid']}, {other['address']}\n"
            f"Stop it there with Ctrl-C or with `kill {other['pid']}`, "
            "or keep a second one elsewhere: make up COORDUI_STATE=DIR PORT=NUMBER"
        )


def born(pid: int) -> int:
    """When it started, in clock ticks since boot: tells a process from a later one of the same pid."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def free_port(listen: str, wanted: int) -> int:
    """`wanted` if it is free, or any free one for 0. Another may still take it before our server does."""
    family = socket.AF_INET6 if ":" in listen else socket.AF_INET
    with socket.socket(family) as probe:
        # As the server itself does it: connections of an earlier run that still linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((listen, wanted))
        except PermissionError:
            raise Refused(f"Port {wanted} is not for this user: choose another, as in make up PORT=8001") from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Refused(f"Port {wanted} on {listen} is taken: choose another, as in make up PORT=8001") from None
            raise Refused(f"Cannot listen on {listen} (COORDUI_LISTEN): {error.strerror}") from None
        return int(probe.getsockname()[1])
