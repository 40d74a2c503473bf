"""From a body to an object: what it says it is, what its schema says, and what Go's omitempty leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import errors
from ..authors import Write
from ..storage.objects import Obj, prune
from ..storage.resources import Resource
from . import schema
from .decoding import Place, UnknownFields, examine


@dataclass
class Decoded:
    obj: Obj
    missing: list[Place] = field(default_factory=list)

    def problems(self, subresource: str = "") -> list[errors.Cause]:
        """What has to be there and is not, defaults included; in the part that a write to `subresource` is about."""
        words, reason = "Required value", "FieldValueRequired"
        missing = [place for place in self.missing if place.empty]
        return [errors.Cause(place.path, words, reason) for place in missing if place.in_status == bool(subresource)]


def decode(resource: Resource, namespace: str, body: Any, write: Write) -> Decoded:
    """Raises Undecodable for what the schema refuses, ApiError for a body that does not belong here.

    An unknown field is an error under Strict and in every apply, else dropped, and under Warn told; a key that is there
    twice is an error under Strict. The server's own writes (no `validation`) are believed.
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
    repeated, write.repeated = write.repeated, ()
    strict = write.validation == "Strict"
    if (strict and (places or repeated)) or (places and write.operation == "Apply"):
        raise UnknownFields([place.path for place in places], repeated)
    for place in places:
        del place.holder[place.key]
    if write.validation == "Warn":
        write.warnings += [*repeated, *(f'unknown field "{place.path}"' for place in places)]
