"""Discovery: the version, the groups, their resources, and as much of OpenAPI as `kubectl apply` asks for."""

from __future__ import annotations

import platform
from functools import cache

from .objects import Obj
from .resources import ALL, GROUP_VERSIONS, VERBS, Resource

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.2+coordui",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": platform.python_implementation(),
    "platform": f"linux/{platform.machine()}",
}
_REVIEWS = ("authorization.k8s.io", "v1")


@cache
def document(path: str) -> Obj | None:
    """The discovery document at a path without its trailing slash."""
    parts = path.strip("/").split("/")
    match parts:
        case ["version"]:
            return VERSION
        case [""]:
            return {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(group, version) for group, version in _groups()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if group in dict(_groups()):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, dict(_groups())[group])}
        case ["api", "v1"]:
            return _resources("", "v1")
        case ["apis", group, version] if (group, version) in _groups():
            return _resources(group, version)
        case ["openapi", "v3"]:
            return {"paths": {prefix: {"serverRelativeURL": f"/openapi/v3/{prefix}?hash=1"} for prefix in _prefixes()}}
        case ["openapi", "v3", *rest] if "/".join(rest) in _prefixes():
            return _openapi("/" + "/".join(rest))
    return None


def _groups() -> list[tuple[str, str]]:
    return [(group, version) for group, version in GROUP_VERSIONS if group] + [_REVIEWS]


def _prefixes() -> list[str]:
    return ["api/v1"] + [f"apis/{group}/{version}" for group, version in _groups()]


def _group(group: str, version: str) -> Obj:
    preferred = {"groupVersion": f"{group}/{version}", "version": version}
    return {"name": group, "versions": [preferred], "preferredVersion": preferred}


def _resources(group: str, version: str) -> Obj:
    found: list[Obj] = []
    for resource in ALL:
        if (resource.group, resource.version) == (group, version):
            found += _entries(resource)
    if (group, version) == _REVIEWS:
        review = {"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview", "namespaced": False}
        found.append(review | {"kind": "SelfSubjectAccessReview", "verbs": ["create"]})
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": found}


def _entries(resource: Resource) -> list[Obj]:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(VERBS),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    below = {"singularName": "", "namespaced": resource.namespaced, "kind": resource.kind}
    found = [entry]
    if resource.status:
        found.append({"name": f"{resource.plural}/status", **below, "verbs": ["get", "patch", "update"]})
    found += [{"name": f"{resource.plural}/{name}", **below, "verbs": ["get"]} for name in resource.subresources]
    return found


def _openapi(prefix: str) -> Obj:
    """No schemas: a PATCH with `fieldValidation` tells kubectl to leave validation to the server."""
    paths: Obj = {}
    for resource in ALL:
        if resource.prefix != prefix:
            continue
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        paths[f"{prefix}{scope}/{resource.plural}/{{name}}"] = {
            "patch": {
                "parameters": [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": "patch",
                "x-kubernetes-group-version-kind": kind,
            }
        }
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.2"}, "paths": paths}
