"""Gives Pods room on the node: by what they request, in the order they came, a smaller one past a larger that waits."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from ..authors import Author
from ..core import Core
from ..kinds.quantities import requested
from ..storage.objects import Obj, clone, condition, meta, spec_of, status_of
from ..storage.resources import NODES, PODS
from ..storage.store import Event
from ..storage.workqueue import WorkQueue
from . import podstatus
from .node import NODE
from .recorder import Recorder

_AUTHOR = Author("kube-scheduler")
_SCHEDULER = "default-scheduler"
Key = tuple[str, str]
Amounts = Mapping[str, Decimal]


def misfits(pod: Obj, node: Obj) -> list[str]:
    """Why this node is not for this Pod however much room it has, in the scheduler's words."""
    spec, labels, found = spec_of(pod), meta(node).get("labels") or {}, []
    tolerations = spec.get("tolerations") or []
    taints = [taint for taint in spec_of(node).get("taints") or [] if taint.get("effect") != "PreferNoSchedule"]
    untolerated = [taint for taint in taints if not any(_tolerates(item, taint) for item in tolerations)]
    if spec_of(node).get("unschedulable"):
        found.append("1 node(s) were unschedulable")
    elif untolerated:
        taint = untolerated[0]
        found.append(f"1 node(s) had untolerated taint(s) {{{taint['key']}: {taint.get('value', '')}}}")
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        found.append("1 node(s) didn't match Pod's node affinity/selector")
    return found


def _tolerates(toleration: Obj, taint: Obj) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", taint["key"])
    return bool(toleration.get("key") == taint["key"] and toleration.get("value", "") == taint.get("value", ""))


def shortages(asked: Amounts, used: Mapping[str, Amounts], capacity: Amounts) -> list[str]:
    """What there is too little of, in the scheduler's words. `used` is what each Pod on the node asked for."""
    short = ["1 Too many pods"] if len(used) >= capacity["pods"] else []
    for name, amount in asked.items():
        taken = sum((pod.get(name, Decimal(0)) for pod in used.values()), Decimal(0))
        if amount and taken + amount > capacity.get(name, Decimal(0)):
            short.append(f"1 Insufficient {name}")
    return short


def sentence(misfit: list[str], short: list[str]) -> str:
    why = "1 Preemption is not helpful for scheduling" if misfit else "1 No preemption victims found for incoming pod"
    return (
        f"0/1 nodes are available: {', '.join(sorted([*misfit, *short]))}. preemption: 0/1 nodes are available: {why}."
    )


class Scheduler:
    def __init__(self, core: Core, recorder: Recorder, capacity: Amounts) -> None:
        self.core, self.recorder = core, recorder
        self._capacity = capacity
        self._used: dict[str, Amounts] = {}
        self._waiting: dict[Key, Amounts] = {}
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        pods = [row.object for row in self.core.store.select(PODS)]
        for pod in sorted(pods, key=lambda pod: (meta(pod)["creationTimestamp"], int(meta(pod)["resourceVersion"]))):
            if podstatus.ended(pod):
                continue
            if spec_of(pod).get("nodeName") == NODE:
                self._used[meta(pod)["uid"]] = _asked(pod)
            elif not spec_of(pod).get("nodeName"):
                self.queue.add((meta(pod)["namespace"], meta(pod)["name"]))
        self.core.store.listeners.append(self._heard)

    def _heard(self, event: Event) -> None:
        if event.resource is NODES and event.name == NODE:
            for key in self._waiting:
                self.queue.add(key)
        if event.resource is not PODS:
            return
        pod, key = event.object, (event.namespace, event.name)
        if event.type == "DELETED" or podstatus.ended(pod):
            self._waiting.pop(key, None)
            if self._used.pop(meta(pod)["uid"], None) is not None:
                self._offer()
        elif not spec_of(pod).get("nodeName"):
            if key not in self._waiting:
                self.queue.add(key)
        elif spec_of(pod)["nodeName"] == NODE:
            self._used.setdefault(meta(pod)["uid"], _asked(pod))  # bound by whoever made it

    def _offer(self) -> None:
        """There is more room: those that wait and might fit now are looked at, first come first."""
        for key, asked in self._waiting.items():
            if not shortages(asked, self._used, self._capacity):
                self.queue.add(key)

    def _sync(self, key: Key) -> None:
        pod = self.core.store.get(PODS, *key)
        if pod is None or podstatus.ended(pod) or spec_of(pod).get("nodeName") or "deletionTimestamp" in meta(pod):
            self._waiting.pop(key, None)
            return
        node = self.core.store.get(NODES, "", NODE)
        asked = _asked(pod)
        misfit = misfits(pod, node) if node else ["1 node(s) were not found"]
        if misfit or (short := shortages(asked, self._used, self._capacity)):
            self._refuse(key, pod, asked, sentence(misfit, [] if misfit else short))
        else:
            self._bind(key, pod, asked)

    def _bind(self, key: Key, pod: Obj, asked: Amounts) -> None:
        self._waiting.pop(key, None)
        self._used[meta(pod)["uid"]] = asked
        new = clone(pod)
        new["spec"]["nodeName"] = NODE
        new["status"] = status = clone(status_of(pod))
        podstatus.set_condition(status, "PodScheduled", True, self.core.clock.stamp())
        with self.core.store.transaction():
            self.core.registry.amend(PODS, pod, new, _AUTHOR)
            words = f"Successfully assigned {key[0]}/{key[1]} to {NODE}"
            self.recorder.note(PODS, pod, "Scheduled", words, _SCHEDULER)

    def _refuse(self, key: Key, pod: Obj, asked: Amounts, words: str) -> None:
        self._waiting[key] = asked
        if (old := condition(pod, "PodScheduled")) is not None and old.get("message") == words:
            return
        new = clone(pod)
        new["status"] = status = clone(status_of(pod))
        now = self.core.clock.stamp()
        podstatus.set_condition(status, "PodScheduled", False, now, reason="Unschedulable", message=words)
        with self.core.store.transaction():
            self.core.registry.amend(PODS, pod, new, _AUTHOR)
            self.recorder.note(PODS, pod, "FailedScheduling", words, _SCHEDULER, warning=True)


def _asked(pod: Obj) -> Amounts:
    try:
        return requested(pod)
    except ValueError:
        # The node refuses it with a sentence; here it only must not be in the way.
        return {}
