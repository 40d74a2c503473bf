"""One connection for each process and address, kept from one try to the next.

A new one costs the reading of a kubeconfig and a TLS handshake. It is made anew after a request without an answer, when
the files that describe the address have changed, and in a child after a fork: two processes on one TLS socket would
read each other's answers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from submits.cluster.connection import Connection, service_account
from submits.cluster.pinned import pinned_kubeconfig
from submits.cluster.transport import HttpTransport, Response
from submits.cluster.verbs import ApiCluster
from submits.gates.ports import Unanswered

# Seconds without a request after which a socket is not relied on: API servers close an idle one after 90 s, and
# balancers forget it after some minutes without a word.
IDLE = 45.0
ADDRESSES = 8  # kept at once

State = tuple[tuple[str, int, int, int] | None, ...]


def state_of(connection: Connection) -> State:
    """What would tell that the files which describe an address were written since: path, inode, size and time."""
    if connection.kubeconfig:
        return tuple(map(seen, connection.kubeconfig.split(os.pathsep)))
    return tuple(seen(service_account() / name) for name in ("ca.crt", "token"))


def seen(path: str | os.PathLike[str]) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns


class Lasting(HttpTransport):
    """Knows whether it may be gone on with. Raises NotConfigured when it is made."""

    def __init__(self, connection: Connection) -> None:
        self.state = state_of(connection)  # before the files are read: what is written meanwhile is a change
        self.failed, self.used = False, time.monotonic()
        super().__init__(connection)

    @cached_property
    def pinned(self) -> str:
        return pinned_kubeconfig(self.connection)

    def is_fit(self) -> bool:
        return not self.failed and self.state == state_of(self.connection)

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        if time.monotonic() - self.used > IDLE:
            self.pool.clear()
        try:
            return super().request(method, path, query, body, content_type)
        except Unanswered:
            self.failed = True
            raise
        finally:
            self.used = time.monotonic()


class Kept:
    """What this process is connected to. Raises NotConfigured when an address cannot be read."""

    def __init__(self) -> None:
        self.begin_anew()
        os.register_at_fork(after_in_child=self.begin_anew)

    def begin_anew(self) -> None:
        """Also in a child after a fork."""
        self.transports: dict[Connection, Lasting] = {}

    def connect(self, connection: Connection) -> ApiCluster:
        return ApiCluster(self.fit(connection), connection.namespace)

    def pinned(self, connection: Connection) -> str:
        """The same address as a kubeconfig: `pinned_kubeconfig`."""
        return self.fit(connection).pinned

    def fit(self, connection: Connection) -> Lasting:
        transport = self.transports.get(connection)
        if transport is None or not transport.is_fit():
            transport = Lasting(connection)
            if len(self.transports) >= ADDRESSES:
                self.transports.clear()
            self.transports[connection] = transport
        return transport


KEPT = Kept()
