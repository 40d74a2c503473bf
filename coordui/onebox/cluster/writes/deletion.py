"""Deleting: preconditions, finalizers, propagation, collections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from .. import errors
from ..authors import Author
from ..clock import seconds
from ..storage.objects import Obj, clone, prune, spec_of, status_of
from ..storage.resources import NAMESPACES, PODS, Resource
from ..storage.selectors import Selector
from .registry import Registry

FOREGROUND = "foregroundDeletion"
JOB_TRACKING = "batch.kubernetes.io/job-tracking"
_KEPT_NAMESPACES = ("default", "kube-public", "kube-system")
_AUTHOR = Author("kube-apiserver")
LONGEST = 10**9  # seconds that a deletion may wait; dates end in the year 9999


@dataclass(frozen=True)
class DeleteOptions:
    policy: str = ""  # Background, Foreground, Orphan; empty: the resource's default
    grace: int | None = None  # seconds
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


BACKGROUND = DeleteOptions("Background")


class Deleter:
    def __init__(self, registry: Registry) -> None:
        self.registry, self.store, self.clock = registry, registry.store, registry.clock

    def delete(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> tuple[Obj, bool]:
        """The object as last seen, and whether it is gone; if not, finalizers or its own end still hold it."""
        old = self.registry.get(resource, namespace, name)
        self._check(resource, old, options)
        policy = options.policy or ("Orphan" if resource.group == "batch" else "Background")
        with self.store.transaction(keep=not options.dry_run):
            new = self._marked(resource, clone(old), policy, options.grace)
            if policy == "Orphan":
                self._orphan(old["metadata"]["uid"])
            gone = "deletionTimestamp" not in new["metadata"]
            last = self.store.remove(resource, new) if gone else self.registry.amend(resource, old, new, _AUTHOR)
        if options.dry_run:
            last["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]  # there is no newer one
        return last, gone

    def collection(
        self, resource: Resource, namespace: str | None, selector: Selector, options: DeleteOptions
    ) -> list[Obj]:
        rows = self.store.select(resource, namespace, selector)
        return [self.delete(resource, row.namespace, row.name, options)[0] for row in rows]

    def finish(self, resource: Resource, obj: Obj) -> None:
        """The grace of an object marked for deletion is over: it goes unless finalizers hold it."""
        new = clone(obj)
        new["metadata"]["deletionGracePeriodSeconds"] = 0
        self.registry.amend(resource, obj, new, _AUTHOR)

    def release(self, resource: Resource, obj: Obj, finalizer: str) -> None:
        """Take a finalizer off; the object goes if that was all that held it."""
        new = clone(obj)
        left = [item for item in obj["metadata"].get("finalizers", ()) if item != finalizer]
        new["metadata"]["finalizers"] = left
        if not left:
            del new["metadata"]["finalizers"]
        self.registry.amend(resource, obj, new, _AUTHOR)

    def disown(self, resource: Resource, obj: Obj, owners: Iterable[str]) -> None:
        """Take the references to these owners off; a Pod that is left without one is tracked by no Job."""
        new, gone = clone(obj), set(owners)
        left = [owner for owner in obj["metadata"].get("ownerReferences", ()) if owner.get("uid") not in gone]
        new["metadata"]["ownerReferences"] = left
        if not left:
            del new["metadata"]["ownerReferences"]
            kept = [item for item in obj["metadata"].get("finalizers", ()) if item != JOB_TRACKING]
            new["metadata"]["finalizers"] = kept
            prune(new["metadata"])
        self.registry.amend(resource, obj, new, _AUTHOR)

    def _check(self, resource: Resource, old: Obj, options: DeleteOptions) -> None:
        meta = old["metadata"]
        if options.uid and options.uid != meta["uid"]:
            words = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
                "The object might have been deleted and then recreated"
            )
            raise errors.conflict(resource, meta["name"], words)
        if options.revision and options.revision != meta["resourceVersion"]:
            words = (
                f"the ResourceVersion in the precondition ({options.revision}) does not match the ResourceVersion in "
                f"record ({meta['resourceVersion']}). The object might have been modified"
            )
            raise errors.conflict(resource, meta["name"], words)
        if resource is NAMESPACES and meta["name"] in _KEPT_NAMESPACES:
            words = f'namespaces "{meta["name"]}" is forbidden: this namespace may not be deleted'
            raise errors.ApiError(403, "Forbidden", words, errors.about(resource, meta["name"]))

    def _marked(self, resource: Resource, obj: Obj, policy: str, grace: int | None) -> Obj:
        """With a deletionTimestamp if something still holds the object, else as it was."""
        meta, running = obj["metadata"], 0
        if policy == "Foreground":
            meta["finalizers"] = list(dict.fromkeys([*meta.get("finalizers", ()), FOREGROUND]))
        if resource is PODS and spec_of(obj).get("nodeName") and status_of(obj).get("phase") in ("Pending", "Running"):
            running = spec_of(obj).get("terminationGracePeriodSeconds", 30) if grace is None else grace
            # A process is never left behind: grace 0 still waits for its end, which is SIGKILL at once.
            running = min(max(1, running), LONGEST)
        if resource is NAMESPACES:
            obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
        if meta.get("finalizers") or running or resource is NAMESPACES:
            left = meta.get("deletionGracePeriodSeconds")
            meta.setdefault("deletionTimestamp", seconds(self.clock.now() + timedelta(seconds=running)))
            meta["deletionGracePeriodSeconds"] = running if left is None else min(left, running)
        else:
            meta.pop("deletionTimestamp", None)
        return obj

    def _orphan(self, uid: str) -> None:
        for resource, dependent in self.store.owned_by(uid):
            self.disown(resource, dependent, [uid])
