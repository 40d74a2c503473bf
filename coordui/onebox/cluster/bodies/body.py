"""From a body to an object: what it says it is, what its schema says, and what Go's omitempty leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import errors
from ..storage.objects import Obj, prune
from ..storage.resources import Resource
from ..writes.writing import Write
from . import schema
from .decoding import Place, UnknownFields, examine


@dataclass
class Decoded:
    obj: Obj
    missing: list[Place] = field(default_factory=list)

    def problems(self) -> list[errors.Cause]:
        """What has to be there and is not, defaults included."""
        words, reason = "Required value", "FieldValueRequired"
        return [errors.Cause(place.path, words, reason) for place in self.missing if place.empty]


def decode(resource: Resource, namespace: str, body: Any, write: Write) -> Decoded:
    """Raises Undecodable for what the schema refuses, ApiError for a body that does not belong here.

    An unknown field is an error under Strict and in every apply, else dropped, and under Warn told. The server's own
    writes (no
    `validation`) are believed.
    """
    if not isinstance(body, dict):
        raise errors.bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    for key, want in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if body.get(key) not in (None, "", want):
            words = "API version" if key == "apiVersion" else "kind"
            raise errors.bad_request(
                f"the {words} in the data ({body[key]}) does not match the expected {words} ({want})"
            )
    obj: Obj = {key: value for key, value in body.items() if key not in ("apiVersion", "kind")}
    obj["metadata"] = obj.get("metadata") or {}
    decoded = Decoded(obj)
    if write.validation:
        found = examine(schema.struct_of(resource), obj)
        _unknown(found.unknown, write)
        decoded.missing = found.missing
    meta: Obj = obj["metadata"]
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif (meta.get("namespace") or namespace) != namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta["namespace"] = namespace
    prune(obj)
    if resource.struct_spec:
        obj.setdefault("spec", {})
    return decoded


def _unknown(places: list[Place], write: Write) -> None:
    if places and (write.validation == "Strict" or write.operation == "Apply"):
        raise UnknownFields([place.path for place in places])
    for place in places:
        del place.holder[place.key]
    if write.validation == "Warn":
        write.warnings += [f'unknown field "{place.path}"' for place in places]
