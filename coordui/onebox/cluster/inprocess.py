"""The API in the caller's own thread: no sockets, no threads, no event loop, an injected clock. For simulations.

    clock = Clock(lambda: simulated_now)
    cluster = LocalCluster(clock, seed=1)
    made = cluster.call("POST", "/apis/batch/v1/namespaces/default/jobs", body={"metadata": {...}, "spec": {...}})
    made.status, made.headers, made.body, made.json()
    watch = cluster.watch("/apis/batch/v1/namespaces/default/jobs", {"resourceVersion": "120"})
    watch.events()                            # what has happened since the last look; [] if nothing
    cluster.settle()                          # garbage collection that is due by the clock
    cluster.faults.add("drop_response", ...)  # see faults.py; a broken connection is a ConnectionResetError

It is the API of the server itself, from the path to the bytes of the answer, on a store in memory. No Jobs run: who
simulates one writes its status to .../jobs/NAME/status. The same seed and the same calls give the same answers.
"""

from __future__ import annotations

import heapq
import json
import random
import weakref
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.types import Message

from .bodies import schema
from .clock import Clock
from .core import Core
from .faults import Faults
from .http.api import Api
from .http.faulty import Faulty
from .http.responses import TAKE_STREAM, Stream
from .http.watches import Watch
from .storage.objects import CHANCE, dump
from .storage.resources import ALL

TOKEN = "in-process"  # noqa: S105  (nothing outside this process can present it)
JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class LocalTimers:
    """An event loop's clock without the loop: callbacks run in `run()`, when the clock says that they are due."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers = count()
        self._heap: list[tuple[float, int, LocalHandle]] = []

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> LocalHandle:
        return self.call_later(0.0, callback, *arguments)

    def call_later(self, delay: float, callback: Callable[..., object], *arguments: Any) -> LocalHandle:
        handle = LocalHandle(lambda: callback(*arguments))
        due = (self._clock.now() + timedelta(seconds=delay)).timestamp()
        heapq.heappush(self._heap, (due, next(self._numbers), handle))
        return handle

    def run(self) -> None:
        """Everything that is due, and what becomes due by it."""
        while self._heap and self._heap[0][0] <= self._clock.now().timestamp():
            heapq.heappop(self._heap)[2].run()


class LocalHandle:
    def __init__(self, work: Callable[[], object]) -> None:
        self._work: Callable[[], object] | None = work

    def cancel(self) -> None:
        self._work = None

    def run(self) -> None:
        if self._work is not None:
            self._work()


class LocalWatch:
    """A watch that is asked instead of waited for."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        # A watch that nobody holds any more is as good as one whose client has hung up.
        weakref.finalize(self, watch.close)

    def events(self) -> list[tuple[str, Any]]:
        """(type, object) of all that has happened since the last call; an ERROR is the last there will be."""
        lines = self._watch.take_all().splitlines()
        return [(event["type"], event["object"]) for event in map(json.loads, lines)]

    def close(self) -> None:
        self._watch.close()


class LocalCluster:
    """`sleep` is called with the seconds of a `delay` fault and may move the clock; without it there are none.
    `seed` makes uids and generated names the same in every run. To be used in one thread."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        seed: int | None = None,
        sleep: Callable[[float], object] | None = None,
        database: Path | str = ":memory:",
    ) -> None:
        self.clock = clock or Clock()
        self.faults = Faults(self.clock)
        self._timers = LocalTimers(self.clock)
        self._chance = random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311  (a simulation's)
        self._sleep = sleep
        for resource in ALL:
            schema.load(resource)  # once a process; the server does it in a thread at a kind's first write
        with _drawn_from(self._chance):
            self.core = Core(database, self.clock, timers=self._timers)
            self.api = Api(self.core, TOKEN, self.faults)
        self._app = Faulty(self.api, self.faults, self.core.store, self._wait)

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> Answer:
        """`body` is bytes, or anything JSON. Raises ConnectionResetError where a fault breaks the connection."""
        exchange = self._exchange(method, path, query, headers, body)
        if exchange.stream is not None:
            exchange.stream.close()
            raise ValueError(f"{path} is a stream: use watch()")
        return Answer(exchange.status, exchange.headers, b"".join(exchange.parts))

    def watch(
        self, path: str, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> LocalWatch | Answer:
        """The watch, or the answer that refuses it. `timeoutSeconds` does not end it: no time passes by itself."""
        exchange = self._exchange("GET", path, {"watch": "1", **(query or {})}, headers, None)
        if exchange.stream is not None:
            return LocalWatch(exchange.stream)
        return Answer(exchange.status, exchange.headers, b"".join(exchange.parts))

    def settle(self) -> None:
        """What the server does by itself (garbage collection, emptying deleted namespaces), as far as it is due."""
        with _drawn_from(self._chance):
            self._timers.run()

    def close(self) -> None:
        self.api.hub.close()
        self.core.close()

    def _exchange(
        self, method: str, path: str, query: Mapping[str, str] | None, headers: Mapping[str, str] | None, body: Any
    ) -> _Exchange:
        data = body if isinstance(body, bytes) else b"" if body is None else dump(body).encode()
        exchange = _Exchange(data)
        fields = {"authorization": f"Bearer {TOKEN}", "content-type": JSON, "user-agent": "local"}
        fields.update((name.lower(), value) for name, value in (headers or {}).items())
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": urlencode(query).encode() if query else b"",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()],
            "extensions": {TAKE_STREAM: exchange.take},
        }
        with _drawn_from(self._chance):
            _run(self._app(scope, exchange.receive, exchange.send))
        if exchange.broken:
            raise ConnectionResetError("a fault broke the connection")
        return exchange

    async def _wait(self, seconds: float) -> None:
        if self._sleep is not None:
            self._sleep(seconds)


class _Exchange:
    """One request and its answer; it is its own connection, so that faults can break it."""

    def __init__(self, body: bytes) -> None:
        self._body, self._asked = body, False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.stream: Watch | None = None
        self.broken = False

    @property
    def transport(self) -> _Exchange:
        return self

    def abort(self) -> None:
        self.broken = True

    close = abort

    def take(self, stream: Stream) -> None:
        if not isinstance(stream.source, Watch):
            raise TypeError("only a watch can be followed in-process")
        self.stream = stream.source

    async def receive(self) -> Message:
        if self._asked:
            return {"type": "http.disconnect"}
        self._asked = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self.parts.append(message.get("body", b""))


class _drawn_from:
    """`CHANCE` for the time of one call; a class, since a generator costs three times as much."""

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def __enter__(self) -> None:
        self._before = CHANCE.set(self._source)

    def __exit__(self, *_: object) -> None:
        CHANCE.reset(self._before)


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    """To its end in one step: nothing of the API waits for anything when the whole request is there."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError("the API waited for something, and there is no event loop")
