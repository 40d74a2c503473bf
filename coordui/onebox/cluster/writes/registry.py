"""The writing verbs: create, update, patch, apply. Each reads and writes with nothing in between: compare-and-swap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import errors
from ..authors import Author, Write
from ..bodies.body import Decoded, decode
from ..bodies.decoding import Undecodable, UnknownFields
from ..clock import Clock
from ..kinds import kind_of
from ..kinds.metadata import metadata_problems
from ..storage.names import segment_problem
from ..storage.objects import Obj, clone, name_problem, new_uid, suffix
from ..storage.resources import NAMESPACES, NODES, Resource
from ..storage.store import Store
from . import patches
from .apply import apply_to
from .managed import stamp
from .strategic import strategic

# metadata that the server owns: what a client sends for them is ignored.
_SERVER_OWNED = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
)
_DROPPED = ("selfLink",)


# Asked before an object is written, with the one before it; raises ApiError to refuse.
Admission = Callable[[Resource, Obj, Obj | None, Write], None]


class Registry:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.admission: list[Admission] = []

    # -- the verbs

    def get(self, resource: Resource, namespace: str, name: str) -> Obj:
        found = self.store.get(resource, namespace, name)
        if found is None:
            raise errors.not_found(resource, name)
        return found

    def create(self, resource: Resource, namespace: str, body: Any, write: Write) -> Obj:
        return self._create(resource, namespace, _decode(resource, namespace, body, write), write)

    def _create(
        self, resource: Resource, namespace: str, decoded: Decoded, write: Write, *, applied: Obj | None = None
    ) -> Obj:
        obj, meta = decoded.obj, decoded.obj["metadata"]
        self._check_namespace(resource, namespace, meta.get("name", ""))
        if not _any(meta.pop("resourceVersion", None)):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"][:58] + suffix()
        self._check_name(resource, meta.get("name"), bool(meta.get("generateName")))
        for name in (*_SERVER_OWNED, *_DROPPED):
            meta.pop(name, None)
        meta |= {"uid": new_uid(), "creationTimestamp": self.clock.stamp()}
        if resource.generation:
            meta["generation"] = 1
        if resource.status and resource is not NODES:
            obj["status"] = {}
        kind = kind_of(resource)
        kind.default(obj)
        kind.created(obj)
        self._validate(resource, decoded, None, write)
        if self.store.body(resource, namespace, meta["name"]) is not None:
            raise errors.already_exists(resource, meta["name"])
        stamp(None, obj, write.author, api_version=resource.api_version, time=self.clock.stamp(), applied=applied)
        with self.store.transaction(keep=not write.dry_run):
            self.store.add(resource, obj)
        if write.dry_run:
            del meta["resourceVersion"]  # there is no such revision
        return obj

    def update(self, resource: Resource, namespace: str, name: str, body: Any, write: Write) -> tuple[Obj, bool]:
        """The object and whether it was created (a Lease that was not there, and only without a uid)."""
        decoded = _decode(resource, namespace, body, write)
        meta = decoded.obj["metadata"]
        if not meta.get("name"):
            raise errors.bad_request(
                f"the name of the object (based on URL {name}) was undeterminable: name must be provided"
            )
        if meta["name"] != name:
            raise errors.bad_request(_other_name(meta["name"], name))
        old = self.store.get(resource, namespace, name)
        if old is not None:
            return self._commit(resource, old, decoded, write), False
        if uid := meta.get("uid"):
            words = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(resource, name, words)
        if not resource.create_on_update or write.subresource:
            raise errors.not_found(resource, name)
        write.before_create()
        meta.pop("resourceVersion", None)
        return self._create(resource, namespace, decoded, write), True

    def patch(self, resource: Resource, namespace: str, name: str, kind: str, patch: Any, *, write: Write) -> Obj:
        """`kind` is "merge", "strategic" or "json"."""
        old = self.get(resource, namespace, name)
        base = clone(old)
        if kind == "json":
            new = patches.json_patch(base, patch)
        elif not isinstance(patch, dict):
            raise errors.bad_request("error decoding patch: a JSON object is needed")
        else:
            new = patches.merge(base, patch) if kind == "merge" else strategic(base, patch)
        try:
            decoded = decode(resource, namespace, new, write)
        except Undecodable as why:
            raise errors.undecodable_patch(patch, str(why)) from None
        if (other := decoded.obj["metadata"].get("name")) != name:
            cause = errors.Cause("metadata.name", f'Invalid value: "{other}": field is immutable')
            raise errors.invalid(resource, name, [cause])
        return self._commit(resource, old, decoded, write)

    def apply(self, resource: Resource, namespace: str, name: str, body: Any, write: Write) -> tuple[Obj, bool]:
        """Server-side apply: create, or change what is there as apply.py says."""
        if not write.manager:
            cause = errors.Cause("fieldManager", "Required value: is required for apply patch", "FieldValueRequired")
            raise errors.ApiError(422, "Invalid", f"PatchOptions is invalid: {cause.field}: {cause.message}")
        write.operation = "Apply"
        try:
            decoded = decode(resource, namespace, body, write)
        except UnknownFields as why:
            problems = [f".{path}: field not declared in schema" for path in why.paths] or [str(why)]
            raise errors.untyped_patch(resource, namespace, name, problems) from None
        except Undecodable as why:
            raise errors.untyped_patch(resource, namespace, name, [str(why)]) from None
        wanted = decoded.obj
        if wanted["metadata"].setdefault("name", name) != name:
            raise errors.bad_request(_other_name(wanted["metadata"]["name"], name))
        old = self.store.get(resource, namespace, name)
        if old is None and write.subresource:
            raise errors.not_found(resource, name)
        if old is None:
            if wanted["metadata"].get("resourceVersion") or wanted["metadata"].get("uid"):
                raise errors.conflict(resource, name)
            write.before_create()
            return self._create(resource, namespace, decoded, write, applied=clone(wanted)), True
        if resource.status:
            wanted = _of_subresource(wanted, write.subresource)
        new = decode(resource, namespace, apply_to(old, wanted, write.author, force=write.force), write)
        return self._commit(resource, old, new, write, applied=wanted), False

    def amend(
        self,
        resource: Resource,
        old: Obj,
        new: Obj,
        author: Author,
        *,
        applied: Obj | None = None,
        keep: bool = True,
    ) -> Obj:
        """Write a changed object without validation; one that is not changed keeps its revision.

        An object marked for deletion that nothing holds any more is removed instead.
        """
        if applied is None and not released(new) and _same(old, new):
            return old
        stamp(old, new, author, api_version=resource.api_version, time=self.clock.stamp(), applied=applied)
        if (
            applied is not None
            and _same(old, new)
            and old["metadata"].get("managedFields") == new["metadata"].get("managedFields")
        ):
            return old
        with self.store.transaction(keep=keep):
            if released(new):
                self.store.remove(resource, new)
            else:
                self.store.replace(resource, old, new)
        if not keep:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]  # there is no newer one
        return new

    # -- the steps

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        if not resource.namespaced:
            return
        found = self.store.get(NAMESPACES, "", namespace)
        if found is None:
            raise errors.not_found(NAMESPACES, namespace)
        if "deletionTimestamp" in found["metadata"]:
            words = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {namespace} is being terminated"}
            details = errors.about(resource, name) | {"causes": [cause | {"field": "metadata.namespace"}]}
            raise errors.ApiError(403, "Forbidden", f'{resource.key} "{name}" is forbidden: {words}', details)

    def _check_name(self, resource: Resource, name: str | None, generated: bool) -> None:
        if not name:
            words = "Required value: name or generateName is required"
            raise errors.invalid(resource, "", [errors.Cause("metadata.name", words, "FieldValueRequired")])
        kind = kind_of(resource)
        problem = segment_problem(name) if kind.path_name else name_problem(name, label=kind.label_name)
        if problem:
            path = "metadata.generateName" if generated else "metadata.name"
            raise errors.invalid(resource, name, [errors.Cause(path, f'Invalid value: "{name}": {problem}')])

    def _validate(self, resource: Resource, decoded: Decoded, old: Obj | None, write: Write) -> None:
        obj = decoded.obj
        found = decoded.problems(write.subresource)
        if old is not None and write.subresource:
            found += kind_of(resource).status_problems(obj, old)
        else:
            found += kind_of(resource).problems(obj, old)
            if write.validation:
                found += metadata_problems(obj["metadata"])
        if found:
            raise errors.invalid(resource, obj["metadata"]["name"], found)
        for admit in self.admission:
            admit(resource, obj, old, write)

    def _commit(
        self, resource: Resource, old: Obj, decoded: Decoded, write: Write, *, applied: Obj | None = None
    ) -> Obj:
        """Swap old for new if new names no other uid or revision than old's."""
        new = decoded.obj
        have, want, name = old["metadata"], new["metadata"], old["metadata"]["name"]
        if want.get("uid") not in (None, "", have["uid"]):
            words = f"Precondition failed: UID in precondition: {want['uid']}, UID in object meta: {have['uid']}"
            raise errors.conflict(resource, name, words)
        if _any(want.get("resourceVersion")) and not resource.unconditional_update:
            words = "Invalid value: 0: must be specified for an update"
            raise errors.invalid(resource, name, [errors.Cause("metadata.resourceVersion", words)])
        if not _any(want.get("resourceVersion")) and want["resourceVersion"] != have["resourceVersion"]:
            raise errors.conflict(resource, name)
        for key in _SERVER_OWNED:
            want.pop(key, None)
            if key in have:
                want[key] = have[key]
        if "deletionTimestamp" in have and (more := set(want.get("finalizers", ())) - set(have.get("finalizers", ()))):
            listed = " ".join(f'"{name}"' for name in sorted(more))
            words = "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
            cause = errors.Cause("metadata.finalizers", f"{words}[]string{{{listed}}}", "FieldValueForbidden")
            raise errors.invalid(resource, name, [cause])
        if write.subresource == "status":
            decoded.obj = new = {**clone(old), "status": new.get("status", {})}
        elif resource.status:
            new["status"] = clone(old).get("status", {})
        kind_of(resource).default(new)
        self._validate(resource, decoded, old, write)
        if resource.generation and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return self.amend(resource, old, new, write.author, applied=applied, keep=not write.dry_run)


def _any(revision: str | None) -> bool:
    """Whether a write with this resourceVersion is of any revision."""
    return revision in (None, "", "0")


def _other_name(name: str, url_name: str) -> str:
    return f"the name of the object ({name}) does not match the name on the URL ({url_name})"


def released(obj: Obj) -> bool:
    """Whether an object marked for deletion may go: no finalizers, no grace left."""
    meta = obj["metadata"]
    held = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds") or (obj.get("spec") or {}).get("finalizers")
    return "deletionTimestamp" in meta and not held


def _same(old: Obj, new: Obj) -> bool:
    return _bare(old) == _bare(new)


def _bare(obj: Obj) -> Obj:
    meta = {key: value for key, value in obj["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": meta}


def _decode(resource: Resource, namespace: str, body: Any, write: Write) -> Decoded:
    try:
        return decode(resource, namespace, body, write)
    except Undecodable as why:
        raise errors.undecodable(resource, str(why)) from None


def _of_subresource(obj: Obj, subresource: str) -> Obj:
    """The part that a write to the main resource, or to /status, is about."""
    return {key: value for key, value in obj.items() if key == "metadata" or (key == "status") == bool(subresource)}
