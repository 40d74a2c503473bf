"""What goes because something else went: dependents of deleted owners, and the content of deleted namespaces.

Driven by the store's events; at start it looks once at everything, so a crash between an owner's deletion and its
dependents' loses nothing.
"""

from __future__ import annotations

from ..storage.objects import Obj
from ..storage.resources import NAMESPACES, PODS, Resource
from ..storage.store import Event, Store
from ..storage.workqueue import Timers, WorkQueue
from .deletion import BACKGROUND, FOREGROUND, JOB_TRACKING, Deleter


class Garbage:
    def __init__(self, store: Store, deleter: Deleter, timers: Timers | None = None) -> None:
        self.store, self.deleter = store, deleter
        self.queue = WorkQueue(self._sync, timers)
        store.listeners.append(self.heard)

    def start(self) -> None:
        for resource, obj in self.store.orphaned():
            self._collect(resource, obj)
        for row in self.store.select(NAMESPACES):
            self.queue.add(("namespace", row.name))

    def heard(self, event: Event) -> None:
        meta = event.object["metadata"]
        if event.type == "DELETED":
            self.queue.add(("owner", meta["uid"]))
            for owner in meta.get("ownerReferences", ()):
                self.queue.add(("foreground", str(owner.get("uid"))))
            if event.namespace:
                self.queue.add(("namespace", event.namespace))
        elif any(self._is_gone(owner, event.namespace) for owner in meta.get("ownerReferences", ())):
            self.queue.add(("dependent", meta["uid"]))
        if "deletionTimestamp" in meta and event.type != "DELETED":
            if event.resource is NAMESPACES:
                self.queue.add(("namespace", event.name))
            elif FOREGROUND in meta.get("finalizers", ()):
                self.queue.add(("foreground", meta["uid"]))

    def _sync(self, key: tuple[str, str]) -> None:
        what, name = key
        if what == "namespace":
            self._empty(name)
        elif what == "owner":
            for resource, dependent in self.store.owned_by(name):
                self._collect(resource, dependent)
        elif what == "dependent":
            if found := self.store.find_uid(name):
                self._collect(*found)
        elif what == "foreground":
            self._foreground(name)

    def _collect(self, resource: Resource, dependent: Obj) -> None:
        """Delete a dependent whose owners are all gone; of several owners only take off those that are gone."""
        meta = dependent["metadata"]
        owners, namespace = meta.get("ownerReferences", ()), meta.get("namespace", "")
        gone = [str(owner.get("uid")) for owner in owners if self._is_gone(owner, namespace)]
        if not gone:
            return
        if len(gone) < len(owners):
            self.deleter.disown(resource, dependent, gone)
        else:
            self._delete(resource, dependent)

    def _is_gone(self, owner: Obj, namespace: str) -> bool:
        """An owner of that uid has to be what the reference says it is, in the dependent's namespace or in none."""
        found = self.store.whereabouts(str(owner.get("uid")))
        if found is None:
            return True
        resource, place, name = found
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        said = (group, owner.get("kind"), owner.get("name"))
        return said != (resource.group, resource.kind, name) or place not in ("", namespace)

    def _delete(self, resource: Resource, obj: Obj) -> None:
        """A Pod without its Job is counted by nobody, so nothing tracks it any more."""
        meta = obj["metadata"]
        namespace, name = meta.get("namespace", ""), meta["name"]
        with self.store.transaction():
            if resource is PODS and JOB_TRACKING in meta.get("finalizers", ()):
                self.deleter.release(resource, obj, JOB_TRACKING)
            if (left := self.store.get(resource, namespace, name)) and "deletionTimestamp" not in left["metadata"]:
                self.deleter.delete(resource, namespace, name, BACKGROUND)

    def _foreground(self, uid: str) -> None:
        found = self.store.find_uid(uid)
        if found is None or FOREGROUND not in found[1]["metadata"].get("finalizers", ()):
            return
        for resource, dependent in self._blocking(uid):
            self._delete(resource, dependent)
        if not self._blocking(uid):
            self.deleter.release(*found, FOREGROUND)

    def _blocking(self, uid: str) -> list[tuple[Resource, Obj]]:
        """The dependents that a foreground deletion waits for; the others go once their owner has gone."""
        return [
            (resource, dependent)
            for resource, dependent in self.store.owned_by(uid)
            if any(
                owner.get("uid") == uid and owner.get("blockOwnerDeletion")
                for owner in dependent["metadata"].get("ownerReferences", ())
            )
        ]

    def _empty(self, namespace: str) -> None:
        found = self.store.get(NAMESPACES, "", namespace)
        if found is None or "deletionTimestamp" not in found["metadata"]:
            return
        for resource, row in self.store.content(namespace):
            self._delete(resource, row.object)
        if not self.store.content(namespace):
            gone = {**found, "spec": {key: value for key, value in found["spec"].items() if key != "finalizers"}}
            self.deleter.finish(NAMESPACES, gone)
