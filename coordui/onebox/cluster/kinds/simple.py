"""Kinds with a rule or two."""

from __future__ import annotations

from ..errors import Cause
from ..objects import Obj, dump
from .base import Kind, texts, typed

CONFIGMAP_BYTES = 1024 * 1024


class ConfigMap(Kind):
    top = frozenset({"data", "binaryData", "immutable"})

    def decode(self, obj: Obj) -> None:
        texts("ConfigMap", obj, "data", "binaryData")
        typed("ConfigMap", obj, immutable=bool)

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        found = []
        if old and old.get("immutable") and any(obj.get(key) != old.get(key) for key in ("data", "binaryData")):
            found.append(Cause("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden"))
        if len(dump([obj.get("data"), obj.get("binaryData")])) > CONFIGMAP_BYTES:
            found.append(Cause("", f"Too long: must have at most {CONFIGMAP_BYTES} bytes", "FieldValueTooLong"))
        return found


class Namespace(Kind):
    top = frozenset({"spec", "status"})
    label_name = True

    def created(self, obj: Obj) -> None:
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]
        obj["spec"]["finalizers"] = ["kubernetes"]
        obj["status"] = {"phase": "Active"}


class Event(Kind):
    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        involved = (obj.get("involvedObject") or {}).get("namespace", "")
        if involved and involved != obj["metadata"].get("namespace"):
            return [Cause("involvedObject.namespace", f'Invalid value: "{involved}": does not match event.namespace')]
        return []
