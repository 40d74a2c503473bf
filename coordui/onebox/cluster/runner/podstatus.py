"""A Pod's status as a kubelet writes it: phases, conditions, container states. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..storage.objects import Obj, clone, status_of
from .lifecycle import Container, Ending, containers_of

TERMINAL = ("Succeeded", "Failed")
CANNOT_RUN = "CannotRun"
NODE_ADDRESS = "127.0.0.1"
LOST = "the node stopped while the Pod was running on it"
_ORDER = ("DisruptionTarget", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def ended(pod: Obj) -> bool:
    return status_of(pod).get("phase") in TERMINAL


def set_condition(status: Obj, kind: str, value: bool, now: str, *, reason: str = "", message: str = "") -> None:
    """lastTransitionTime moves only when the condition's value does."""
    conditions = status.setdefault("conditions", [])
    new: Obj = {"type": kind, "status": str(value), "lastTransitionTime": now}
    new |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
    for index, old in enumerate(conditions):
        if old.get("type") == kind:
            if old.get("status") == new["status"]:
                new["lastTransitionTime"] = old.get("lastTransitionTime", now)
            conditions[index] = new
            return
    conditions.append(new)
    conditions.sort(key=lambda item: _ORDER.index(item["type"]) if item.get("type") in _ORDER else len(_ORDER))


def terminated(container: Container) -> Obj:
    state: Obj = {"exitCode": container.code, "reason": container.reason}
    if container.message:
        state["message"] = container.message
    return {"terminated": state | {"startedAt": container.started, "finishedAt": container.finished}}


def _state(container: Container, initializing: bool) -> Obj:
    if container.at == "running":
        return {"running": {"startedAt": container.started}}
    if container.at == "ended":
        return terminated(container)
    if container.at == "new":
        return {"waiting": {"reason": "PodInitializing" if initializing else "ContainerCreating"}}
    waiting = {"reason": container.reason, "message": container.message}
    return {"waiting": {key: text for key, text in waiting.items() if text}}


def _told(container: Container, initializing: bool) -> Obj:
    running = container.at == "running"
    told: Obj = {"name": container.name, "image": container.image, "imageID": "", "restartCount": container.restarts}
    told |= {"ready": container.done if container.init else running, "started": running}
    if container.last is not None:
        told["lastState"] = container.last
    return told | {"state": _state(container, initializing)}


def read(pod: Obj) -> list[Container]:
    """The containers as the Pod's status tells them, as far as it does: a client may have written it."""
    found = containers_of(pod.get("spec") or {})
    status = status_of(pod)
    told = {
        (part == "initContainerStatuses", item.get("name")): item
        for part in ("initContainerStatuses", "containerStatuses")
        for item in status.get(part, ())
    }
    for container in found:
        item = told.get((container.init, container.name))
        if item is None:
            continue
        container.restarts = item.get("restartCount", 0)
        container.last = item.get("lastState")
        state = item.get("state") or {}
        if running := state.get("running"):
            container.begin(running.get("startedAt", ""))
        elif ended_state := state.get("terminated"):
            container.started = ended_state.get("startedAt", "")
            words = {key: ended_state.get(key, "") for key in ("reason", "message")}
            container.end(ended_state.get("exitCode", 0), ended_state.get("finishedAt", ""), **words)
        elif (waiting := state.get("waiting", {})).get("reason") == "CrashLoopBackOff":
            container.at, container.reason = "backoff", waiting["reason"]
            container.message = waiting.get("message", "")
    return found


def told(pod: Obj, containers: Iterable[Container], now: str, *, phase: str = "", ending: Ending | None = None) -> Obj:
    """The status of a Pod whose containers are as given. `phase` is Succeeded or Failed once it is over."""
    containers, status = list(containers), clone(status_of(pod))
    inits = [container for container in containers if container.init]
    mains = [container for container in containers if not container.init]
    initialized = all(container.done for container in inits)
    begun = any(container.at in ("running", "backoff", "ended") for container in mains)
    status["phase"] = phase or ("Running" if initialized and begun else "Pending")
    status.setdefault("startTime", now)
    status |= {"hostIP": NODE_ADDRESS, "hostIPs": [{"ip": NODE_ADDRESS}]}
    status |= {"podIP": NODE_ADDRESS, "podIPs": [{"ip": NODE_ADDRESS}]}
    if inits:
        status["initContainerStatuses"] = [_told(container, False) for container in inits]
    status["containerStatuses"] = [_told(container, not initialized) for container in mains]
    _set_conditions(status, inits, mains, now)
    if phase and ending is not None and ending.reason:
        status |= {"reason": ending.reason, "message": ending.message}
    return status


def _set_conditions(status: Obj, inits: list[Container], mains: list[Container], now: str) -> None:
    """After the end they say which: PodCompleted or PodFailed."""
    over = status["phase"] in TERMINAL
    waiting = [container.name for container in inits if not container.done]
    words = f"containers with incomplete status: [{' '.join(waiting)}]" if waiting else ""
    reason = "ContainersNotInitialized" if waiting else "PodCompleted" if status["phase"] == "Succeeded" else ""
    set_condition(status, "PodReadyToStartContainers", not over, now)
    set_condition(status, "Initialized", not waiting, now, reason=reason, message=words)
    unready = [container.name for container in mains if container.at != "running"]
    reason = words = ""
    if over:
        reason = "PodCompleted" if status["phase"] == "Succeeded" else "PodFailed"
    elif unready:
        reason, words = "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    for kind in ("Ready", "ContainersReady"):
        set_condition(status, kind, not unready and not over, now, reason=reason, message=words)


def lost(pod: Obj, containers: list[Container], now: str) -> Obj:
    """The node went away under it: a disruption, not a failure of its own."""
    for container in containers:
        if container.at != "ended":
            container.end(137, now, reason="ContainerStatusUnknown", message=LOST)
    status = told(pod, containers, now, phase="Failed", ending=Ending("Terminated", LOST))
    set_condition(status, "DisruptionTarget", True, now, reason="TerminationByKubelet", message=LOST)
    return status
