"""The transport of a loop that must not stand still while the API server hangs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from submits.cluster.connection import Connection
from submits.cluster.transport import HttpTransport, Response
from submits.gates.ports import ClusterError, Unanswered

PATIENCE = 3.0  # seconds for an answer


class NotAsked(ClusterError):
    """A request of this round had no answer, so this one was not sent."""


class Brisk(HttpTransport):
    """After a request that had no answer none is sent until the next `round`: whatever rows there are, a round costs
    the patience for one. A refusal, a 5xx among them, is an answer."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, PATIENCE)
        self.hangs = False

    def round(self) -> None:
        self.hangs = False

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        if self.hangs:
            raise NotAsked(f"{method} {path}: not sent, the cluster did not answer a moment ago")
        try:
            return super().request(method, path, query, body, content_type)
        except Unanswered:
            self.hangs = True
            raise
