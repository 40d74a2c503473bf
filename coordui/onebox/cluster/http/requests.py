"""What a request asks for: the path taken apart, the query's options, the body in whichever encoding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from .. import errors
from ..access.rbac import Action, User
from ..bodies import protobuf
from ..storage.objects import load
from ..storage.resources import NAMESPACES, Resource, find
from ..writes.writing import Write

BODY_BYTES = 3 * 1024 * 1024
PATCHES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_BODIES = "application/json, application/yaml"


@dataclass(frozen=True)
class Target:
    """One resource, and in it a namespace ("" for all, or none), an object ("" for all), a subresource."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_path(path: str) -> Target | None:
    """None if the path names no resource of ours."""
    parts = path.strip("/").split("/")
    if parts[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and find(group, version, rest[2]):
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3 or (resource := find(group, version, rest[0])) is None:
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    known = (*resource.subresources, "status") if resource.status else resource.subresources
    if subresource and subresource not in known:
        return None
    if namespace and not resource.namespaced:
        return None
    return Target(resource, namespace, name, subresource)


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "GET": "get", "HEAD": "get", "DELETE": "delete"}


def action_of(request: Request, target: Target) -> Action:
    """What RBAC is asked. A list, watch or collection of one name (by field selector) is about that name."""
    verb, name = _VERBS.get(request.method, request.method.lower()), target.name
    if verb == "get" and flag(request, "watch"):
        verb = "watch"
    elif not name and verb in ("get", "delete"):
        verb = "list" if verb == "get" else "deletecollection"
    if not name and verb != "create":
        name = one_name(request.query_params.get("fieldSelector", ""))
    resource = target.resource
    plural = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
    namespace = target.namespace
    if resource is NAMESPACES:
        namespace = target.name  # as the real server has it: a Role in a namespace may grant a look at that namespace
    return Action(verb, resource.group, plural, namespace, name)


def one_name(fields: str) -> str:
    match = re.search(r"(?:^|,)metadata\.name==?([^,!=]+)(?:,|$)", fields)
    return match[1] if match else ""


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "").lower() in ("1", "true", "t")


def number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if not text:
        return None
    try:
        return max(0, int(text))
    except ValueError:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax ({name})') from None


_VALIDATIONS = ("Ignore", "Warn", "Strict")


def parse_dry_run(values: list[str], options: str) -> bool:
    for value in values:
        if value not in ("", "All"):
            raise errors.invalid_options(options, "dryRun", errors.unsupported(value, "All"))
    return "All" in values


def write_options(request: Request, target: Target) -> Write:
    query = request.query_params
    agent = request.headers.get("user-agent", "").partition("/")[0] or "unknown"
    options = f"{_VERBS[request.method].capitalize()}Options"
    dry_run = parse_dry_run(query.getlist("dryRun"), options)
    validation = query.get("fieldValidation") or "Warn"
    if validation not in _VALIDATIONS:
        raise errors.invalid_options(options, "fieldValidation", errors.unsupported(validation, *_VALIDATIONS))
    manager = query.get("fieldManager") or agent[:128]
    force = flag(request, "force")
    user: User = request.state.user
    return Write(manager, dry_run, validation, target.subresource, force=force, user=user)


async def read_bytes(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_BYTES:
            words = f"Request entity too large: limit is {BODY_BYTES}"
            raise errors.ApiError(413, "RequestEntityTooLarge", words)
        parts.append(part)
    return b"".join(parts)


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_object(request: Request) -> Any:
    """The body of a create, replace or delete; None if it is empty."""
    kind, data = media_type(request), await read_bytes(request)
    if not data:
        return None
    if kind in ("application/json", "", "*/*"):
        return _json(data)
    if kind in ("application/yaml", "application/x-yaml"):
        return _yaml(data)
    if kind == protobuf.MEDIA_TYPE:
        return protobuf.decode(data)
    raise errors.unsupported_media(kind, _BODIES)


async def read_patch(request: Request) -> tuple[str, Any]:
    """The patch type ("json", "merge", "strategic", "apply") and its content."""
    kind = media_type(request)
    if kind not in PATCHES:
        raise errors.unsupported_media(kind, ", ".join(PATCHES))
    data = await read_bytes(request)
    return PATCHES[kind], _yaml(data) if PATCHES[kind] == "apply" else _json(data)


def _json(data: bytes) -> Any:
    try:
        return load(data)
    except (ValueError, RecursionError) as why:
        raise errors.bad_request(f"error decoding the body: {why}") from None


def _yaml(data: bytes) -> Any:
    """JSON is YAML, and is what kubectl sends; only real YAML loads the parser."""
    if data.lstrip()[:1] == b"{":
        return _json(data)
    import yaml

    try:
        return yaml.safe_load(data)
    except yaml.YAMLError as why:
        raise errors.bad_request(f"error converting YAML to JSON: {why}") from None
