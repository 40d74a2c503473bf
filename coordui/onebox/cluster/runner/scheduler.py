"""Gives Pods room on the node: by what they request, in the order they came, a smaller one past a larger that waits."""

from __future__ import annotations

from decimal import Decimal

from ..core import Core
from ..managed import Author
from ..objects import Obj, clone, condition, meta, spec_of, status_of
from ..resources import PODS
from ..store import Event
from ..workqueue import WorkQueue
from . import podstatus
from .kubelet import NODE
from .quantities import requested

_AUTHOR = Author("kube-scheduler")
Key = tuple[str, str]


class Scheduler:
    def __init__(self, core: Core, capacity: dict[str, Decimal], most_pods: int) -> None:
        self.core = core
        self._capacity, self._most_pods = capacity, most_pods
        self._used: dict[str, dict[str, Decimal]] = {}
        self._waiting: dict[Key, None] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        for row in self.core.store.select(PODS):
            pod = row.object
            if podstatus.ended(pod):
                continue
            if spec_of(pod).get("nodeName") == NODE:
                self._used[meta(pod)["uid"]] = _asked(pod)
            else:
                self.queue.add((row.namespace, row.name))
        self.core.store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        if event.resource is not PODS:
            return
        pod, key = event.object, (event.namespace, event.name)
        if event.type == "DELETED" or podstatus.ended(pod):
            self._waiting.pop(key, None)
            if self._used.pop(meta(pod)["uid"], None) is not None:
                for waiting in self._waiting:
                    self.queue.add(waiting)
        elif not spec_of(pod).get("nodeName") and key not in self._waiting:
            self.queue.add(key)

    def _sync(self, key: Key) -> None:
        pod = self.core.store.get(PODS, *key)
        if pod is None or podstatus.ended(pod) or spec_of(pod).get("nodeName"):
            self._waiting.pop(key, None)
            return
        asked, now, new = _asked(pod), self.core.clock.stamp(), clone(pod)
        new["status"] = status = clone(status_of(pod))
        if short := self._short(asked):
            self._waiting[key] = None
            words = f"0/1 nodes are available: {', '.join(short)}. preemption: not eligible due to preemptionPolicy."
            podstatus.set_condition(status, "PodScheduled", False, now, reason="Unschedulable", message=words)
            # The rest changes with every Pod that comes and goes; only the first of these is worth a write.
            if condition(pod, "PodScheduled") is None:
                self.core.registry.amend(PODS, pod, new, _AUTHOR)
            return
        self._waiting.pop(key, None)
        self._used[meta(pod)["uid"]] = asked
        new["spec"]["nodeName"] = NODE
        podstatus.set_condition(status, "PodScheduled", True, now)
        self.core.registry.amend(PODS, pod, new, _AUTHOR)

    def _short(self, asked: dict[str, Decimal]) -> list[str]:
        """What there is too little of, in the scheduler's words."""
        short = ["1 Too many pods"] if len(self._used) >= self._most_pods else []
        for name, most in self._capacity.items():
            used = sum((pod[name] for pod in self._used.values()), Decimal(0))
            if asked[name] and used + asked[name] > most:
                short.append(f"1 Insufficient {name}")
        return short


def _asked(pod: Obj) -> dict[str, Decimal]:
    try:
        return requested(pod)
    except ValueError:
        # The node refuses it with a sentence; here it only must not be in the way.
        return {"cpu": Decimal(0), "memory": Decimal(0)}
