"""The server: one state directory, one address, the API over TLS and the runner behind it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import uvicorn
from starlette.types import ASGIApp

from .access import credentials
from .clock import Clock
from .core import Core
from .faults import Faults
from .http.api import Api
from .http.connection import Connection
from .http.faulty import Faulty
from .manifests import apply_manifests
from .runner.node import Size
from .runner.runner import Runner

REQUEST_GRACE = 3.0


class CannotStart(Exception):
    """A sentence for whoever started it."""


@dataclass(frozen=True)
class Settings:
    state: Path
    port: int | None = None  # None: the one of the last start if it is free, else one the system chooses
    run_jobs: bool = True
    durable: bool = False  # survive a power cut too, for slower writes
    fault_door: bool = False
    first_retry: float = 1.0  # seconds until a failed Pod of a Job is tried again; doubles
    size: Size = field(default_factory=Size)  # what Pods may ask for together
    manifests: tuple[Path, ...] = ()  # YAML files that are applied at every start
    namespace: str = "default"  # where to


class _Uvicorn(uvicorn.Server):
    """Signals are the program's business, and nothing ticks while nothing happens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.stopping = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self.stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Requests get a moment to end. Then connections are cut: TLS waits long for a client that does not read."""
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        state = self.server_state
        for connection in tuple(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(tuple(state.tasks), timeout=REQUEST_GRACE)
        for _ in range(20):
            if not state.connections:
                return
            await asyncio.sleep(0.005)
        for connection in tuple(state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(0.005)


class ClusterServer:
    """Made, started and stopped in one event loop. Keeps DIR/kubeconfig, and all else in DIR/cluster."""

    def __init__(self, settings: Settings, faults: Faults | None = None) -> None:
        self.settings = settings
        self.faults = faults or Faults(Clock())
        self.url = ""
        self.kubeconfig = settings.state.absolute() / "kubeconfig"
        self.credentials: credentials.Credentials
        self.core: Core
        self.api: Api
        self.runner: Runner | None = None
        self._lock: IO[str] | None = None

    async def start(self) -> None:
        """Returns when the API answers and Jobs run; the kubeconfig is written before that."""
        state = self.kubeconfig.parent / "cluster"
        state.mkdir(parents=True, exist_ok=True)
        state.chmod(0o700)
        with contextlib.ExitStack() as opened:
            listener = self._open(state, opened)
            opened.pop_all()  # from here on it is stop() that closes them
        port, found, settings = listener.getsockname()[1], self.credentials, self.settings
        self.url = f"https://{credentials.HOST}:{port}"
        if settings.run_jobs:
            accounts = self.api.accounts
            self.runner = Runner(self.core, state, found, accounts, port, settings.first_retry, settings.size)
            self.api.logs = self.runner.kubelet.logs
        self._uvicorn = _Uvicorn(_config(Faulty(self.api, self.faults, self.core.store), self.credentials.server))
        self._serving = asyncio.create_task(self._uvicorn.serve([listener]))
        await self._uvicorn.ready.wait()
        if self.runner is not None:
            await self.runner.start()
        credentials.write_private(self.kubeconfig, credentials.kubeconfig_text(self.url, self.credentials))
        credentials.write_private(state / "address.json", json.dumps({"port": port}))

    def _open(self, state: Path, opened: contextlib.ExitStack) -> socket.socket:
        """What has to be there before anybody is answered; the listening socket. Raises CannotStart."""
        settings = self.settings
        self._lock = opened.enter_context(_locked(state))
        self.credentials = found = credentials.load_or_make(state)
        listener = opened.enter_context(_listener(state, settings.port))
        self.core = Core(_private(state / "cluster.sqlite3"), self.faults.clock, durable=settings.durable)
        opened.callback(self.core.close)
        self.api = Api(self.core, found.token, self.faults, fault_door=settings.fault_door, ca=found.ca_text)
        try:
            apply_manifests(self.core.registry, settings.manifests, settings.namespace)
        except ValueError as why:
            raise CannotStart(str(why)) from None
        return listener

    async def stop(self) -> None:
        """Pods' processes first, then watches, then requests, then the database."""
        if self.runner is not None:
            await self.runner.stop()
        self.api.hub.close()
        self._uvicorn.stopping.set()
        await self._serving
        self.core.close()
        if self._lock is not None:
            self._lock.close()


def _config(app: ASGIApp, key_and_certificate: Path) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        date_header=False,
        server_header=False,
        ssl_certfile=key_and_certificate,
        ssl_keyfile=key_and_certificate,
        timeout_keep_alive=75,
    )


def _private(database: Path) -> Path:
    """SQLite makes the files beside it as readable as the database itself."""
    database.touch(0o600)
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            database.with_name(database.name + suffix).chmod(0o600)
    return database


def _locked(state: Path) -> IO[str]:
    lock = (state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        words = f"an embedded cluster already runs on {state}: stop it first, or choose another --state"
        raise CannotStart(words) from None
    return lock


def _listener(state: Path, port: int | None) -> socket.socket:
    last = 0
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        last = int(json.loads((state / "address.json").read_text())["port"])
    for candidate in [port] if port is not None else [last, 0]:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((credentials.HOST, candidate))
            listener.listen(2048)
        except OSError:
            listener.close()
            continue
        return listener
    raise CannotStart(f"port {port} of {credentials.HOST} is taken: choose another --port, or leave it out")
