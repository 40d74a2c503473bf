"""Errors as the API server words them: each becomes a `Status` object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .storage.objects import Obj, dump
from .storage.resources import Resource


@dataclass
class ApiError(Exception):
    code: int
    reason: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)
    retry_after: int | None = None

    def __str__(self) -> str:
        return self.message

    def status(self) -> Obj:
        body: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = self.details
        return body | {"code": self.code}


@dataclass(frozen=True)
class Cause:
    """One thing wrong with one field."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def status(self) -> Obj:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def about(resource: Resource, name: str) -> dict[str, Any]:
    group = {"group": resource.group} if resource.group else {}
    return {"name": name, **group, "kind": resource.plural}


def not_found(resource: Resource, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{resource.key} "{name}" not found', about(resource, name))


def already_exists(resource: Resource, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{resource.key} "{name}" already exists', about(resource, name))


def conflict(resource: Resource, name: str, why: str = "") -> ApiError:
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.key} "{name}": {why}'
    return ApiError(409, "Conflict", message, about(resource, name))


def invalid(resource: Resource, name: str, causes: list[Cause]) -> ApiError:
    words = [f"{cause.field}: {cause.message}" for cause in causes]
    text = words[0] if len(words) == 1 else "[" + ", ".join(words) + "]"
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    group = {"group": resource.group} if resource.group else {}
    details = {"name": name, **group, "kind": resource.kind, "causes": [cause.status() for cause in causes]}
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details)


def invalid_options(kind: str, field: str, why: str) -> ApiError:
    """Options of a write that make no sense; `kind` is that of the options."""
    cause = Cause(field, why, "FieldValueNotSupported" if why.startswith("Unsupported") else "FieldValueInvalid")
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause.status()]}
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {field}: {why}', details)


def unsupported(value: str, *allowed: str) -> str:
    listed = ", ".join(f'"{one}"' for one in allowed)
    return f'Unsupported value: "{value}": supported values: {listed}'


def rejected_patch() -> ApiError:
    """A JSON patch that does not apply, `test` among them: the real server does not say which operation."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request")


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def undecodable(resource: Resource, why: str) -> ApiError:
    kind, version = resource.kind, resource.version
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def undecodable_patch(patch: Any, why: str) -> ApiError:
    """A patch whose result is no object of its kind. The real server says so with 422 and names neither."""
    cause = Cause("patch", f"Invalid value: {dump(dump(patch))}: {why}")
    return ApiError(422, "Invalid", f' "" is invalid: patch: {cause.message}', {"causes": [cause.status()]})


def untyped_patch(resource: Resource, namespace: str, name: str, problems: list[str]) -> ApiError:
    """An apply whose body no schema fits. It is a bare 500 of the real server, without a reason."""
    what = f"{namespace}/{name}; {resource.api_version}, Kind={resource.kind}"
    why = problems[0] if len(problems) == 1 else "errors:" + "".join(f"\n  {problem}" for problem in problems)
    return ApiError(500, "", f"failed to create typed patch object ({what}): {why}")


def unsupported_media(kind: str, accepted: str) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return ApiError(415, "UnsupportedMediaType", message + (f" (got {kind})" if kind else ""))


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    """`plural` may be empty, for what is no resource."""
    if not plural:
        return ApiError(403, "Forbidden", f"forbidden: {why}")
    what = f"{plural}.{group}" if group else plural
    details = {"name": name, "group": group, "kind": plural}
    subject = f'{what} "{name}"' if name else what
    held = {key: value for key, value in details.items() if value}
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", held)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")
