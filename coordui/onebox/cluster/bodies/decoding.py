"""Decoding as the API server does it: unknown fields are found, wrong types refused, values brought to wire form."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..storage.objects import Obj
from ..storage.times import micro_time, whole_time
from .schema import Field, Struct

_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_INT32, _INT64 = 2**31, 2**63
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class Undecodable(ValueError):
    """A value that Go's types could not hold, in the words of Go's decoder."""


class UnknownFields(Undecodable):
    """And keys that are there twice, in the words of `repeated`."""

    def __init__(self, paths: list[str], repeated: Iterable[str] = ()) -> None:
        words = [*repeated, *(f'unknown field "{path}"' for path in paths)]
        super().__init__("strict decoding error: " + ", ".join(words))
        self.paths = paths


@dataclass(frozen=True)
class Place:
    """A field that is there and unknown, or that has to be there."""

    path: str
    holder: Obj
    key: str

    @property
    def in_status(self) -> bool:
        return self.path.startswith("status")

    @property
    def empty(self) -> bool:
        return self.holder.get(self.key) in _EMPTY


@dataclass
class Found:
    unknown: list[Place] = field(default_factory=list)
    missing: list[Place] = field(default_factory=list)  # when it was decoded; defaults may have filled them since


def examine(struct: Struct, obj: Obj) -> Found:
    """Check an object against its schema. Raises Undecodable. In place: times and quantities get their wire form."""
    found = Found()
    _struct(struct, obj, "", "", found)
    return found


def _struct(struct: Struct, obj: Obj, path: str, bare: str, found: Found) -> None:
    """`path` names list items by their index, `bare` leaves that out, as Go's decoder does."""
    fields = struct.fields
    for key, value in obj.items():
        known = fields.get(key)
        if known is None:
            found.unknown.append(Place(path + key, obj, key))
        elif value is not None and known.scalar != "any":
            obj[key] = _field(struct, known, value, path + key, bare + key, found)
    if not path.startswith("status") or path.startswith("status.conditions["):
        found.missing += [Place(path + name, obj, name) for name in struct.required if obj.get(name) in _EMPTY]


def _field(struct: Struct, known: Field, value: Any, path: str, bare: str, found: Found) -> Any:
    def one(item: Any, where: str) -> Any:
        if known.struct is not None:
            if item is None:
                item = {}
            if type(item) is not dict:
                raise _mismatch(struct, known, bare, item)
            _struct(known.struct, item, where + ".", bare + ".", found)
            return item
        if item is None:
            return "" if known.scalar == "string" else None
        try:
            return _SCALARS[known.scalar or "any"](item, known)
        except TypeError:
            raise _mismatch(struct, known, bare, item) from None
        except ValueError as why:
            raise Undecodable(str(why)) from None

    if known.holds == "one":
        return one(value, path)
    if known.holds == "list":
        if type(value) is list:
            return [one(item, f"{path}[{index}]") for index, item in enumerate(value)]
    elif type(value) is dict:
        if known.holds == "map":
            return {key: one(item, f"{path}[{key}]") for key, item in value.items()}
        if all(type(items) is list for items in value.values()):
            return {key: [one(item, path) for item in items] for key, items in value.items()}
    raise _mismatch(struct, known, bare, value, whole=True)


def _mismatch(struct: Struct, known: Field, bare: str, value: Any, *, whole: bool = False) -> Undecodable:
    if isinstance(value, bool):
        seen = "bool"
    elif isinstance(value, int | float):
        seen = f"number {value}" if known.scalar == "int" else "number"
    else:
        seen = "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"
    wanted = known.go if whole or known.holds == "one" else re.sub(r"^(\[\]|map\[string\])+", "", known.go)
    return Undecodable(f"json: cannot unmarshal {seen} into Go struct field {struct.name}.{bare} of type {wanted}")


def _string(value: Any, known: Field) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _int(value: Any, known: Field) -> int:
    bound = _INT64 if known.go.endswith("int64") else _INT32
    if type(value) is not int or not -bound <= value < bound:
        raise TypeError
    return value


def _bool(value: Any, known: Field) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _float(value: Any, known: Field) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _bytes(value: Any, known: Field) -> str:
    text = _string(value, known)
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("illegal base64 data at input byte 0") from None
    return text


def _quantity(value: Any, known: Field) -> str:
    """A number is accepted too, and told as a string."""
    if type(value) not in (str, int, float):
        raise TypeError
    if not _QUANTITY.fullmatch(str(value)):
        raise ValueError(f"quantities must match the regular expression '^{_QUANTITY.pattern}$'")
    return str(value)


def _time(value: Any, known: Field) -> str:
    return whole_time(_string(value, known))


def _micro(value: Any, known: Field) -> str:
    return micro_time(_string(value, known))


_SCALARS: dict[str, Callable[[Any, Field], Any]] = {
    "string": _string,
    "int": _int,
    "bool": _bool,
    "float": _float,
    "bytes": _bytes,
    "quantity": _quantity,
    "time": _time,
    "micro": _micro,
}
