"""Kubernetes quantities: "500m", "2", "1Gi"."""

from __future__ import annotations

import re
from decimal import Decimal

from ..objects import Obj, spec_of

_UNITS = {"": Decimal(1), "m": Decimal("0.001"), "k": Decimal(1000)}
_UNITS |= {unit: Decimal(1000) ** power for power, unit in enumerate("MGTPE", 2)}
_UNITS |= {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)}
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([A-Za-z]{0,2})")


def quantity(text: object) -> Decimal:
    match = _QUANTITY.fullmatch(str(text))
    if match is None or match[2] not in _UNITS:
        raise ValueError(f'"{text}" is not a quantity such as 500m, 2 or 1Gi')
    return Decimal(match[1]) * _UNITS[match[2]]


def requested(pod: Obj) -> dict[str, Decimal]:
    """CPUs and bytes a Pod asks for; a limit without a request is a request."""
    total = {"cpu": Decimal(0), "memory": Decimal(0)}
    for container in spec_of(pod).get("containers", ()):
        resources = container.get("resources") or {}
        for name in total:
            value = (resources.get("requests") or {}).get(name) or (resources.get("limits") or {}).get(name)
            total[name] += quantity(value) if value is not None else 0
    return total
