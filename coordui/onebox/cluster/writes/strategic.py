"""Strategic merge patch: like a JSON merge, but lists are merged by their items' keys, and with directives.

`$patch: replace|delete|merge` in a map or as an item of a list, `$retainKeys`, `$setElementOrder/<list>`,
`$deleteFromPrimitiveList/<list>`.
"""

from __future__ import annotations

import copy
from typing import Any

from ..errors import bad_request
from ..storage.objects import Obj, clone, dump
from .listtypes import MERGE_KEYS, SETS, merge_key

_ORDER, _DELETE = "$setElementOrder/", "$deleteFromPrimitiveList/"


def strategic(target: Any, patch: Obj) -> Obj:
    """The target, which is not changed, after the patch. Raises ApiError 400 for directives that make no sense."""
    how = patch.get("$patch", "merge")
    if how == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    if how == "delete":
        return {}
    if how != "merge":
        raise bad_request(f"Unknown patch type found: {how}")
    result = dict(target) if isinstance(target, dict) else {}
    _retain(result, patch)
    orders = {key.removeprefix(_ORDER): value for key, value in patch.items() if key.startswith(_ORDER)}
    for key, value in patch.items():
        if key.startswith(_DELETE):
            name = key.removeprefix(_DELETE)
            result[name] = [item for item in result.get(name) or [] if item not in value]
        elif key.startswith("$"):
            continue
        elif value is None or (isinstance(value, dict) and value.get("$patch") == "delete"):
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = strategic(result.get(key), value)
        elif isinstance(value, list):
            result[key] = _list(key, result.get(key) or [], value, orders.get(key))
        else:
            result[key] = value
    for name, order in orders.items():
        if isinstance(result.get(name), list):
            result[name] = _ordered(name, result[name], order, (target or {}).get(name) or [])
    return result


def _retain(result: Obj, patch: Obj) -> None:
    """`$retainKeys` names everything that stays; what the patch itself sets has to be among it."""
    kept = patch.get("$retainKeys")
    if kept is None:
        return
    own = {key for key, value in patch.items() if not key.startswith("$") and value is not None}
    if not isinstance(kept, list) or not own <= set(kept):
        raise bad_request("the $retainKeys list must contain all the fields in the patch")
    for key in set(result) - set(kept):
        del result[key]


def _list(name: str, old: list[Any], patch: list[Any], order: Any) -> list[Any]:
    if name in SETS:
        return list(dict.fromkeys([*old, *patch]))
    if name not in MERGE_KEYS or not all(isinstance(item, dict) for item in patch):
        return copy.deepcopy(patch)
    if any(item.get("$patch") == "replace" for item in patch):
        return [clone(item) for item in patch if item.get("$patch") != "replace"]
    result = list(old)
    for item in patch:
        key = merge_key(name, item)
        if key is None:
            raise bad_request(f"map: {dump(item)} does not contain declared merge key: {MERGE_KEYS[name][0]}")
        at = _index(result, item, key)
        if item.get("$patch") == "delete":
            if at >= 0:
                del result[at]
            continue
        if order is not None and _index(order, item, key) < 0:
            raise bad_request(f"the order in patch list: {dump(patch)} doesn't match {_ORDER[:-1]} list: {dump(order)}")
        if at < 0:
            result.append(strategic({}, item))
        else:
            result[at] = strategic(result[at], item)
    return result


def _ordered(name: str, items: list[Any], order: list[Any], before: list[Any]) -> list[Any]:
    """In the order asked for; items it does not name stay in front of those that they were in front of."""
    key = next(
        (key for key in MERGE_KEYS.get(name, ()) if any(key in one for one in order if isinstance(one, dict))), ""
    )
    named = sorted((item for item in items if _index(order, item, key) >= 0), key=lambda one: _index(order, one, key))
    rest = [item for item in items if _index(order, item, key) < 0]
    found: list[Any] = []
    while named and rest:
        left, right = _index(before, named[0], key), _index(before, rest[0], key)
        found.append((named if 0 <= left < right else rest).pop(0))
    return found + named + rest


def _index(items: list[Any], wanted: Any, key: str) -> int:
    """Where an item with the same key (or, without one, the same item) is; -1 if it is nowhere."""
    for index, item in enumerate(items):
        if item.get(key) == wanted.get(key) if key and isinstance(item, dict) else item == wanted:
            return index
    return -1
