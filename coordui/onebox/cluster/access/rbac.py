"""Who may do what: the pure decision of RBAC. Roles grant, nothing denies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..authors import User
from ..storage.objects import Obj
from ..storage.resources import RBAC as GROUP

AUTHENTICATED = "system:authenticated"
_ACCOUNTS = "system:serviceaccounts"


def account_user(namespace: str, name: str, uid: str = "") -> User:
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)


@dataclass(frozen=True)
class Action:
    """What somebody wants. `resource` includes the subresource ("jobs/status"); with a `path` it is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def words(user: User, action: Action, why: str = "") -> str:
    """The sentence of a refusal, without its subject."""
    if action.path:
        return f'User "{user.name}" cannot {action.verb} path "{action.path}"{why}'
    scope = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    what = f'resource "{action.resource}" in API group "{action.group}"'
    return f'User "{user.name}" cannot {action.verb} {what} {scope}{why}'


def grants(rule: Mapping[str, Any], action: Action) -> bool:
    if not _has(rule.get("verbs"), action.verb):
        return False
    if action.path:
        return any(_path_matches(pattern, action.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups"), action.group)
        and _has_resource(rule.get("resources"), action.resource)
        and (not names or action.name in names)
    )


def _has(given: Iterable[str] | None, wanted: str) -> bool:
    held = given or ()
    return "*" in held or wanted in held


def _has_resource(given: Iterable[str] | None, wanted: str) -> bool:
    """`*/scale` is that subresource of every resource."""
    subresource = wanted.partition("/")[2]
    return _has(given, wanted) or (bool(subresource) and f"*/{subresource}" in (given or ()))


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def names_user(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    """Whether a binding's subject is this user; a ServiceAccount without a namespace is in the binding's own."""
    kind, name = subject.get("kind"), subject.get("name")
    if kind == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    if kind == "Group":
        return name in user.groups
    return kind == "User" and name == user.name


@dataclass(frozen=True)
class Grant:
    """The rules that one binding gives, in one namespace ("" for all); or why it gives none."""

    namespace: str
    rules: tuple[Obj, ...] = ()
    missing: str = ""


# A role by kind, namespace ("" for a ClusterRole) and name.
FindRole = Callable[[str, str, str], Obj | None]


def grants_of(user: User, bindings: Iterable[Obj], find: FindRole) -> Iterator[Grant]:
    for binding in bindings:
        namespace = binding["metadata"].get("namespace", "")
        if not any(names_user(subject, user, namespace) for subject in binding.get("subjects") or ()):
            continue
        role = binding.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        found = find(kind, namespace if kind == "Role" else "", name)
        if found is None:
            yield Grant(namespace, missing=f'{kind.lower()}.{GROUP} "{name}" not found')
        else:
            yield Grant(namespace, tuple(found.get("rules") or ()))


def rules_in(grants_held: Iterable[Grant], namespace: str) -> list[Obj]:
    """The rules that hold in a namespace; in "" only those that hold everywhere."""
    return [rule for grant in grants_held if grant.namespace in ("", namespace) for rule in grant.rules]


def uncovered(held: Iterable[Obj], wanted: Iterable[Obj]) -> list[Obj]:
    """Those of the wanted rules that would give more than the held ones do: nobody may grant what he has not."""
    have = list(held)
    return [rule for rule in wanted if not all(any(_covers(own, one) for own in have) for one in _split(rule))]


def _split(rule: Obj) -> Iterator[Obj]:
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield {"verbs": [verb], "nonResourceURLs": [path]}
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or ("",):
                    names = {"resourceNames": [name]} if name else {}
                    yield {"verbs": [verb], "apiGroups": [group], "resources": [resource], **names}


def _covers(own: Obj, one: Obj) -> bool:
    action = Action(
        one["verbs"][0],
        (one.get("apiGroups") or [""])[0],
        (one.get("resources") or [""])[0],
        name=(one.get("resourceNames") or [""])[0],
        path=(one.get("nonResourceURLs") or [""])[0],
    )
    return grants(own, action)
