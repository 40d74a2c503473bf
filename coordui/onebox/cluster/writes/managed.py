"""metadata.managedFields: which manager set which field, and when it last changed one.

A manager's `time` moves exactly when it changes a value; the gates judge a Lease's age by it.
Field paths are tuples of the encoded names of fieldsV1: "f:spec", 'k:{"name":"c"}', 'v:"x"'.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..authors import Author
from ..storage.objects import Obj, dump
from .listtypes import ATOMIC, SETS, identity, is_keyed

Path = tuple[str, ...]
_UNMANAGED = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)


def leaves(obj: Obj) -> dict[Path, Any]:
    """Every managed field of an object with its value."""
    found: dict[Path, Any] = {}
    for key, value in obj.items():
        if key in ("apiVersion", "kind"):
            continue
        if key == "metadata":
            managed = {name: part for name, part in value.items() if name not in _UNMANAGED}
            found.update(_walk(managed, ("f:metadata",)))
        else:
            found.update(_field((), key, value))
    return found


def _walk(value: Obj, path: Path) -> Iterator[tuple[Path, Any]]:
    for key, part in value.items():
        yield from _field(path, key, part)


def _field(path: Path, key: str, part: Any) -> Iterator[tuple[Path, Any]]:
    here = (*path, f"f:{key}")
    if isinstance(part, dict) and part and key not in ATOMIC:
        yield from _walk(part, here)
    elif isinstance(part, list) and part and is_keyed(key, part):
        for item in part:
            member = (*here, "k:" + dump(identity(key, item)))
            yield (*member, "."), True
            yield from _walk(item, member)
    elif isinstance(part, list) and key in SETS:
        for item in part:
            yield (*here, "v:" + dump(item)), True
    else:
        yield here, part


def encode(paths: set[Path]) -> Obj:
    tree: Obj = {}
    for path in sorted(paths):
        node = tree
        for part in path:
            node = node.setdefault(part, {})
    return tree


def decode(tree: Obj, path: Path = ()) -> Iterator[Path]:
    for key, part in tree.items():
        if part:
            yield from decode(part, (*path, key))
        else:
            yield (*path, key)


def stamp(
    old: Obj | None, new: Obj, author: Author, *, api_version: str, time: str, applied: Obj | None = None
) -> None:
    """Write new["metadata"]["managedFields"]: what `author` changed is its own, what it removed is nobody's.

    An apply owns what it applied, no more and no less; what it changed belongs to nobody else any more.
    """
    before, after = leaves(old) if old else {}, leaves(new)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    gone = set(before) - set(after)
    kept: list[Obj] = []
    mine: set[Path] = set()
    mine_before: Obj | None = None
    for entry in (old or {"metadata": {}})["metadata"].get("managedFields", ()):
        owned = set(decode(entry["fieldsV1"]))
        if author.owns(entry):
            mine, mine_before = owned, entry
        elif not owned & (changed | gone):
            kept.append(entry)
        elif owned - changed - gone:
            kept.append(entry | {"fieldsV1": encode(owned - changed - gone)})
    owned = (mine - gone) | changed if applied is None else set(leaves(applied)) & set(after)
    if owned:
        if mine_before is not None and not changed and not mine & gone and owned == mine:
            time = mine_before["time"]
        kept.append(_entry(author, api_version, time, owned))
    if kept:
        new["metadata"]["managedFields"] = kept
    else:
        new["metadata"].pop("managedFields", None)


def _entry(author: Author, api_version: str, time: str, owned: set[Path]) -> Obj:
    entry = {
        "manager": author.manager,
        "operation": author.operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": encode(owned),
    }
    return entry | ({"subresource": author.subresource} if author.subresource else {})
