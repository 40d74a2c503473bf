"""ResourceQuotas on how many objects of a kind a namespace may have.

`count/<resource>.<group>` of any resource, and the short names of the core ones (`pods`, `secrets`, ...). A client's
create is refused beyond the limit, and so is a Job's next Pod; what else the server makes by itself is counted only.
"""

from __future__ import annotations

from .. import errors
from ..authors import Author, Write
from ..kinds.quantities import quantity
from ..storage.objects import Obj, clone, spec_of, status_of
from ..storage.resources import ALL, PODS, QUOTAS, Resource
from ..storage.store import Event
from .registry import Registry

_AUTHOR = Author("kube-controller-manager", subresource="status")
_COUNTED: dict[str, Resource] = {f"count/{resource.key}": resource for resource in ALL}
_COUNTED |= {resource.plural: resource for resource in ALL if not resource.group}


class Quotas:
    def __init__(self, registry: Registry) -> None:
        self._store, self._registry = registry.store, registry
        self._namespaces = {row.namespace for row in self._store.select(QUOTAS)}
        self._store.listeners.append(self._heard)
        registry.admission.append(self.admit)

    def admit(self, resource: Resource, obj: Obj, old: Obj | None, write: Write) -> None:
        """Raises ApiError 403 where one more would be too many."""
        meta = obj["metadata"]
        namespace = meta.get("namespace", "")
        own = write.user is None and resource is not PODS
        if old is not None or own or namespace not in self._namespaces:
            return
        for row in self._store.select(QUOTAS, namespace):
            limits = {name: limit for name, limit in _limits(row.object).items() if _COUNTED.get(name) is resource}
            used = self._used(resource, namespace) if limits else 0
            over = [name for name, limit in limits.items() if used + 1 > quantity(limit)]
            if over:
                asked = ",".join(f"{name}=1" for name in over)
                have = ",".join(f"{name}={used}" for name in over)
                most = ",".join(f"{name}={limits[name]}" for name in over)
                why = f"exceeded quota: {row.name}, requested: {asked}, used: {have}, limited: {most}"
                raise errors.forbidden(resource.group, resource.plural, meta["name"], why)

    def _heard(self, event: Event) -> None:
        if event.resource is QUOTAS:
            self._namespaces = {row.namespace for row in self._store.select(QUOTAS)}
        if event.namespace in self._namespaces and (event.type != "MODIFIED" or event.resource is QUOTAS):
            for row in self._store.select(QUOTAS, event.namespace):
                self._tell(row.object)

    def _tell(self, quota: Obj) -> None:
        """Bring its status up to date."""
        limits, namespace = _limits(quota), quota["metadata"]["namespace"]
        used = {name: str(self._used(_COUNTED[name], namespace)) for name in limits if name in _COUNTED}
        status = {"hard": limits, "used": used}
        if status_of(quota) != status:
            self._registry.amend(QUOTAS, quota, {**clone(quota), "status": status}, _AUTHOR)

    def _used(self, resource: Resource, namespace: str) -> int:
        return self._store.count(resource, namespace, ("", ""), self._store.revision)


def _limits(quota: Obj) -> dict[str, str]:
    found: dict[str, str] = spec_of(quota).get("hard") or {}
    return found
