"""OpenAPI: enough for `kubectl apply` at once, and with every field and its words for `kubectl explain`.

A PATCH with `fieldValidation` tells kubectl to leave validation to the server; it asks for that before every apply, and
says in a header which command it is. The schemas are the client's models, so whoever reads them waits for those.
"""

from __future__ import annotations

from functools import cache

from ..bodies import schema
from ..bodies.schema import Field, Struct
from ..storage.objects import Obj
from ..storage.resources import ALL
from ..writes.listtypes import MERGE_KEYS, SETS

_TYPES = {"int": "integer", "bool": "boolean", "float": "number", "any": "object"}
_FORMATS = {"time": "date-time", "micro": "date-time", "bytes": "byte"}


def needs_schemas(command: str) -> bool:
    """Whether who sends this Kubectl-Command header (or none) reads the schemas."""
    return not command or command.endswith("explain")


@cache
def document(prefix: str, *, schemas: bool) -> Obj:
    """The document of one group-version, such as "/apis/batch/v1"."""
    found: Obj = {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": _paths(prefix)}
    if schemas:
        found["components"] = {"schemas": _components(prefix)}
    return found


def _paths(prefix: str) -> Obj:
    paths: Obj = {}
    for resource in ALL:
        if resource.prefix != prefix:
            continue
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        paths[f"{prefix}{scope}/{resource.plural}/{{name}}"] = {
            "patch": {
                "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": kind,
            }
        }
    return paths


def _components(prefix: str) -> Obj:
    found: Obj = {}
    for resource in ALL:
        if resource.prefix != prefix:
            continue
        structs = schema.reachable(schema.struct_of(resource)).values()
        found |= {_name(struct): _struct(struct) for struct in structs if _name(struct) not in found}
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        found[_name(schema.struct_of(resource))]["x-kubernetes-group-version-kind"] = [kind]
    return found


def _name(struct: Struct) -> str:
    return f"io.k8s.api.v1.{struct.name}"


def _struct(struct: Struct) -> Obj:
    found: Obj = {"type": "object", "description": struct.text}
    found["properties"] = {field.name: _field(field) for field in struct.fields.values()}
    return found | ({"required": list(struct.required)} if struct.required else {})


def _field(field: Field) -> Obj:
    if field.struct is not None:
        inner: Obj = {"allOf": [{"$ref": f"#/components/schemas/{_name(field.struct)}"}], "default": {}}
    else:
        scalar = field.scalar or "any"
        inner = {"type": _TYPES.get(scalar, "string")}
        if scalar in _FORMATS:
            inner["format"] = _FORMATS[scalar]
        elif scalar == "int":
            inner["format"] = "int64" if field.go.endswith("int64") else "int32"
    listed: Obj = {"type": "array", "items": inner}
    found: Obj = {
        "one": inner,
        "list": listed,
        "map": {"type": "object", "additionalProperties": inner},
        "lists": {"type": "object", "additionalProperties": listed},
    }[field.holds]
    if field.holds == "list" and field.struct and field.name in MERGE_KEYS:
        key = next(key for key in MERGE_KEYS[field.name] if key in field.struct.fields)
        found |= {"x-kubernetes-patch-merge-key": key, "x-kubernetes-patch-strategy": "merge"}
    elif field.name in SETS:
        found["x-kubernetes-patch-strategy"] = "merge"
    text = field.text or (field.struct.text if field.struct else "")
    return found | ({"description": text} if text else {})
