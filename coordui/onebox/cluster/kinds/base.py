"""The hooks of a kind, all empty: a plain kind needs none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import Cause
from ..objects import Obj

METADATA = frozenset(
    {
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    }
)


class Kind:
    top: frozenset[str] | None = None  # the fields beside metadata; None: not checked
    spec: frozenset[str] | None = None  # the fields of spec; None: not checked
    label_name = False  # names are DNS labels, not subdomains

    def decode(self, obj: Obj) -> None:
        """Bring values to their wire form in place; a value of the wrong type raises `Undecodable`."""

    def default(self, obj: Obj) -> None:
        """Fill in defaults, in place; runs on every write."""

    def created(self, obj: Obj) -> None:
        """Fill in what only a new object gets; it has its name and uid."""

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        """What is wrong with it; `old` is the object before an update."""
        return []

    def unknown(self, obj: Obj) -> list[str]:
        """Fields that this kind does not have, as dotted paths."""
        found = []
        if self.top is not None:
            found += [key for key in obj if key not in self.top and key not in ("apiVersion", "kind", "metadata")]
        found += [f"metadata.{key}" for key in obj["metadata"] if key not in METADATA]
        spec = obj.get("spec")
        if self.spec is not None and isinstance(spec, dict):
            found += [f"spec.{key}" for key in spec if key not in self.spec]
        return found


class Undecodable(ValueError):
    """A value that Go's types could not hold: 400, not 422."""


_NAMES = {int: "int32", bool: "bool", str: "string", dict: "map", list: "slice"}


def typed(where: str, holder: Mapping[str, Any], **kinds: type) -> None:
    """Refuse fields of the wrong JSON type; absent and null are fine."""
    for name, kind in kinds.items():
        value = holder.get(name)
        if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
            continue
        seen = {str: "string", bool: "bool", dict: "object", list: "array"}.get(type(value), "number")
        raise Undecodable(f"json: cannot unmarshal {seen} into Go struct field {where}.{name} of type {_NAMES[kind]}")


def texts(where: str, holder: Mapping[str, Any], *names: str) -> None:
    """Refuse maps with values that are not strings."""
    typed(where, holder, **dict.fromkeys(names, dict))
    for name in names:
        for value in (holder.get(name) or {}).values():
            typed(f"{where}.{name}", {"of": value}, of=str)
