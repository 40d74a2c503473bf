"""The product's own transport, with what happens between two of its requests: another's doings, a crash, a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from submits.cluster import ApiCluster, Connection
from submits.cluster.transport import HttpTransport, Response, Transport
from submits.gates.ports import Knobs, Rules, Times
from tests.gates.trying import Try
from tests.onebox.cluster.fixtures import RunningCluster

# Short is only what a test waits for; nothing is late because the machine is busy, and the server's clock can be moved.
CALM = Times(quiet_after_exit=0.1, quiet_after_kill=0.3, between_looks=0.01, release_for=0.6)


class Calm(Try):
    """A try by those times. `beat`: seconds between heartbeats, where a test waits for one."""

    def __init__(self, cluster: ApiCluster, number: int = 1, beat: float = 10, **knobs: Any) -> None:
        super().__init__(cluster, number)
        self.rules = Rules(Knobs(**knobs), replace(CALM, heartbeat=beat))


class Dead(BaseException):
    """The process is gone: nothing that it sends arrives any more, so none of its own clearing up does."""


@dataclass
class Sent:
    method: str
    path: str
    body: Any

    @property
    def words(self) -> str:
        """`PATCH leases/elb-blast-submit-default`, with `?` and what was asked for behind a LIST."""
        return f"{self.method} {self.path.split('/namespaces/')[-1].partition('/')[2]}"


@dataclass
class Meanwhile:
    """Done once, at the first request that fits: before it is sent, or before its answer is read."""

    pattern: str
    do: Callable[[], object]
    after: bool = False
    skip: int = 0
    done: bool = False

    def takes(self, sent: Sent) -> bool:
        if self.done or not re.search(self.pattern, sent.words):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.done = True
        return True


@dataclass
class Refusal:
    """In the words of the server, a plugin or a webhook, in place of what would be done."""

    pattern: str
    words: str
    code: int
    reason: str
    headers: dict[str, str]

    def answer(self) -> Response:
        status = {"kind": "Status", "status": "Failure", "reason": self.reason, "message": self.words}
        return Response(self.code, self.headers, json.dumps({**status, "code": self.code}).encode())


@dataclass
class Wire:
    """A `Transport` over another, with a log of what was sent."""

    inner: Transport
    sent: list[Sent] = field(default_factory=list)
    meanwhile: list[Meanwhile] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    dies_at: int | None = None  # the request, counted from 0, whose answer the process does not live to see

    def before(self, pattern: str, do: Callable[[], object], skip: int = 0) -> Meanwhile:
        self.meanwhile.append(Meanwhile(pattern, do, skip=skip))
        return self.meanwhile[-1]

    def after(self, pattern: str, do: Callable[[], object], skip: int = 0) -> Meanwhile:
        self.meanwhile.append(Meanwhile(pattern, do, after=True, skip=skip))
        return self.meanwhile[-1]

    def refuse(self, pattern: str, words: str, code: int = 403, reason: str = "Forbidden", **headers: str) -> None:
        """From now on; a header `retry_after` is sent as Retry-After."""
        named = {name.replace("_", "-").title(): value for name, value in headers.items()}
        self.refusals.append(Refusal(pattern, words, code, reason, named))

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        asked = "?" + "&".join(query.values()) if query else ""
        sent, number = Sent(method, path + asked, body), len(self.sent)
        self.sent.append(sent)
        if self.dies_at is not None and number > self.dies_at:
            raise Dead
        waiting = [one for one in self.meanwhile if one.takes(sent)]
        for one in waiting:
            if not one.after:
                one.do()
        refusal = next((one for one in self.refusals if re.search(one.pattern, sent.words)), None)
        if refusal is not None:
            return refusal.answer()
        answer = self.inner.request(method, path, query, body, content_type)
        if number == self.dies_at:
            raise Dead
        for one in waiting:
            if one.after:
                one.do()
        return answer

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        return self.inner.stream(path, query, seconds)

    def log(self) -> list[str]:
        return [sent.words for sent in self.sent]


def wired(server: RunningCluster, namespace: str = "default") -> tuple[ApiCluster, Wire]:
    """A connection of its own to the embedded cluster, and its wire."""
    wire = Wire(HttpTransport(Connection(str(server.kubeconfig), namespace)))
    return ApiCluster(wire, namespace), wire


def later(server: RunningCluster, seconds: float) -> None:
    """The API server's clock goes on by so much, and nobody else's."""
    server.faults.clock.offset += seconds
