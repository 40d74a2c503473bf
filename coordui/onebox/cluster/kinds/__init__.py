"""What each kind adds to the common verbs: decoding of its types, defaults, validation."""

from __future__ import annotations

from ..resources import CONFIGMAPS, EVENTS, JOBS, LEASES, NAMESPACES, PODS, Resource
from .base import Kind, Undecodable
from .job import Job
from .lease import Lease
from .pod import Pod
from .simple import ConfigMap, Event, Namespace

_KINDS: dict[str, Kind] = {
    CONFIGMAPS.key: ConfigMap(),
    EVENTS.key: Event(),
    JOBS.key: Job(),
    LEASES.key: Lease(),
    NAMESPACES.key: Namespace(),
    PODS.key: Pod(),
}
_PLAIN = Kind()


def kind_of(resource: Resource) -> Kind:
    return _KINDS.get(resource.key, _PLAIN)


__all__ = ["Kind", "Undecodable", "kind_of"]
