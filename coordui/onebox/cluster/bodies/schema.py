"""What fields each kind has and of which types: what the official client's own models say.

The client's modules take most of a second and some 40 MB, so they wait for the first write by a client (or for
`kubectl explain`). The server's own writes need no schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from ..storage.resources import ALL, Resource

Scalar = Literal["string", "int", "bool", "float", "time", "micro", "bytes", "quantity", "any"]
Holds = Literal["one", "list", "map", "lists"]  # "lists": a map of lists

_PYTHON: dict[str, Scalar] = {
    "str": "string",
    "int": "int",
    "bool": "bool",
    "float": "float",
    "datetime": "time",
    "bytes": "bytes",
    "object": "any",
}
_TYPE = re.compile(r"(?P<outer>Dict\[str, List\[|Dict\[str, |List\[)?(?P<inner>\w+)\]*")
_HOLDS: dict[str | None, Holds] = {None: "one", "List[": "list", "Dict[str, ": "map", "Dict[str, List[": "lists"}
_VERSION = re.compile(r"^(Core|Rbac|Authentication|Authorization)?V\d+((alpha|beta)\d+)?(?=[A-Z])")
# Types that the models tell as plain strings or times.
_MICRO = {"acquireTime", "renewTime", "eventTime", "lastObservedTime"}
_QUANTITIES = {
    "ResourceRequirements": ("limits", "requests"),
    "VolumeResourceRequirements": ("limits", "requests"),
    "ResourceQuotaSpec": ("hard",),
    "PodSpec": ("overhead",),
    "EmptyDirVolumeSource": ("sizeLimit",),
    "ResourceFieldSelector": ("divisor",),
}
_LONG = {  # int64 in Go, all others are int32
    "activeDeadlineSeconds",
    "deletionGracePeriodSeconds",
    "expirationSeconds",
    "fsGroup",
    "generation",
    "observedGeneration",
    "runAsGroup",
    "runAsUser",
    "startingDeadlineSeconds",
    "supplementalGroups",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
}
_UNTYPED = {("ObjectMeta", "managedFields")}  # the server's own, whatever a client sends


@dataclass(frozen=True)
class Field:
    name: str  # on the wire
    scalar: Scalar | None  # None: `struct`
    struct: Struct | None
    holds: Holds
    required: bool
    text: str

    @property
    def go(self) -> str:
        """The type as Go's decoder names it."""
        inner = f"v1.{self.struct.name}" if self.struct else _GO.get(self.scalar or "any", "string")
        if self.scalar == "int":
            inner = "int64" if self.name in _LONG else "int32"
        return {"one": "", "list": "[]", "map": "map[string]", "lists": "map[string][]"}[self.holds] + inner


_GO = {"bool": "bool", "float": "float64", "bytes": "[]uint8", "any": "interface {}"}


class Struct:
    """One of the client's models. Its fields are read when they are first asked for."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = _VERSION.sub("", model.__name__)

    @property
    def text(self) -> str:
        """The first paragraph of the model's own words."""
        return " ".join((self.model.__doc__ or "").split("Attributes:")[0].split())

    @cached_property
    def fields(self) -> dict[str, Field]:
        infos = {info.serialization_alias or name: info for name, info in self.model.model_fields.items()}
        names: dict[str, str] = self.model.attribute_map
        return {name: self._field(name, self.model.openapi_types[key], infos[name]) for key, name in names.items()}

    @cached_property
    def required(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields.values() if field.required)

    def _field(self, name: str, kind: str, info: Any) -> Field:
        match = _TYPE.fullmatch(kind)
        if match is None:
            raise TypeError(f"{self.model.__name__}.{name}: {kind}")
        scalar, holds = _PYTHON.get(match["inner"]), _HOLDS[match["outer"]]
        struct = None if scalar else named(match["inner"])
        if (self.name, name) in _UNTYPED:
            scalar, struct, holds = "any", None, "one"
        elif name in _QUANTITIES.get(self.name, ()):
            scalar = "quantity"
        elif scalar == "time" and name in _MICRO:
            scalar = "micro"
        return Field(name, scalar, struct, holds, info.is_required(), info.description or "")


@cache
def named(model: str) -> Struct:
    """A model by the client's name for it."""
    import kubernetes.client

    return Struct(getattr(kubernetes.client, model))


def struct_of(resource: Resource) -> Struct:
    return named(resource.model)


def reachable(struct: Struct) -> dict[str, Struct]:
    """By name: the struct and all that it holds, at any depth. Some hold themselves."""
    found, ahead = {struct.name: struct}, [struct]
    while ahead:
        held = {field.struct.name: field.struct for field in ahead.pop().fields.values() if field.struct}
        new = [one for name, one in held.items() if name not in found]
        found |= {one.name: one for one in new}
        ahead += new
    return found


_loaded: set[str] = set()


def loaded(resource: Resource) -> bool:
    return resource.model in _loaded


def load(*resources: Resource) -> None:
    """Read the models of these (default: of all) and what they hold, so that nobody waits for it later."""
    for resource in resources or ALL:
        reachable(struct_of(resource))
        _loaded.add(resource.model)
