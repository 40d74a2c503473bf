"""Kubernetes quantities ("500m", "2", "1Gi"), and what a Pod asks for in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..storage.objects import Obj, spec_of

_UNITS = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000)}
_UNITS |= {unit: Decimal(1000) ** power for power, unit in enumerate("MGTPE", 2)}
_UNITS |= {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)}
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([A-Za-z]{0,2})")
_RESOURCES = ("cpu", "memory")


def quantity(text: object) -> Decimal:
    match = _QUANTITY.fullmatch(str(text))
    if match is None or match[2] not in _UNITS:
        raise ValueError(f'"{text}" is not a quantity such as 500m, 2 or 1Gi')
    return Decimal(match[1]) * _UNITS[match[2]]


def limit(container: Mapping[str, Any], name: str) -> Decimal | None:
    value = ((container.get("resources") or {}).get("limits") or {}).get(name)
    return None if value is None else quantity(value)


def request(container: Mapping[str, Any], name: str) -> Decimal | None:
    """A limit without a request is a request."""
    value = ((container.get("resources") or {}).get("requests") or {}).get(name)
    return limit(container, name) if value is None else quantity(value)


def requested(pod: Obj) -> dict[str, Decimal]:
    """CPUs, bytes and extended resources ("example.com/gpu") that a Pod asks for: all its containers together, or an
    init container that asks for more."""
    spec = spec_of(pod)

    def asked(part: str, name: str) -> list[Decimal]:
        return [request(container, name) or Decimal(0) for container in spec.get(part, ())]

    names = dict.fromkeys(_RESOURCES)
    for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        for amounts in (container.get("resources") or {}).values():
            names |= dict.fromkeys(name for name in amounts if "/" in name) if isinstance(amounts, dict) else {}
    return {name: max([sum(asked("containers", name), Decimal(0)), *asked("initContainers", name)]) for name in names}
