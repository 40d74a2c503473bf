"""JSON merge (RFC 7386), and JSON patch as lenient as the real server's."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any, ClassVar

import jsonpatch
from jsonpointer import JsonPointerException

from ..errors import bad_request, rejected_patch
from ..storage.objects import Obj


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
    """All operations, or a 422 for the first that does not apply, a failed `test` too. The target is used up."""
    if not isinstance(operations, list):
        raise bad_request("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        found = _JsonPatch(operations).apply(target, in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError):
        raise rejected_patch() from None
    if not isinstance(found, dict):
        raise rejected_patch()
    return found
