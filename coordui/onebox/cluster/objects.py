"""Kubernetes objects as plain dicts: reading, writing, names, and what Go's omitempty leaves out."""

from __future__ import annotations

import copy
import json
import re
import secrets
import uuid
from typing import Any

Obj = dict[str, Any]

# Go writes these even when they are empty: structs and pointers to them, unlike maps and lists.
KEPT_EMPTY = frozenset({"metadata", "spec", "status", "template", "emptyDir", "securityContext", "resources"})
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def load(text: str | bytes) -> Any:
    return json.loads(text)


def clone(obj: Obj) -> Obj:
    return copy.deepcopy(obj)


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
    return str(uuid.uuid4())


def suffix() -> str:
    return "".join(secrets.choice(_SUFFIX) for _ in range(5))


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
