"""The table of resources this server knows: names, scope, subresources and the fields one may select by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    struct_spec: bool = False  # Go writes `spec` even when it is empty
    generation: bool = False
    fields: tuple[str, ...] = ()
    unconditional_update: bool = True
    create_on_update: bool = False
    subresources: tuple[str, ...] = field(default=())

    @property
    def key(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def list_kind(self) -> str:
        return self.kind + "List"

    @property
    def model(self) -> str:
        """The official client's model of it."""
        return f"{'Core' if self.kind == 'Event' else ''}V1{self.kind}"

    @property
    def singular(self) -> str:
        return self.kind.lower()


NAMESPACES = Resource(
    "", "v1", "namespaces", "Namespace", False, ("ns",), status=True, struct_spec=True, fields=("status.phase",)
)
NODES = Resource(
    "", "v1", "nodes", "Node", False, ("no",), status=True, struct_spec=True, fields=("spec.unschedulable",)
)
PODS = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    status=True,
    struct_spec=True,
    generation=True,
    fields=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    subresources=("log",),
)
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",))
SECRETS = Resource("", "v1", "secrets", "Secret", fields=("type",))
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=("token",))
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", short_names=("quota",), status=True, struct_spec=True)
SERVICES = Resource(
    "",
    "v1",
    "services",
    "Service",
    short_names=("svc",),
    categories=("all",),
    status=True,
    struct_spec=True,
    fields=("spec.clusterIP", "spec.type"),
)
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENTS = Resource(
    "",
    "v1",
    "events",
    "Event",
    short_names=("ev",),
    fields=(*(f"involvedObject.{part}" for part in _INVOLVED), "reason", "type", "source", "reportingComponent"),
)
JOBS = Resource(
    "batch",
    "v1",
    "jobs",
    "Job",
    categories=("all",),
    status=True,
    struct_spec=True,
    generation=True,
    fields=("status.successful",),
)
CRONJOBS = Resource(
    "batch", "v1", "cronjobs", "CronJob", short_names=("cj",), categories=("all",), status=True, struct_spec=True
)
LEASES = Resource(
    "coordination.k8s.io",
    "v1",
    "leases",
    "Lease",
    struct_spec=True,
    unconditional_update=False,
    create_on_update=True,
)
RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False)

ALL = (
    CONFIGMAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    QUOTAS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    CRONJOBS,
    JOBS,
    LEASES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
BY_KEY = {resource.key: resource for resource in ALL}
_BY_PATH = {(resource.group, resource.version, resource.plural): resource for resource in ALL}
GROUP_VERSIONS = tuple(dict.fromkeys((resource.group, resource.version) for resource in ALL))


def find(group: str, version: str, plural: str) -> Resource | None:
    return _BY_PATH.get((group, version, plural))


_SWITCHES = ("spec.unschedulable", "spec.hostNetwork")  # absent: false


def field_value(obj: Mapping[str, Any], path: str) -> str:
    """The value a field selector compares with, as a string; absent is empty, or what it means to be absent."""
    if path == "status.successful":
        return str((obj.get("status") or {}).get("succeeded") or 0)
    if path == "source":
        return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or path in _SWITCHES:
        return "true" if value else "false"
    return "" if value is None else str(value)


def settled(obj: Mapping[str, Any]) -> bool:
    """Whether nothing more becomes of it but its deletion: it has ended, as Pods do, and no finalizer holds it."""
    phase = (obj.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed") and not obj["metadata"].get("finalizers")
