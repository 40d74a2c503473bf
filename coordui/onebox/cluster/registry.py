"""The writing verbs: create, update, patch, apply. Each reads and writes with nothing in between: compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from . import errors, patches
from .clock import Clock
from .kinds import Undecodable, kind_of
from .managed import Author, decode, leaves, stamp
from .objects import Obj, clone, name_problem, new_uid, prune, suffix
from .resources import NAMESPACES, NODES, Resource
from .store import Store

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


@dataclass
class Write:
    """How a request wants to write; `warnings` collects what the answer's headers will say."""

    manager: str
    dry_run: bool = False
    validation: str = "Warn"  # fieldValidation: Ignore, Warn or Strict
    subresource: str = ""
    operation: Literal["Update", "Apply"] = "Update"
    warnings: list[str] = field(default_factory=list)

    @property
    def author(self) -> Author:
        return Author(self.manager, self.operation, self.subresource)


class Registry:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock

    # -- the verbs

    def get(self, resource: Resource, namespace: str, name: str) -> Obj:
        found = self.store.get(resource, namespace, name)
        if found is None:
            raise errors.not_found(resource, name)
        return found

    def create(self, resource: Resource, namespace: str, body: Any, write: Write) -> Obj:
        obj = self._decoded(resource, namespace, body, write)
        meta = obj["metadata"]
        self._check_namespace(resource, namespace, meta.get("name", ""))
        if meta.get("resourceVersion"):
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
        self._validate(resource, obj, None)
        if self.store.body(resource, namespace, meta["name"]) is not None:
            raise errors.already_exists(resource, meta["name"])
        stamp(None, obj, write.author, api_version=resource.api_version, time=self.clock.stamp())
        with self.store.transaction(keep=not write.dry_run):
            self.store.add(resource, obj)
        return obj

    def update(self, resource: Resource, namespace: str, name: str, body: Any, write: Write) -> tuple[Obj, bool]:
        """The object and whether it was created (a Lease that was not there, and only without a uid)."""
        new = self._decoded(resource, namespace, body, write)
        meta = new["metadata"]
        if not meta.get("name"):
            raise errors.bad_request(
                f"the name of the object (based on URL {name}) was undeterminable: name must be provided"
            )
        if meta["name"] != name:
            raise errors.bad_request(_other_name(meta["name"], name))
        old = self.store.get(resource, namespace, name)
        if old is not None:
            return self._commit(resource, old, new, write), False
        if uid := meta.get("uid"):
            words = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise errors.conflict(resource, name, words)
        if not resource.create_on_update or write.subresource:
            raise errors.not_found(resource, name)
        meta.pop("resourceVersion", None)
        return self.create(resource, namespace, new, write), True

    def patch(self, resource: Resource, namespace: str, name: str, kind: str, patch: Any, *, write: Write) -> Obj:
        """`kind` is "merge", "strategic" or "json"."""
        old = self.get(resource, namespace, name)
        base = clone(old)
        if kind == "json":
            new = patches.json_patch(base, patch)
        elif not isinstance(patch, dict):
            raise errors.bad_request("error decoding patch: a JSON object is needed")
        else:
            new = patches.merge(base, patch) if kind == "merge" else patches.strategic(base, patch)
        new = self._decoded(resource, namespace, new, write)
        if new["metadata"].get("name") != name:
            cause = errors.Cause("metadata.name", f'Invalid value: "{new["metadata"].get("name")}": field is immutable')
            raise errors.invalid(resource, name, [cause])
        return self._commit(resource, old, new, write)

    def apply(self, resource: Resource, namespace: str, name: str, body: Any, write: Write) -> tuple[Obj, bool]:
        """Server-side apply without conflicts: create, or merge and drop what this manager no longer applies."""
        if not write.manager:
            cause = errors.Cause("fieldManager", "Required value: is required for apply patch", "FieldValueRequired")
            raise errors.ApiError(422, "Invalid", f"PatchOptions is invalid: {cause.field}: {cause.message}")
        write.operation = "Apply"
        wanted = self._decoded(resource, namespace, body, write)
        if wanted["metadata"].setdefault("name", name) != name:
            raise errors.bad_request(_other_name(wanted["metadata"]["name"], name))
        old = self.store.get(resource, namespace, name)
        if old is None:
            if wanted["metadata"].get("resourceVersion") or wanted["metadata"].get("uid"):
                raise errors.conflict(resource, name)
            return self.create(resource, namespace, wanted, write), True
        new = patches.strategic(clone(old), clone(wanted))
        _drop_unapplied(old, new, write.author, wanted)
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
        return new

    # -- the steps

    def _decoded(self, resource: Resource, namespace: str, body: Any, write: Write) -> Obj:
        if not isinstance(body, dict):
            raise errors.bad_request("the object provided is unrecognized (must be of type " + resource.kind + ")")
        for key, want in (("apiVersion", resource.api_version), ("kind", resource.kind)):
            if body.get(key) not in (None, "", want):
                words = "API version" if key == "apiVersion" else "kind"
                raise errors.bad_request(
                    f"the {words} in the data ({body[key]}) does not match the expected {words} ({want})"
                )
        obj: Obj = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
        obj["metadata"] = meta = obj.get("metadata") or {}
        kind = kind_of(resource)
        try:
            _check_metadata(meta)
            for key in ("spec", "status"):
                if not isinstance(obj.get(key) or {}, dict):
                    raise Undecodable(f"json: cannot unmarshal into Go struct field {resource.kind}.{key}")
            self._check_unknown(kind.unknown(obj), obj, write)
            kind.decode(obj)
        except Undecodable as why:
            raise errors.undecodable(resource, str(why)) from None
        if resource.namespaced:
            if meta.setdefault("namespace", namespace) != namespace:
                raise errors.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
        else:
            meta.pop("namespace", None)
        prune(obj)
        if resource.struct_spec:
            obj.setdefault("spec", {})
        return obj

    def _check_unknown(self, unknown: list[str], obj: Obj, write: Write) -> None:
        """An unknown field is an error under Strict, else dropped, under Warn with a warning."""
        if unknown and write.validation == "Strict":
            words = ", ".join(f'unknown field "{path}"' for path in unknown)
            raise errors.bad_request(f"strict decoding error: {words}")
        for path in unknown:
            holder: Obj = obj
            *parents, last = path.split(".")
            for part in parents:
                holder = holder[part]
            holder.pop(last, None)
            if write.validation == "Warn":
                write.warnings.append(f'unknown field "{path}"')

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
        if problem := name_problem(name, label=kind_of(resource).label_name):
            path = "metadata.generateName" if generated else "metadata.name"
            raise errors.invalid(resource, name, [errors.Cause(path, f'Invalid value: "{name}": {problem}')])

    def _validate(self, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if found := kind_of(resource).problems(obj, old):
            raise errors.invalid(resource, obj["metadata"]["name"], found)

    def _commit(
        self,
        resource: Resource,
        old: Obj,
        new: Obj,
        write: Write,
        *,
        applied: Obj | None = None,
    ) -> Obj:
        """Swap old for new if new names no other uid or revision than old's."""
        have, want, name = old["metadata"], new["metadata"], old["metadata"]["name"]
        if want.get("uid") not in (None, "", have["uid"]):
            words = f"Precondition failed: UID in precondition: {want['uid']}, UID in object meta: {have['uid']}"
            raise errors.conflict(resource, name, words)
        if not want.get("resourceVersion") and not resource.unconditional_update:
            words = "Invalid value: 0: must be specified for an update"
            raise errors.invalid(resource, name, [errors.Cause("metadata.resourceVersion", words)])
        if want.get("resourceVersion") not in (None, "", have["resourceVersion"]):
            raise errors.conflict(resource, name)
        for key in _SERVER_OWNED:
            want.pop(key, None)
            if key in have:
                want[key] = have[key]
        if write.subresource == "status":
            new = {**clone(old), "status": new.get("status", {})}
        elif resource.status:
            new["status"] = clone(old).get("status", {})
        kind_of(resource).default(new)
        if not write.subresource:
            self._validate(resource, new, old)
        if resource.generation and new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return self.amend(resource, old, new, write.author, applied=applied, keep=not write.dry_run)


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


def _check_metadata(meta: Any) -> None:
    if not isinstance(meta, dict):
        raise Undecodable("json: cannot unmarshal into Go struct field .metadata of type v1.ObjectMeta")
    for key in ("labels", "annotations"):
        values = meta.get(key) or {}
        if not isinstance(values, dict) or not all(isinstance(value, str | None) for value in values.values()):
            raise Undecodable(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{key} of type string")
    for key in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(meta.get(key), str | None):
            raise Undecodable(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{key} of type string")
        if meta.get(key) is None:
            meta.pop(key, None)
    if not all(isinstance(owner, dict) for owner in meta.get("ownerReferences") or ()):
        raise Undecodable("json: cannot unmarshal into Go struct field ObjectMeta.metadata.ownerReferences")


def _drop_unapplied(old: Obj, new: Obj, author: Author, applied: Obj) -> None:
    """Remove fields that this manager applied before, applies no more, and nobody else owns."""
    mine: set[tuple[str, ...]] = set()
    others: set[tuple[str, ...]] = set()
    for entry in old["metadata"].get("managedFields", ()):
        (mine if author.owns(entry) else others).update(decode(entry["fieldsV1"]))
    for path in mine - others - set(leaves(applied)):
        if not all(part.startswith("f:") for part in path):
            continue
        holder: Any = new
        for part in path[:-1]:
            holder = holder.get(part[2:], {}) if isinstance(holder, dict) else {}
        holder.pop(path[-1][2:], None)
