"""A key-value store of a test's own: the product's server, as its child, on a socket in a short directory."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from coordui.onebox.supervisor import probes
from coordui.onebox.supervisor.specs import server_program
from tests.world import until


class RunningStore:
    def __init__(self, directory: Path) -> None:
        self.socket = directory / "s"
        self.url = f"unix://{self.socket}"
        argv = [
            server_program(),
            "--port",
            "0",
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
            "--dir",
            str(directory),
        ]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        until(lambda: probes.store(self.socket))

    @property
    def client(self) -> Any:  # its answers are typed for both the blocking and the other client
        return Redis.from_url(self.url, decode_responses=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)


@contextmanager
def running_store() -> Iterator[RunningStore]:
    directory = Path(tempfile.mkdtemp(prefix="store-", dir="/tmp"))  # a socket's path is at most 107 bytes long
    store = RunningStore(directory)
    try:
        yield store
    finally:
        store.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def keys() -> Iterator[RunningStore]:
    with running_store() as running:
        yield running


@pytest.fixture
def store(keys: RunningStore) -> RunningStore:
    """A module's store, empty."""
    keys.client.flushall()
    return keys
