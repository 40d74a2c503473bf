"""What each kind adds to the common verbs: defaults and rules."""

from __future__ import annotations

from ..storage.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIGMAPS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    Resource,
)
from .base import Kind
from .job import Job
from .lease import Lease
from .pod import Pod
from .rbac import Binding, ClusterRole, Role
from .simple import ConfigMap, Event, Namespace, Secret

_KINDS: dict[str, Kind] = {
    CLUSTER_ROLE_BINDINGS.key: Binding(),
    CLUSTER_ROLES.key: ClusterRole(),
    CONFIGMAPS.key: ConfigMap(),
    EVENTS.key: Event(),
    JOBS.key: Job(),
    LEASES.key: Lease(),
    NAMESPACES.key: Namespace(),
    PODS.key: Pod(),
    ROLE_BINDINGS.key: Binding(),
    ROLES.key: Role(),
    SECRETS.key: Secret(),
}
_PLAIN = Kind()


def kind_of(resource: Resource) -> Kind:
    return _KINDS.get(resource.key, _PLAIN)


__all__ = ["Kind", "kind_of"]
