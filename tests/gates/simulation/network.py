"""What lies between a process and the API server: latencies, and whatever befalls a request on its way.

The server is the embedded cluster's own API and store, in this thread; its own faults make the answers. Only the
transport below `submits/cluster` is replaced, so translation, compare-and-swap and clock reading are the product's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from urllib3 import HTTPHeaderDict

from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.inprocess import LocalCluster, LocalWatch
from coordui.onebox.cluster.storage.store import Event
from submits.cluster.transport import QUIET, TIMEOUT, Response
from submits.gates.ports import Unanswered
from tests.gates.simulation.clockwork import Answer, Clockwork, Process
from tests.gates.simulation.schedule import Blow, Schedule, What

FAULTS: dict[What, dict[str, Any]] = {
    What.DROP_REQUEST: {"action": "drop_request"},
    What.DROP_RESPONSE: {"action": "drop_response"},
    What.TORN: {"action": "torn"},
    What.TOO_MANY: {"action": "status", "code": 429, "retry_after": 2},
    What.REFUSED: {"action": "status", "code": 403},
    What.INTERNAL: {"action": "status", "code": 500},
    What.UNAVAILABLE: {"action": "status", "code": 503},
    What.GONE: {"action": "status", "code": 410, "verb": "watch"},
}
GATE_PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases/elb-blast-submit-default"
DEATHS = {What.CRASH_BEFORE, What.CRASH_AFTER}
BEFORE = {What.STOP_BEFORE, What.FREEZE_BEFORE}
AFTER = {What.STOP_AFTER, What.FREEZE_AFTER}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    content_type: str = "application/json"

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


def unanswered(words: str) -> Any:
    raise Unanswered(words)


class Stream:
    """One open watch, and the actor that may be waiting at it."""

    def __init__(self, watch: LocalWatch, kind: str, ends: float, silent: bool) -> None:
        self.watch, self.kind, self.ends, self.silent = watch, kind, ends, silent
        self.waiting: Answer | None = None
        self.told = False  # somebody is on the way with news


class Network:
    def __init__(self, clockwork: Clockwork, schedule: Schedule) -> None:
        self.clockwork = clockwork
        self.server = LocalCluster(Clock(clockwork.date), seed=schedule.seed)
        self.server.core.store.listeners.append(self.wake_streams)
        self.blows = {(b.role, b.number, b.request): b for b in reversed(schedule.blows)}
        self.writer: Process | None = None  # whose request is being carried out; None: the cluster's own doing
        self.method = ""
        self.streams: list[Stream] = []
        self.away_until = 0.0
        self.epoch = 0  # counts restarts: what was under way in an earlier one is broken
        self.struck: list[tuple[Blow, float]] = []
        self.last_blow = 0.0
        self.in_flight: list[tuple[Process, Request]] = []  # given up or orphaned, and still to arrive

    def latency(self) -> float:
        return self.clockwork.chance.uniform(0.002, 0.04)

    # A request -------------------------------------------------------------------------------------------------------

    def carry(self, process: Process, request: Request, answer: Answer) -> None:
        blow = self.next_blow(process)
        what = blow.what if blow else None
        if blow is None or what not in DEATHS | BEFORE:
            self.send(process, request, answer, blow)
        elif what is What.CRASH_BEFORE:
            process.crash()
        elif what is What.CRASH_AFTER:
            self.send(process, request, lambda _: None, None, late=self.latency())
            process.crash()
        else:
            self.halt(process, blow)
            self.clockwork.after(blow.long, lambda: self.send(process, request, answer, None))

    def next_blow(self, process: Process) -> Blow | None:
        blow = self.blows.get((process.role, process.number, process.requests))
        process.requests += 1
        if blow is not None:
            self.struck.append((blow, self.clockwork.now))
            self.disturbed(blow.long if blow.what in BEFORE | AFTER else blow.late)
            if blow.what is What.CLOCK:
                process.offset += blow.jump
        return blow

    def disturbed(self, seconds: float) -> None:
        self.last_blow = max(self.last_blow, self.clockwork.now + seconds)

    def halt(self, process: Process, blow: Blow) -> None:
        if blow.what in (What.FREEZE_BEFORE, What.FREEZE_AFTER):
            process.freeze(blow.long)
        else:
            process.stop(blow.long)

    def send(
        self, process: Process, request: Request, answer: Answer, blow: Blow | None, late: float | None = None
    ) -> None:
        if process.dead and late is None:
            return
        clockwork, what = self.clockwork, blow.what if blow else None
        if clockwork.now < self.away_until:
            clockwork.after(self.latency(), lambda: answer(lambda: unanswered("connection refused")))
            return
        epoch = self.epoch
        if what is What.LATE and blow is not None:
            late = blow.late
            clockwork.after(TIMEOUT, lambda: answer(lambda: unanswered("timed out")))
        if late is not None:
            self.in_flight.append((process, request))

        def arrive() -> None:
            if late is not None:
                self.in_flight.remove((process, request))
            if epoch != self.epoch:
                answer(lambda: unanswered("connection reset"))
                return
            if what is What.GATE_GONE:
                self.server.call("DELETE", GATE_PATH, body={})
            response = self.execute(process, request, what)
            if what in AFTER and blow is not None:
                self.halt(process, blow)
            clockwork.after(self.latency(), lambda: leave(response))

        def leave(response: Response | Exception) -> None:
            if isinstance(response, Exception) or epoch != self.epoch:
                answer(lambda: unanswered(str(response) if isinstance(response, Exception) else "connection reset"))
            else:
                answer(lambda: response)

        clockwork.after(self.latency() if late is None else late, arrive)

    def execute(self, process: Process, request: Request, what: What | None) -> Response | Exception:
        """The request's one moment at the server."""
        server = self.server
        server.settle()
        if what in FAULTS:
            server.faults.add(times=1, **FAULTS[what])
        elif request.query.get("resourceVersion") == "0":  # a cache may lag behind, and does
            server.faults.add("stale", commits=5)
        self.writer, self.method = process, request.method
        headers = {"content-type": request.content_type, "user-agent": process.role.replace(" ", "-")}
        try:
            made = server.call(request.method, request.path, request.query, headers, request.body)
        except ConnectionResetError as error:
            return error
        finally:
            self.writer, self.method = None, ""
            server.faults.clear()
            server.settle()
        return Response(made.status, HTTPHeaderDict(made.headers), made.body)

    # Watches ---------------------------------------------------------------------------------------------------------

    def open(self, process: Process, request: Request, seconds: float, answer: Answer) -> None:
        blow = self.next_blow(process)
        what = blow.what if blow else None
        if blow is not None and what in DEATHS:
            process.crash()
            return
        if blow is not None and what in BEFORE | AFTER:
            self.halt(process, blow)
        if self.clockwork.now < self.away_until or what in (
            What.DROP_REQUEST,
            What.DROP_RESPONSE,
            What.TORN,
            What.LATE,
        ):
            self.clockwork.after(self.latency(), lambda: answer(lambda: unanswered("connection reset")))
            return

        def arrive() -> None:
            if what in FAULTS:
                self.server.faults.add(times=1, **FAULTS[what])
            made = self.server.watch(request.path, request.query)
            self.server.faults.clear()
            if isinstance(made, LocalWatch):
                stream = Stream(
                    made, request.path.rpartition("/")[2], self.clockwork.now + seconds, what is What.HALF_OPEN
                )
                self.streams.append(stream)
                answer(lambda: stream)
            else:
                refused = Response(made.status, HTTPHeaderDict(made.headers), made.body)
                answer(lambda: refused)

        self.clockwork.after(self.latency(), arrive)

    def next_lines(self, stream: Stream, answer: Answer) -> None:
        """Answer with lines as soon as there are any; with None at the end of the watch's time."""
        stream.waiting = answer
        if stream.silent:
            gone = stream.ends + QUIET
            self.clockwork.at(gone, lambda: self.close(stream, lambda: unanswered("the read timed out")))
            return
        self.tell(stream)
        self.clockwork.at(stream.ends, lambda: self.close(stream, lambda: None) if stream.waiting is answer else None)

    def wake_streams(self, event: Event) -> None:
        for stream in self.streams:
            if stream.kind == event.resource.plural:
                self.tell(stream)

    def tell(self, stream: Stream) -> None:
        if stream.waiting is None or stream.silent or stream.told:
            return
        stream.told = True
        self.clockwork.after(self.latency(), lambda: self.deliver(stream))

    def deliver(self, stream: Stream) -> None:
        stream.told = False
        if stream.waiting is None:
            return
        events = stream.watch.events()
        if events:
            lines = [json.dumps({"type": kind, "object": told}).encode() for kind, told in events]
            answer, stream.waiting = stream.waiting, None
            answer(lambda: lines)

    def close(self, stream: Stream, outcome: Any) -> None:
        if stream in self.streams:
            self.streams.remove(stream)
        answer, stream.waiting = stream.waiting, None
        if answer is not None:
            answer(outcome)

    # The machine room ------------------------------------------------------------------------------------------------

    def restart(self, seconds: float, *, compact: bool) -> None:
        """Every connection breaks; with a compaction, an old watch is told 410 when it comes back."""
        self.epoch += 1
        self.away_until = self.clockwork.now + seconds
        self.disturbed(seconds)
        if compact:
            self.server.core.store.compact(self.server.core.store.revision)
        for stream in sorted(self.streams, key=lambda one: one.ends):
            self.close(stream, lambda: unanswered("connection reset"))


class SimulatedTransport:
    """The `Transport` of one process."""

    def __init__(self, network: Network, process: Process) -> None:
        self.network, self.process = network, process

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        request = Request(method, path, dict(query), body, content_type)
        ask = self.network.clockwork.ask
        response: Response = ask(lambda answer: self.network.carry(self.process, request, answer))
        return response

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        ask, network = self.network.clockwork.ask, self.network
        request = Request("GET", path, dict(query))
        opened = ask(lambda answer: network.open(self.process, request, seconds, answer))
        if isinstance(opened, Response):
            yield opened
            return
        yield Response(200, {}, b"")
        while (lines := ask(lambda answer: network.next_lines(opened, answer))) is not None:
            yield from lines
