"""What the gates need of the outside world: three small blocking ports, the records they speak in, and the errors.

A verdict is a value, an error an exception. Every error says verb, resource, namespace and, where there is
something to be done, what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from submits.states import Reason, SubmitsError

Object = dict[str, Any]  # a Kubernetes object, as JSON
Kind = Literal["leases", "jobs", "configmaps", "pods"]
Operation = dict[str, Any]
KILLED = -1  # in place of a submit's exit status: its leash or its holder killed it
IN_DOUBT = 11  # exit status by which a submit says that a request of its own had no answer and may still arrive
Patch = list[Operation]  # RFC 6902, applied whole or not at all


class ClusterError(SubmitsError):
    """The cluster answered with a refusal, or did not answer."""


class NotFound(ClusterError):
    """404 for the object itself. `date`: the apiserver's clock when it said so, if it did."""

    def __init__(self, message: str, date: datetime | None = None) -> None:
        super().__init__(message)
        self.date = date


class NamespaceMissing(ClusterError):
    """404 for the namespace."""


class AlreadyExists(ClusterError):
    """409 for a create."""


class Conflict(ClusterError):
    """409 for a write whose uid or resourceVersion is not the current one."""


class Invalid(ClusterError):
    """422 or 400: the object, or a patch's `test`, does not hold."""


class Forbidden(ClusterError):
    """401 or 403. `reason` tells a missing permission, a full quota and a policy apart."""

    def __init__(self, message: str, reason: Reason) -> None:
        super().__init__(message)
        self.reason = reason


class Unanswered(ClusterError):
    """No definite answer: a timeout, a broken connection, a 5xx. A write may or may not have happened."""


class Throttled(ClusterError):
    """429: not done; to be tried again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Expired(ClusterError):
    """410: a watch or a page asks for a revision that is gone; a fresh LIST is needed."""


@dataclass(frozen=True)
class Answer:
    object: Object
    date: datetime  # the apiserver's clock when it answered, to the second


@dataclass(frozen=True)
class Listing:
    items: tuple[Object, ...]
    version: str  # the revision a watch goes on from
    date: datetime


@dataclass(frozen=True)
class Change:
    type: str  # ADDED, MODIFIED or DELETED
    object: Object


class Cluster(Protocol):
    """One namespace of one cluster. Every verb raises ClusterError; each request has time-outs of 10 s."""

    @property
    def namespace(self) -> str: ...

    def get(self, kind: Kind, name: str) -> Answer: ...
    def list(self, kind: Kind, labels: str = "", fields: str = "") -> Listing: ...
    def create(self, kind: Kind, body: Object) -> Answer: ...
    def replace(self, kind: Kind, name: str, body: Object) -> Answer: ...
    def patch(self, kind: Kind, name: str, operations: Patch) -> Answer: ...

    def delete(self, kind: Kind, name: str, uid: str | None = None) -> None:
        """Background propagation; with a uid precondition if given. What is gone, or has another uid, is success."""

    def watch(
        self, kind: Kind, version: str, labels: str = "", fields: str = "", seconds: int = 30
    ) -> Iterator[Change]:
        """Changes after `version`, for about `seconds`. Raises Expired, Unanswered for a broken or silent socket."""


class Clock(Protocol):
    def wall(self) -> datetime: ...

    def boot(self) -> float:
        """CLOCK_BOOTTIME, in seconds: goes on while the machine is suspended."""

    def monotonic(self) -> float: ...
    def wait(self, seconds: float) -> None: ...


class Submit(Protocol):
    """What runs under the gate. Leashed: dies within `Times.leash` of the last `feed` and with its holder."""

    @property
    def leashed(self) -> bool: ...

    def start(self, run_id: str, sent: float) -> None:
        """Start it on its leash; `sent` is CLOCK_BOOTTIME when the last accepted heartbeat was sent: a submit that
        starts too late after it is not started at all. Raises OSError when it cannot be started."""

    def poll(self, seconds: float) -> int | None:
        """Waits at most so long; the exit status, or KILLED, once it has ended with everything below it."""

    def feed(self, sent: float) -> None:
        """Pass on an accepted heartbeat; `sent` is CLOCK_BOOTTIME when it was sent."""

    def kill(self, grace: float = 0.0) -> None:
        """Kill it and everything below, and wait until nothing is left; with a `grace`, in seconds, SIGTERM first."""


@dataclass(frozen=True)
class Times:
    """The protocol's own times, in seconds. Tests and game days scale them all by one factor."""

    heartbeat: float = 10
    leash: float = 40
    grace: float = 5  # between SIGTERM and SIGKILL, where a submit may still tidy up
    kill: float = 5
    fast_ttl: float = 60
    fast_takeover: float = 65
    repair_after_takeover: float = 41  # 40, and one by which an age that is told in whole seconds may be short
    repair_unheld: float = 120
    reservation: float = 750
    pin_after: float = 150
    extend_every: float = 300  # a split's reservation, while shards are to come
    child_first: float = 0.25  # the gate is left to a split's waiting child for so long after it came free
    announce_to_fence: float = 30
    quiet_after_exit: float = 5
    quiet_after_kill: float = 60
    back_off: float = 5
    between_looks: float = 0.5
    skip_after: float = 10
    skip_again: float = 1
    v1_silent: float = 2700  # an older door's job that nobody has written to for so long is not trying any more
    release_for: float = 30
    until: float = 86400
    until_grace: float = 60
    mended_within: float = 30  # what a repair sees to is not alarmed earlier

    def scaled(self, factor: float) -> Times:
        return replace(self, **{name: value * factor for name, value in vars(self).items()})


@dataclass(frozen=True)
class Knobs:
    """What an operator may set (PROTOCOL: the knobs), in seconds or pieces."""

    ceiling: int = 3
    lease_ttl: int = 900
    skew: int = 30
    exec_timeout: int = 600
    finalizer_grace: int = 300
    submit_wait_max: int = 1800
    capacity_wait_max: int = 1800
    v1_yield: float = 8
    split_child_wait_max: int = 300
    split_parent_budget: int = 1800


@dataclass(frozen=True)
class Rules:
    """Everything a decision needs beside what it sees."""

    knobs: Knobs
    times: Times
