"""Kubernetes objects as plain dicts: reading, writing, names, and what Go's omitempty leaves out."""

from __future__ import annotations

import json
import random
import re
import uuid
from contextvars import ContextVar
from typing import Any

Obj = dict[str, Any]

# Go writes these even when they are empty: structs and pointers to them, unlike maps and lists.
KEPT_EMPTY = frozenset({"metadata", "spec", "status", "template", "emptyDir", "securityContext", "resources"})
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
# Where uids and generated names come from; a simulation sets a seeded source, and gets the same ones again.
CHANCE: ContextVar[random.Random] = ContextVar("CHANCE", default=random.SystemRandom())  # noqa: B039


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dump(value: Any) -> str:
    return _ENCODER.encode(value)


def load(text: str | bytes) -> Any:
    return json.loads(text)


def clone(obj: Obj) -> Obj:
    """A copy that shares nothing that can change. Objects are JSON: eight times as fast as copy.deepcopy."""
    return {key: _copied(value) for key, value in obj.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_copied(part) for part in value]
    return value


def prune(obj: Obj) -> Obj:
    """Drop nulls, empty maps and empty lists, in place; managedFields are left alone."""
    for key in list(obj):
        value = obj[key]
        if key == "managedFields":
            continue
        if isinstance(value, dict):
            prune(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    prune(item)
        if value is None or (value in ({}, []) and key not in KEPT_EMPTY):
            del obj[key]
    return obj


def meta(obj: Obj) -> Obj:
    found: Obj = obj["metadata"]
    return found


def status_of(obj: Obj) -> Obj:
    found: Obj = obj.get("status") or {}
    return found


def spec_of(obj: Obj) -> Obj:
    found: Obj = obj.get("spec") or {}
    return found


def new_uid() -> str:
    return str(uuid.UUID(int=CHANCE.get().getrandbits(128), version=4))


def suffix() -> str:
    return "".join(CHANCE.get().choice(_SUFFIX) for _ in range(5))


def name_problem(name: str, *, label: bool = False) -> str | None:
    """What is wrong with a name, in the API server's words, or None."""
    if label:
        if len(name) <= 63 and _LABEL.fullmatch(name):
            return None
        return (
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        )
    if len(name) <= 253 and _SUBDOMAIN.fullmatch(name):
        return None
    return (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )


def condition(obj: Obj, kind: str) -> Obj | None:
    """The condition of that type, found by type, not position."""
    for item in status_of(obj).get("conditions", ()):
        if item.get("type") == kind:
            found: Obj = item
            return found
    return None


def is_true(obj: Obj, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"
