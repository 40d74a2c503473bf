"""Server-side apply: who owns what is asked before it is changed.

1. Where a field that this apply changes belongs to another manager, that is a conflict; `force` takes it over.
2. What is applied is merged in: maps by key, keyed lists by item, sets as sets, all else as a whole.
3. What this manager applied before, applies no more, and nobody else owns goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import errors
from ..authors import Author
from ..storage.objects import Obj, clone, load
from .listtypes import ATOMIC, SETS, identity, is_keyed
from .managed import Path, decode, leaves


@dataclass(frozen=True, order=True)
class Conflict:
    manager: str  # as the message names it
    path: str


def apply_to(old: Obj, wanted: Obj, author: Author, *, force: bool) -> Obj:
    """The object after the apply; `old` and `wanted` are not changed. Raises ApiError 409 for conflicts."""
    found = [] if force else conflicts(old, wanted, author)
    if found:
        raise refused(found)
    new: Obj = _merged(clone(old), clone(wanted))
    drop(new, old, wanted, author)
    return new


def conflicts(old: Obj, wanted: Obj, author: Author) -> list[Conflict]:
    have, want = leaves(old), leaves(wanted)
    changed = {path for path, value in want.items() if path in have and have[path] != value}
    found = [
        Conflict(_named(entry), _told(path))
        for entry in old["metadata"].get("managedFields", ())
        if not author.owns(entry)
        for path in changed & set(decode(entry["fieldsV1"]))
    ]
    return sorted(found)


def refused(found: list[Conflict]) -> errors.ApiError:
    if len(found) == 1:
        text = f"1 conflict: conflict with {found[0].manager}: {found[0].path}"
    else:
        lines = []
        for manager in dict.fromkeys(conflict.manager for conflict in found):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {conflict.path}" for conflict in found if conflict.manager == manager]
        text = f"{len(found)} conflicts: " + "\n".join(lines)
    causes = [
        errors.Cause(conflict.path, f"conflict with {conflict.manager}", "FieldManagerConflict").status()
        for conflict in found
    ]
    return errors.ApiError(409, "Conflict", f"Apply failed with {text}", {"causes": causes})


def _named(entry: Obj) -> str:
    below = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
    using = f" using {entry['apiVersion']}" if entry.get("operation") == "Update" else ""
    return f'"{entry.get("manager", "")}"{below}{using}'


def _told(path: Path) -> str:
    """A path as apply's messages tell it: .spec.containers[name="a"].image"""
    text = ""
    for part in path:
        kind, _, rest = part.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            text += "[" + ",".join(f"{key}={_go(value)}" for key, value in sorted(load(rest).items())) + "]"
        elif kind == "v":
            text += f"[={rest}]"
    return text


def _go(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _merged(old: Any, wanted: Any, name: str = "") -> Any:
    if isinstance(old, dict) and isinstance(wanted, dict) and name not in ATOMIC:
        for key, value in wanted.items():
            old[key] = _merged(old.get(key), value, key)
        return old
    if isinstance(old, list) and isinstance(wanted, list):
        if name in SETS:
            return list(dict.fromkeys([*old, *wanted]))
        if is_keyed(name, old) and is_keyed(name, wanted):
            items = {tuple(identity(name, item).items()): item for item in old}
            for item in wanted:
                key = tuple(identity(name, item).items())
                items[key] = _merged(items.get(key), item)
            return list(items.values())
    return wanted


def drop(new: Obj, old: Obj, wanted: Obj, author: Author) -> None:
    """Step 3, in place."""
    mine: set[Path] = set()
    others: set[Path] = set()
    for entry in old["metadata"].get("managedFields", ()):
        (mine if author.owns(entry) else others).update(decode(entry["fieldsV1"]))
    gone = mine - others - set(leaves(wanted))
    # Whole items first: what is in them need not be taken apart.
    for path in sorted(gone, key=lambda path: (path[-1] != ".", path)):
        if path[-1] == "." and any(other[: len(path) - 1] == path[:-1] for other in others):
            continue  # somebody else has a field of this item
        _take(new, path)


def _take(obj: Any, path: Path) -> None:
    *parents, last = path[:-1] if path[-1] == "." else path
    holder, name = obj, ""
    for part in parents:
        if (holder := _step(holder, name, part)) is None:
            return
        name = part[2:] if part.startswith("f:") else name
    if last.startswith("f:") and isinstance(holder, dict):
        is_key = bool(parents) and parents[-1].startswith("k:") and last[2:] in load(parents[-1][2:])
        if not is_key:
            holder.pop(last[2:], None)
    elif isinstance(holder, list):
        holder[:] = [item for item in holder if not _is(item, name, last)]


def _step(holder: Any, name: str, part: str) -> Any:
    if part.startswith("f:"):
        return holder.get(part[2:]) if isinstance(holder, dict) else None
    items: Iterable[Any] = holder if isinstance(holder, list) else ()
    return next((item for item in items if _is(item, name, part)), None)


def _is(item: Any, name: str, part: str) -> bool:
    wanted = load(part[2:])
    if part.startswith("v:"):
        return bool(item == wanted)
    return isinstance(item, dict) and identity(name, item) == wanted
