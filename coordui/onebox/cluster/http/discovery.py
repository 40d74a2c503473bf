"""Discovery: the version, the groups, their resources, and where OpenAPI tells of each."""

from __future__ import annotations

import platform
from functools import cache

from ..access import reviews
from ..storage.objects import Obj
from ..storage.resources import ALL, GROUP_VERSIONS, VERBS, Resource

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
_REVIEWS = tuple(dict.fromkeys((review.group, "v1") for review in reviews.ALL))


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
    return None


def _groups() -> list[tuple[str, str]]:
    return [(group, version) for group, version in GROUP_VERSIONS if group] + list(_REVIEWS)


def openapi_prefix(path: str) -> str | None:
    """The group-version that an OpenAPI document is about, as a path."""
    prefix = path.removeprefix("/openapi/v3/")
    return f"/{prefix}" if prefix != path and prefix in _prefixes() else None


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
    for review in reviews.ALL:
        if (review.group, "v1") == (group, version):
            entry = {"name": review.plural, "singularName": review.kind.lower(), "namespaced": review.namespaced}
            found.append(entry | {"kind": review.kind, "verbs": ["create"]})
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
    for name in resource.subresources:
        verbs: Obj = {"verbs": ["get"]}
        if name == "token":
            verbs = {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"]}
        found.append({"name": f"{resource.plural}/{name}", **below, **verbs})
    return found
