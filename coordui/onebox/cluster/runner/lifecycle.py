"""What a Pod's containers do next, by the rules of init containers and of restartPolicy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..storage.objects import Obj

At = Literal["new", "held", "running", "backoff", "ended"]
SLOWEST_RESTART = 30.0  # times the first delay: a real node's 10 s and 5 min


@dataclass
class Container:
    """One container's life so far: what its part of the Pod's status is made from."""

    name: str
    image: str
    init: bool = False
    at: At = "new"
    restarts: int = 0
    due: float = 0.0  # at "backoff": the loop's time of the next start
    started: str = ""
    code: int = 0  # at "ended", and how it ended
    finished: str = ""
    reason: str = ""  # at "held" and "backoff" too: why it waits
    message: str = ""
    last: Obj | None = None  # the terminated state before the present one

    def hold(self, reason: str, message: str) -> None:
        self.at, self.reason, self.message = "held", reason, message

    def begin(self, now: str) -> None:
        self.at, self.started, self.reason, self.message = "running", now, "", ""

    def end(self, code: int, now: str, *, reason: str = "", message: str = "") -> None:
        self.at, self.code, self.finished, self.message = "ended", code, now, message
        self.reason = reason or ("Completed" if code == 0 else "Error")
        self.started = self.started or now

    @property
    def done(self) -> bool:
        return self.at == "ended" and self.code == 0


@dataclass(frozen=True)
class Ending:
    """Why a whole Pod is being ended; nothing in it starts again. A deleted Pod's has no reason."""

    reason: str = ""
    message: str = ""


@dataclass(frozen=True)
class Step:
    start: tuple[Container, ...] = ()
    again: tuple[Container, ...] = ()  # ended, and to be started once more after a delay
    phase: str = ""  # Succeeded or Failed: nothing more will happen


def containers_of(spec: Mapping[str, Any]) -> list[Container]:
    return [
        Container(str(item["name"]), str(item.get("image", "")), init=part == "initContainers")
        for part in ("initContainers", "containers")
        for item in spec.get(part, ())
    ]


def step(containers: Iterable[Container], policy: str, ending: Ending | None, now: float) -> Step:
    """Init containers one after the other, each to success; then all others at once. `now` is the loop's time."""
    containers = list(containers)
    if ending is not None:
        return _ending(containers, ending)
    for container in containers:
        if container.init and not container.done:
            if container.at != "ended":
                return Step(start=_ready([container], now))
            if policy == "Never":
                return Step(phase="Failed")
            return Step(again=(container,))
    mains = [container for container in containers if not container.init]
    again = tuple(container for container in mains if container.at == "ended" and restarts(policy, container.code))
    start = _ready(mains, now)
    if start or again or any(container.at != "ended" for container in mains):
        return Step(start, again)
    return Step(phase="Succeeded" if all(container.done for container in mains) else "Failed")


def _ready(containers: Iterable[Container], now: float) -> tuple[Container, ...]:
    return tuple(
        container
        for container in containers
        if container.at in ("new", "held") or (container.at == "backoff" and container.due <= now)
    )


def _ending(containers: list[Container], ending: Ending) -> Step:
    if any(container.at == "running" for container in containers):
        return Step()
    mains = [container for container in containers if not container.init]
    good = not ending.reason and all(container.done for container in mains)
    return Step(phase="Succeeded" if good else "Failed")


def restarts(policy: str, code: int) -> bool:
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def delay(already: int, first: float) -> float:
    """Seconds until a container that was restarted so often starts again: at once, then `first`, doubling."""
    return 0.0 if already == 0 else first * min(SLOWEST_RESTART, 2.0 ** min(already - 1, 20))
