"""Holding Gate A: taking it, renewing it, proving that it is still ours, giving it back.

Nobody writes the gate but its holder and its taker. S3 is the only PUT, with uid *and* resourceVersion; every later
write of the holder is one JSON patch that tests the holder and replaces a value, so it may be sent twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from submits.gates import naming
from submits.gates.objects import Gate, Unchanged, gate_body, micro_time
from submits.gates.ports import (
    AlreadyExists,
    Answer,
    Clock,
    Cluster,
    ClusterError,
    Conflict,
    Invalid,
    NotFound,
    Object,
    Rules,
    Throttled,
    Unanswered,
)
from submits.gates.servertime import ServerTime

T = TypeVar("T")


class Lost(Exception):
    """The gate is not ours any more, or we could not show for too long that it is. Stays inside the gates."""


class Busy(Exception):
    """Another holder is alive, or won the race. Stays inside the gates."""


def pause_after(error: ClusterError, attempt: int) -> float:
    if isinstance(error, Throttled):
        return error.retry_after
    return float(min(2.0, 0.1 * 2**attempt))


def until_definite(write: Callable[[], T], clock: Clock, limit: float, between: Callable[[], None] | None = None) -> T:
    """Repeat a write, unchanged, until its answer is definite. Raises the last error when `limit` seconds are over.

    Only for writes that say the same when they arrive twice. A server that asks for more time than is left gets it.
    """
    end = clock.monotonic() + limit
    attempt = 0
    while True:
        try:
            return write()
        except (Unanswered, Throttled) as error:
            left, pause = end - clock.monotonic(), pause_after(error, attempt)
            if left <= 0 or (isinstance(error, Throttled) and pause > left):
                raise
            clock.wait(min(left, pause))
            attempt += 1
            if between is not None:
                between()


class Hold:
    """One acquisition of the gate by one submitter."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        rules: Rules,
        party: str,
        run_id: str,
        leashed: bool,
        unchanged: Unchanged = Unchanged(),  # noqa: B008  # frozen
    ) -> None:
        self.cluster, self.clock, self.rules = cluster, clock, rules
        self.run_id, self.leashed, self.unchanged = run_id, leashed, unchanged
        self.name = naming.gate(cluster.namespace)
        self.holder = naming.holder(party)
        self.token = 0
        self.dated = ServerTime(clock.wall(), clock.boot())  # as last heard; until then our own
        self.asked: float | None = None  # CLOCK_BOOTTIME when a write that takes the gate was first sent
        self.sent = 0.0  # CLOCK_BOOTTIME when the last accepted write was sent
        self.not_before = 0.0  # CLOCK_BOOTTIME before which the server wants no further heartbeat

    def server_now(self) -> datetime:
        """Times we write are the API server's: an older door judges our hold by them."""
        return self.dated.at(self.clock.boot())

    def heard(self, answer: Answer) -> Object:
        self.told(answer.date)
        return answer.object

    def told(self, date: datetime) -> None:
        self.dated = ServerTime(date, self.clock.boot())

    def look(self) -> Gate:
        """The gate now. Raises Busy when a live holder has it."""
        try:
            answer = self.cluster.get("leases", self.name)
        except NotFound as error:
            if error.date is not None:
                self.told(error.date)  # the first gate of all is dated by the server's clock too
            return Gate.read(None)
        gate = Gate.read(self.heard(answer))
        if not gate.is_open(answer.date, self.rules, self.unchanged.of(gate)):
            raise Busy(gate.holder)
        return gate

    def take(self) -> None:
        """S3. Raises Busy for a live holder or a lost race; ClusterError when it cannot be known."""
        before = self.look()
        body = gate_body(
            self.cluster.namespace, before, self.holder, self.run_id, self.server_now(), self.rules, self.leashed
        )

        def write() -> Answer:
            sent = self.clock.boot()
            if self.asked is None:
                self.asked = sent
            if before.exists:
                answer = self.cluster.replace("leases", self.name, body)
            else:
                answer = self.cluster.create("leases", body)
            self.sent = sent
            return answer

        try:
            answer = until_definite(write, self.clock, self.rules.times.release_for)
        except (AlreadyExists, Conflict) as error:
            answer = self.ours_after_all(error)
        except NotFound as error:
            raise Busy("the gate was deleted meanwhile") from error
        self.token = int(self.heard(answer)["metadata"]["resourceVersion"])

    def ours_after_all(self, error: ClusterError) -> Answer:
        """A 409 after a write whose answer was lost: the write that won may have been our own.

        Which of ours it was is not known, so the hold is as old as the first of them.
        """
        try:
            answer = until_definite(
                lambda: self.cluster.get("leases", self.name), self.clock, self.rules.times.release_for
            )
        except NotFound:
            raise Busy("the gate was deleted meanwhile") from error
        if Gate.read(answer.object).holder != self.holder:
            raise Busy("another was faster") from error
        self.sent = self.asked or 0.0
        return answer

    def renew(self) -> None:
        """One heartbeat. Raises Lost on a definite no; an unknown answer is for the next beat to settle."""
        sent = self.clock.boot()
        try:
            self.heard(self.cluster.patch("leases", self.name, self.mine_then("renewTime", self.server_now())))
            self.sent = sent
        except (Invalid, NotFound) as error:
            raise Lost(f"the gate has another holder: {error}") from error
        except ClusterError as error:
            if isinstance(error, Throttled):
                self.not_before = sent + error.retry_after
            if self.silent_for() > self.rules.times.leash:
                raise Lost(f"no accepted heartbeat for {self.rules.times.leash:g} s: {error}") from error

    def renew_if_due(self) -> None:
        """To be called between any two requests and while the submit runs. Raises Lost."""
        if self.silent_for() > self.rules.times.leash:
            raise Lost(f"no accepted heartbeat for {self.rules.times.leash:g} s")
        if self.silent_for() >= self.rules.times.heartbeat and self.clock.boot() >= self.not_before:
            self.renew()

    def silent_for(self) -> float:
        return self.clock.boot() - self.sent

    def prove(self) -> None:
        """S7: still ours, by a write. Raises Lost; and ClusterError when that stays unknown."""
        sent = self.clock.boot()
        write = self.mine_then("renewTime", self.server_now())
        try:
            until_definite(
                lambda: self.cluster.patch("leases", self.name, write), self.clock, self.rules.times.heartbeat
            )
        except (Invalid, NotFound) as error:
            raise Lost(f"the gate has another holder: {error}") from error
        self.sent = sent

    def mine_then(self, field: str, value: datetime | str) -> list[Object]:
        text = micro_time(value) if isinstance(value, datetime) else value
        return [
            {"op": "test", "path": "/spec/holderIdentity", "value": self.holder},
            {"op": "replace", "path": f"/spec/{field}", "value": text},
        ]

    def release(self) -> bool:
        """S11. Never raises: what stays unknown after `release_for` is the takeover's. False if it stayed unknown."""
        write = self.mine_then("holderIdentity", "")
        try:
            until_definite(
                lambda: self.cluster.patch("leases", self.name, write), self.clock, self.rules.times.release_for
            )
        except (Invalid, NotFound):
            return True
        except ClusterError:
            return False
        return True
