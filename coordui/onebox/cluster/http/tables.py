"""Tables: what `kubectl get` prints, made by the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from ..clock import parse
from ..storage.objects import Obj, condition, is_true, meta, spec_of, status_of
from ..storage.resources import (
    CLUSTER_ROLE_BINDINGS,
    CONFIGMAPS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    ROLE_BINDINGS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)

Cell = Callable[[Obj, datetime], Any]


def age(since: str | None, now: datetime) -> str:
    """How kubectl writes a duration: 5s, 3m12s, 5m, 4h10m, 3d."""
    if not since:
        return "<unknown>"
    total = max(0, int((now - parse(since)).total_seconds()))
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{days}d"


def _created(obj: Obj, now: datetime) -> str:
    return age(meta(obj).get("creationTimestamp"), now)


def _name(obj: Obj, now: datetime) -> str:
    return str(meta(obj)["name"])


def _pod_ready(obj: Obj, now: datetime) -> str:
    ready = sum(1 for item in status_of(obj).get("containerStatuses", ()) if item.get("ready"))
    return f"{ready}/{len(spec_of(obj).get('containers', ()))}"


def _pod_status(obj: Obj, now: datetime) -> str:
    if "deletionTimestamp" in meta(obj):
        return "Terminating"
    status = status_of(obj)
    inits = status.get("initContainerStatuses", ())
    for index, item in enumerate(inits):
        state = item.get("state", {})
        if state.get("terminated", {}).get("exitCode") == 0:
            continue
        reason = (state.get("terminated") or state.get("waiting") or {}).get("reason")
        return (
            f"Init:{index}/{len(inits)}"
            if reason in (None, "PodInitializing", "ContainerCreating")
            else f"Init:{reason}"
        )
    items = status.get("containerStatuses", ())
    states = [item.get("state", {}) for item in items]
    reasons = [(state.get("terminated") or state.get("waiting") or {}).get("reason") for state in states]
    reason = next(filter(None, reasons), None)
    if reason == "Completed" and any("running" in state for state in states):
        return "Running"
    return str(reason or status.get("reason") or status.get("phase", "Unknown"))


def _node_status(obj: Obj, now: datetime) -> str:
    ready = "Ready" if is_true(obj, "Ready") else "NotReady"
    return f"{ready},SchedulingDisabled" if spec_of(obj).get("unschedulable") else ready


def _restarts(obj: Obj, now: datetime) -> int:
    return sum(item.get("restartCount", 0) for item in status_of(obj).get("containerStatuses", ()))


def _job_status(obj: Obj, now: datetime) -> str:
    if "deletionTimestamp" in meta(obj):
        return "Terminating"
    for kind in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Suspended"):
        if is_true(obj, kind):
            return kind
    return "Running"


def _completions(obj: Obj, now: datetime) -> str:
    done, want = status_of(obj).get("succeeded", 0), spec_of(obj).get("completions")
    if want is not None:
        return f"{done}/{want}"
    parallel = spec_of(obj).get("parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: Obj, now: datetime) -> str:
    status = status_of(obj)
    if "startTime" not in status:
        return ""
    failed = condition(obj, "Failed") or {}
    end = status.get("completionTime") or failed.get("lastTransitionTime")
    return age(status["startTime"], parse(end) if end else now)


def _event_object(obj: Obj, now: datetime) -> str:
    involved = obj.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _hard(obj: Obj, now: datetime) -> str:
    status = status_of(obj)
    used, hard = status.get("used", {}), status.get("hard", {})
    return ", ".join(f"{name}: {used.get(name, 0)}/{limit}" for name, limit in sorted(hard.items()))


def _role(obj: Obj, now: datetime) -> str:
    role = obj.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _ports(obj: Obj, now: datetime) -> str:
    ports = spec_of(obj).get("ports", ())
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports) or "<none>"


_NAME = ("Name", "string", _name)
_AGE = ("Age", "string", _created)
_COLUMNS: dict[str, tuple[tuple[str, str, Cell], ...]] = {
    CONFIGMAPS.key: (
        _NAME,
        ("Data", "string", lambda obj, _: len(obj.get("data", {})) + len(obj.get("binaryData", {}))),
        _AGE,
    ),
    SECRETS.key: (
        _NAME,
        ("Type", "string", lambda obj, _: obj.get("type", "Opaque")),
        ("Data", "string", lambda obj, _: len(obj.get("data", {}))),
        _AGE,
    ),
    LEASES.key: (_NAME, ("Holder", "string", lambda obj, _: spec_of(obj).get("holderIdentity", "")), _AGE),
    NAMESPACES.key: (_NAME, ("Status", "string", lambda obj, _: status_of(obj).get("phase", "")), _AGE),
    NODES.key: (
        _NAME,
        ("Status", "string", _node_status),
        ("Roles", "string", lambda obj, _: "<none>"),
        _AGE,
        ("Version", "string", lambda obj, _: status_of(obj).get("nodeInfo", {}).get("kubeletVersion", "")),
    ),
    PODS.key: (
        _NAME,
        ("Ready", "string", _pod_ready),
        ("Status", "string", _pod_status),
        ("Restarts", "string", _restarts),
        _AGE,
    ),
    JOBS.key: (
        _NAME,
        ("Status", "string", _job_status),
        ("Completions", "string", _completions),
        ("Duration", "string", _job_duration),
        _AGE,
    ),
    QUOTAS.key: (_NAME, ("Request", "string", _hard), ("Limit", "string", lambda obj, _: ""), _AGE),
    SERVICE_ACCOUNTS.key: (_NAME, ("Secrets", "string", lambda obj, _: len(obj.get("secrets", ()))), _AGE),
    SERVICES.key: (
        _NAME,
        ("Type", "string", lambda obj, _: spec_of(obj).get("type", "ClusterIP")),
        ("Cluster-IP", "string", lambda obj, _: spec_of(obj).get("clusterIP", "<none>")),
        ("External-IP", "string", lambda obj, _: "<none>"),
        ("Port(s)", "string", _ports),
        _AGE,
    ),
    ROLE_BINDINGS.key: (_NAME, ("Role", "string", _role), _AGE),
    CLUSTER_ROLE_BINDINGS.key: (_NAME, ("Role", "string", _role), _AGE),
    EVENTS.key: (
        ("Last Seen", "string", lambda obj, now: age(obj.get("lastTimestamp") or meta(obj)["creationTimestamp"], now)),
        ("Type", "string", lambda obj, _: obj.get("type", "")),
        ("Reason", "string", lambda obj, _: obj.get("reason", "")),
        ("Object", "string", _event_object),
        ("Message", "string", lambda obj, _: obj.get("message", "")),
    ),
}
_DEFAULT = (_NAME, ("Created At", "date", lambda obj, _: meta(obj).get("creationTimestamp")))


def table(
    resource: Resource, objects: Iterable[Obj], metadata: Obj, now: datetime, *, include: str, headed: bool = True
) -> Obj:
    """`include` is the query's includeObject: Metadata (default), Object or None."""
    columns = _COLUMNS.get(resource.key, _DEFAULT)
    rows = []
    for obj in objects:
        row: Obj = {"cells": [cell(obj, now) for _, _, cell in columns]}
        if include == "Object":
            row["object"] = {"kind": resource.kind, "apiVersion": resource.api_version, **obj}
        elif include != "None":
            row["object"] = {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {key: value for key, value in meta(obj).items() if key != "managedFields"},
            }
        rows.append(row)
    heads = [
        {"name": name, "type": kind, "format": "name" if name == "Name" else "", "description": "", "priority": 0}
        for name, kind, _ in columns
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": heads if headed else None,
        "rows": rows,
    }
