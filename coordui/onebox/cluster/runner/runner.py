"""The runner as a whole: its node in the API, and its parts started and stopped in order."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

from ..core import Core
from ..credentials import Credentials, write_account
from ..managed import Author
from ..objects import Obj, clone, meta
from ..registry import Write
from ..resources import NAMESPACES, NODES
from . import leftovers
from .jobs import JobController
from .kubelet import NODE, Kubelet
from .podspec import NODE_ADDRESS, Place
from .podstatus import set_condition
from .recorder import Recorder
from .scheduler import Scheduler

MOST_PODS = 110
STOP_GRACE = 3.0
_AUTHOR = Author("kubelet", "Update", "status")


class Runner:
    def __init__(self, core: Core, state: Path, credentials: Credentials, port: int, first_retry: float = 1.0) -> None:
        self.core, self._state, self._credentials, self._port = core, state, credentials, port
        self._cluster = meta(core.registry.get(NAMESPACES, "", "kube-system"))["uid"]
        pods = state / "pods"
        pods.mkdir(exist_ok=True, mode=0o700)
        self.capacity = {"cpu": Decimal(os.cpu_count() or 1), "memory": Decimal(_memory_bytes())}
        self.kubelet = Kubelet(core, pods, self._place)
        self.scheduler = Scheduler(core, self.capacity, MOST_PODS)
        self.jobs = JobController(core, Recorder(core), first_retry)

    async def start(self) -> None:
        """First nothing of the last run is left, then its Pods are accounted for, then new ones start."""
        await leftovers.wait_until_none(leftovers.CLUSTER_MARK, self._cluster)
        self._register()
        self.kubelet.start()
        self.scheduler.start()
        self.jobs.start()

    async def stop(self) -> None:
        self.jobs.queue.close()
        self.scheduler.queue.close()
        await self.kubelet.stop(STOP_GRACE)

    def _place(self, pod: Obj, directory: Path) -> Place:
        account = write_account(self._state, meta(pod)["namespace"], self._credentials)
        marks = {leftovers.CLUSTER_MARK: self._cluster, leftovers.POD_MARK: meta(pod)["uid"]}
        return Place(directory, account, self._port, marks)

    def _register(self) -> None:
        registry, clock = self.core.registry, self.core.clock
        old = self.core.store.get(NODES, "", NODE)
        if old is None:
            labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
            old = registry.create(NODES, "", {"metadata": {"name": NODE, "labels": labels}}, Write("kubelet"))
        new = clone(old)
        amounts = {"cpu": str(self.capacity["cpu"]), "memory": str(self.capacity["memory"]), "pods": str(MOST_PODS)}
        status = new.setdefault("status", {})
        status |= {
            "capacity": amounts,
            "allocatable": dict(amounts),
            "addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}, {"type": "Hostname", "address": NODE}],
            "nodeInfo": {"kubeletVersion": "v1.36.2+coordui", "operatingSystem": "linux"},
        }
        words = "this machine runs Pods as processes"
        set_condition(status, "Ready", True, clock.stamp(), reason="KubeletReady", message=words)
        registry.amend(NODES, old, new, _AUTHOR)


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
