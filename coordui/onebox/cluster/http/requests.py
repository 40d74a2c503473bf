"""What a request asks for: the path taken apart, the query's values, the body in whichever encoding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from .. import errors
from ..access.rbac import Action
from ..bodies import protobuf
from ..bodies.text import Text, read_json
from ..storage.resources import NAMESPACES, Resource, find

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
    """None if the path names no resource of ours. Only the last slash may stand for nothing."""
    parts = path.strip("/").split("/")
    if "" in parts:
        return None
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
    return whole(request.query_params.get(name, ""), name)


def whole(text: str, name: str) -> int | None:
    """A number of the query, None if it is not given. Raises 400 for what Go's int64 could not hold."""
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax ({name})')
    if len(text) > _DIGITS or not -(2**63) <= int(text) < 2**63:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": value out of range ({name})')
    return int(text)


_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_DIGITS = 100  # leading zeros and all


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
    """The content of a body; None if it is empty."""
    return (await read_body(request)).content


async def read_body(request: Request) -> Text:
    """The body of a create, replace or delete."""
    kind, data = media_type(request), await read_bytes(request)
    if not data:
        return Text()
    if kind in ("application/json", "", "*/*"):
        return read_json(data)
    if kind in ("application/yaml", "application/x-yaml"):
        return _yaml(data)
    if kind == protobuf.MEDIA_TYPE:
        return Text(protobuf.decode(data))
    raise errors.unsupported_media(kind, _BODIES)


async def read_patch(request: Request) -> tuple[str, Text]:
    """The patch type ("json", "merge", "strategic", "apply") and its content."""
    kind = media_type(request)
    if kind not in PATCHES:
        raise errors.unsupported_media(kind, ", ".join(PATCHES))
    data = await read_bytes(request)
    return PATCHES[kind], _yaml(data) if PATCHES[kind] == "apply" else read_json(data)


def _yaml(data: bytes) -> Text:
    """JSON is YAML, and is what kubectl sends; only real YAML loads the parser."""
    if data.lstrip()[:1] == b"{":
        return read_json(data)
    from ..bodies.yamltext import read_yaml

    return read_yaml(data)
