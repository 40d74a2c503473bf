"""The options of a write: what the query says, and the body of a delete. What is wrong with them is a 400 or 422."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from .. import errors
from ..authors import User, Write
from ..writes.deletion import DeleteOptions
from .requests import Target, flag, whole

_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_VALIDATIONS = ("Ignore", "Warn", "Strict")
_POLICIES = ("Background", "Foreground", "Orphan")
MANAGER_LENGTH = 128


def parse_dry_run(values: list[str], options: str) -> bool:
    for value in values:
        if value not in ("", "All"):
            raise errors.invalid_options(options, "dryRun", errors.unsupported(value, "All"))
    return "All" in values


def write_options(request: Request, target: Target) -> Write:
    query, options = request.query_params, _KINDS[request.method]
    dry_run = parse_dry_run(query.getlist("dryRun"), options)
    validation = query.get("fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        raise errors.invalid_options(options, "fieldValidation", errors.unsupported(validation, *_VALIDATIONS))
    manager = query.get("fieldManager") or _agent(request)
    if problem := _manager_problem(manager):
        raise errors.invalid_options(options, "fieldManager", problem)
    user: User = request.state.user
    return Write(manager, dry_run, validation, target.subresource, force=flag(request, "force"), user=user)


def _agent(request: Request) -> str:
    """The program's name, as far as a manager may be called so."""
    name = request.headers.get("user-agent", "").partition("/")[0][:MANAGER_LENGTH]
    return name if name.isprintable() and name else "unknown"


def _manager_problem(manager: str) -> str | None:
    if len(manager.encode()) > MANAGER_LENGTH:
        return f"Too long: may not be more than {MANAGER_LENGTH} bytes"
    for position, mark in enumerate(manager):
        if not mark.isprintable():
            why = "should only contain printable characters (invalid character "
            return f"Invalid value: {manager!a}: {why}U+{ord(mark):04X} on position {position})"
    return None


def delete_options(body: Any, request: Request) -> DeleteOptions:
    query = request.query_params
    if not isinstance(body, dict | None):
        raise errors.bad_request("DeleteOptions must be an object")
    body = body or {}
    preconditions = _typed(body, "preconditions", dict, "object") or {}
    policy = _typed(body, "propagationPolicy", str, "string") or query.get("propagationPolicy") or ""
    orphan = _typed(body, "orphanDependents", bool, "bool")
    if orphan is None:
        orphan = {"true": True, "false": False}.get(query.get("orphanDependents", ""))
    if policy and orphan is not None:
        words = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        raise errors.invalid_options("DeleteOptions", "propagationPolicy", words)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy not in ("", *_POLICIES):
        words = errors.unsupported(policy, *_POLICIES, "nil")
        raise errors.invalid_options("DeleteOptions", "propagationPolicy", words)
    grace = _typed(body, "gracePeriodSeconds", int, "int64")
    if grace is None:
        grace = whole(query.get("gracePeriodSeconds", ""), "gracePeriodSeconds")
    dry_run = _typed(body, "dryRun", list, "[]string") or query.getlist("dryRun")
    return DeleteOptions(
        policy,
        grace,
        _typed(preconditions, "uid", str, "string") or "",
        _typed(preconditions, "resourceVersion", str, "string") or "",
        parse_dry_run([str(value) for value in dry_run], "DeleteOptions"),
    )


def _typed(holder: dict[str, Any], name: str, kind: type, go: str) -> Any:
    """The value of a field if it is of that type, None if it is not there."""
    value = holder.get(name)
    if value is not None and type(value) is not kind:
        what = f"Go struct field DeleteOptions.{name} of type {go}"
        raise errors.bad_request(f"json: cannot unmarshal {type(value).__name__} into {what}")
    return value
