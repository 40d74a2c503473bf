"""The patch types: JSON merge (RFC 7386), strategic merge, and JSON patch as lenient as the real server's."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any, ClassVar

import jsonpatch
from jsonpointer import JsonPointerException

from .errors import bad_request, rejected_patch
from .objects import Obj

# Lists whose items strategic merge and field ownership tell apart by a key.
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
    "conditions": "type",
    "addresses": "type",
    "ownerReferences": "uid",
    "imagePullSecrets": "name",
    "secrets": "name",
}
SETS = frozenset({"finalizers"})


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386. The target is not changed."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def strategic(target: Any, patch: Obj) -> Obj:
    """Strategic merge: like merge, but lists of MERGE_KEYS by their key and SETS as sets. The target is not changed."""
    if patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.partition("/")[2]
            result[name] = [item for item in result.get(name, []) if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = strategic(result.get(key), value)
        elif isinstance(value, list) and key in MERGE_KEYS:
            result[key] = _by_key(result.get(key) or [], value, MERGE_KEYS[key])
        elif isinstance(value, list) and key in SETS:
            result[key] = list(dict.fromkeys([*(result.get(key) or []), *value]))
        else:
            result[key] = copy.deepcopy(value)
    return result


def _by_key(old: list[Obj], patch: list[Obj], key: str) -> list[Obj]:
    if any(item.get("$patch") == "replace" for item in patch):
        return [copy.deepcopy(item) for item in patch if "$patch" not in item]
    result = list(old)
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next((index for index, have in enumerate(result) if have.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            if at is not None:
                del result[at]
        elif at is None:
            result.append(strategic({}, item))
        else:
            result[at] = strategic(result[at], item)
    return result


class _Replace(jsonpatch.ReplaceOperation):
    """The real server lets `replace` set a key that is not there, in a map that is."""

    def apply(self, obj: Any) -> Any:
        within, part = self.pointer.to_last(obj)
        if part is not None and isinstance(within, dict):
            within[part] = self.operation["value"]
            return obj
        return super().apply(obj)


class _Test(jsonpatch.TestOperation):
    """`test` against null holds for a key that is not there."""

    def apply(self, obj: Any) -> Any:
        within, part = self.pointer.to_last(obj)
        if self.operation.get("value") is None and isinstance(within, dict) and within.get(part) is None:
            return obj
        return super().apply(obj)


class _JsonPatch(jsonpatch.JsonPatch):
    operations: ClassVar[MappingProxyType[str, type[jsonpatch.PatchOperation]]] = MappingProxyType(
        dict(jsonpatch.JsonPatch.operations) | {"replace": _Replace, "test": _Test}
    )


def json_patch(target: Obj, operations: Any) -> Obj:
    """All operations or none: the first that does not apply, a failed `test` too, is a 422."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        found = _JsonPatch(operations).apply(target)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError):
        raise rejected_patch() from None
    if not isinstance(found, dict):
        raise rejected_patch()
    return found
