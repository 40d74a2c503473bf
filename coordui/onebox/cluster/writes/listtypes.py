"""How lists and maps are merged: by a key, as a set, or as a whole.

Strategic merge and server-side apply each have their own idea of it; both are told in the comments of the API's types.
"""

from __future__ import annotations

from typing import Any

from ..storage.objects import Obj

# Strategic merge: the field that tells a list's items apart. Where two are named, the first that an item has.
MERGE_KEYS: dict[str, tuple[str, ...]] = {
    "addresses": ("type",),
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "ports": ("containerPort", "port"),
    "resourceClaims": ("name",),
    "secrets": ("name",),
    "taints": ("key",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
SETS = frozenset({"finalizers"})
# Apply tells some items apart by more than one field, with the value that a missing one stands for.
_MORE = {"ports": ("protocol", "TCP"), "topologySpreadConstraints": ("whenUnsatisfiable", "")}
_ATOMIC_LISTS = frozenset({"taints"})  # merged by strategic merge, but not by apply
# Maps and structs that belong to one manager as a whole.
ATOMIC = frozenset(
    {
        "configMapKeyRef",
        "fieldRef",
        "involvedObject",
        "labelSelector",
        "nodeSelector",
        "resourceFieldRef",
        "roleRef",
        "secretKeyRef",
        "selector",
    }
)


def merge_key(name: str, item: Obj) -> str | None:
    """The field of MERGE_KEYS that this item has; None if it has none."""
    return next((key for key in MERGE_KEYS[name] if key in item), None)


def is_keyed(name: str, items: list[Any]) -> bool:
    """Whether apply tells these items apart: a list of that name whose items all have their key."""
    if name not in MERGE_KEYS or name in _ATOMIC_LISTS:
        return False
    return all(isinstance(item, dict) and merge_key(name, item) is not None for item in items)


def identity(name: str, item: Obj) -> Obj:
    """What tells an item of a keyed list apart, for apply."""
    key = merge_key(name, item)
    found = {} if key is None else {key: item[key]}
    if name in _MORE:
        more, default = _MORE[name]
        found[more] = item.get(more, default)
    return found
