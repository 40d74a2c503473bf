"""Kinds with a rule or two."""

from __future__ import annotations

import base64
import re

from ..errors import Cause
from ..storage.objects import Obj, dump
from .base import Kind

TOKEN_SECRET = "kubernetes.io/service-account-token"  # noqa: S105  (a type's name)
ACCOUNT = "kubernetes.io/service-account.name"  # the annotation that says whose token it is to hold
CONFIGMAP_BYTES = 1024 * 1024


_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_BAD_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def _key_problems(data: Obj, path: str) -> list[Cause]:
    """A key becomes a file's name, or a variable's."""
    found = []
    for key in data:
        if len(key) > 253:
            found.append(Cause(f"{path}[{key}]", f'Invalid value: "{key}": must be no more than 253 bytes'))
        if not _KEY.fullmatch(key):
            found.append(Cause(f"{path}[{key}]", f'Invalid value: "{key}": {_BAD_KEY}'))
        elif key == ".":
            found.append(Cause(f"{path}[{key}]", f"Invalid value: \"{key}\": must not be '.'"))
        elif key.startswith(".."):
            how = "be" if key == ".." else "start with"
            found.append(Cause(f"{path}[{key}]", f"Invalid value: \"{key}\": must not {how} '..'"))
    return found


class ConfigMap(Kind):
    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        found = []
        if old and old.get("immutable") and any(obj.get(key) != old.get(key) for key in ("data", "binaryData")):
            found.append(Cause("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden"))
        if len(dump([obj.get("data"), obj.get("binaryData")])) > CONFIGMAP_BYTES:
            found.append(Cause("", f"Too long: must have at most {CONFIGMAP_BYTES} bytes", "FieldValueTooLong"))
        for part in ("data", "binaryData"):
            found += _key_problems(obj.get(part) or {}, part)
        for key in sorted(set(obj.get("data") or {}) & set(obj.get("binaryData") or {})):
            found.append(Cause(f"data[{key}]", f'Invalid value: "{key}": duplicate of key present in binaryData'))
        return found


class Secret(Kind):
    def default(self, obj: Obj) -> None:
        """`stringData` is only ever written; it is told as `data`."""
        obj.setdefault("type", "Opaque")
        for key, text in (obj.pop("stringData", None) or {}).items():
            obj.setdefault("data", {})[key] = base64.b64encode(text.encode()).decode()

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        found = _key_problems(obj.get("data") or {}, "data")
        if obj["type"] == TOKEN_SECRET and not (obj["metadata"].get("annotations") or {}).get(ACCOUNT):
            found.append(Cause(f"metadata.annotations[{ACCOUNT}]", "Required value", "FieldValueRequired"))
        if old and obj["type"] != old.get("type"):
            found.append(Cause("type", f'Invalid value: "{obj["type"]}": field is immutable'))
        if old and old.get("immutable") and obj.get("data") != old.get("data"):
            found.append(Cause("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden"))
        return found


class Namespace(Kind):
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
