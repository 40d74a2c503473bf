"""A Pod's status as a kubelet writes it: phases, conditions, container states."""

from __future__ import annotations

from ..objects import Obj, clone, spec_of, status_of
from .podspec import NODE_ADDRESS

TERMINAL = ("Succeeded", "Failed")
CANNOT_RUN = "CannotRun"
_ORDER = ("DisruptionTarget", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def ended(pod: Obj) -> bool:
    return status_of(pod).get("phase") in TERMINAL


def set_condition(status: Obj, kind: str, value: bool, now: str, *, reason: str = "", message: str = "") -> None:
    """lastTransitionTime moves only when the condition's value does."""
    conditions = status.setdefault("conditions", [])
    new: Obj = {"type": kind, "status": str(value), "lastProbeTime": None, "lastTransitionTime": now}
    new |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
    del new["lastProbeTime"]
    for index, old in enumerate(conditions):
        if old.get("type") == kind:
            if old.get("status") == new["status"]:
                new["lastTransitionTime"] = old.get("lastTransitionTime", now)
            conditions[index] = new
            return
    conditions.append(new)
    conditions.sort(key=lambda item: _ORDER.index(item["type"]) if item["type"] in _ORDER else len(_ORDER))


def _containers(pod: Obj, states: dict[str, Obj], ready: bool) -> list[Obj]:
    return [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": states[container["name"]],
        }
        for container in spec_of(pod).get("containers", ())
        if container["name"] in states
    ]


def running(pod: Obj, now: str) -> Obj:
    status = clone(status_of(pod))
    names = [container["name"] for container in spec_of(pod)["containers"]]
    status |= {"phase": "Running", "startTime": now, "hostIP": NODE_ADDRESS, "podIP": NODE_ADDRESS}
    status |= {"hostIPs": [{"ip": NODE_ADDRESS}], "podIPs": [{"ip": NODE_ADDRESS}]}
    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"):
        set_condition(status, kind, True, now)
    status["containerStatuses"] = _containers(pod, {name: {"running": {"startedAt": now}} for name in names}, True)
    for gone in ("reason", "message"):
        status.pop(gone, None)
    return status


def finished(pod: Obj, codes: dict[str, int], now: str) -> Obj:
    """After its containers ended with these exit codes."""
    status = clone(status_of(pod))
    started = status.get("startTime", now)
    states = {
        name: {
            "terminated": {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": started,
                "finishedAt": now,
            }
        }
        for name, code in codes.items()
    }
    good = all(code == 0 for code in codes.values())
    status["phase"] = "Succeeded" if good else "Failed"
    status["containerStatuses"] = _containers(pod, states, False)
    for kind in ("Ready", "ContainersReady"):
        set_condition(status, kind, False, now, reason="PodCompleted" if good else "PodFailed")
    return status


def refused(pod: Obj, why: str, now: str) -> Obj:
    """Failed before it began, for a reason that no second try would change."""
    status = clone(status_of(pod))
    codes = {
        container["name"]: {
            "exitCode": 128,
            "reason": "StartError",
            "message": why,
            "startedAt": now,
            "finishedAt": now,
        }
        for container in spec_of(pod)["containers"]
    }
    status |= {"phase": "Failed", "reason": CANNOT_RUN, "message": why, "startTime": now}
    states = {name: {"terminated": state} for name, state in codes.items()}
    status["containerStatuses"] = _containers(pod, states, False)
    return status


def waiting(pod: Obj, why: str) -> Obj:
    status = clone(status_of(pod))
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": why}}
    names = [container["name"] for container in spec_of(pod)["containers"]]
    status["containerStatuses"] = _containers(pod, dict.fromkeys(names, state), False)
    return status


def lost(pod: Obj, now: str) -> Obj:
    """The node went away under it: a disruption, not a failure of its own."""
    codes = {container["name"]: 137 for container in spec_of(pod)["containers"]}
    status = finished(pod, codes, now)
    for item in status["containerStatuses"]:
        item["state"]["terminated"]["reason"] = "ContainerStatusUnknown"
    message = "the node stopped while the Pod was running on it"
    status |= {"reason": "Terminated", "message": message}
    set_condition(status, "DisruptionTarget", True, now, reason="TerminationByKubelet", message=message)
    return status
