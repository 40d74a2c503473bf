"""The one node: how much it has, and how it looks in the API."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from decimal import Decimal

from ..authors import Author, Write
from ..core import Core
from ..kinds.quantities import quantity
from ..storage.objects import Obj, clone
from ..storage.resources import NODES
from .podstatus import NODE_ADDRESS, set_condition

NODE = "onebox"
MOST_PODS = 110
_AUTHOR = Author("kubelet", "Update", "status")
_PRESSURE = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


@dataclass(frozen=True)
class Size:
    """What Pods may ask for together, as quantities ("2", "500m", "4Gi"); None: what this machine has."""

    cpu: str | None = None
    memory: str | None = None
    pods: int = MOST_PODS

    def amounts(self) -> dict[str, str]:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {
            "cpu": self.cpu or str(os.cpu_count() or 1),
            "memory": self.memory or str(memory),
            "pods": str(self.pods),
        }

    def capacity(self) -> dict[str, Decimal]:
        return {name: quantity(amount) for name, amount in self.amounts().items()}


def register(core: Core, size: Size) -> None:
    """Make the Node, or bring it up to date; what others have set (labels, taints, a cordon) stays."""
    now = core.clock.stamp()
    old = core.store.get(NODES, "", NODE)
    if old is None:
        labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux", "kubernetes.io/arch": _architecture()}
        old = core.registry.create(NODES, "", {"metadata": {"name": NODE, "labels": labels}}, Write("kubelet"))
    new = clone(old)
    new["status"] = _status(new.get("status") or {}, size, now)
    core.registry.amend(NODES, old, new, _AUTHOR)


def _architecture() -> str:
    """As Go names it."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def _status(status: Obj, size: Size, now: str) -> Obj:
    amounts, machine = size.amounts(), platform.uname()
    status |= {
        "capacity": amounts,
        "allocatable": dict(amounts),
        "addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}, {"type": "Hostname", "address": NODE}],
        "nodeInfo": {
            "kubeletVersion": "v1.36.2+coordui",
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "processes://1",
            "operatingSystem": "linux",
            "architecture": _architecture(),
            "kernelVersion": machine.release,
            "osImage": machine.system,
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
    }
    for kind, reason, words in _PRESSURE:
        set_condition(status, kind, False, now, reason=reason, message=words)
    set_condition(status, "Ready", True, now, reason="KubeletReady", message="this machine runs Pods as processes")
    for item in status["conditions"]:
        item["lastHeartbeatTime"] = now
    return status
