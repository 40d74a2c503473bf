"""RBAC over what is stored: the roles a new cluster has, who may do what, and that nobody grants what he has not."""

from __future__ import annotations

from typing import Any

from .. import errors
from ..authors import MASTERS, User, Write
from ..core import Core
from ..storage.objects import Obj
from ..storage.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Resource
from ..storage.resources import RBAC as GROUP
from ..storage.store import Event
from .rbac import (
    AUTHENTICATED,
    Action,
    Grant,
    grants,
    grants_of,
    rules_in,
    uncovered,
    words,
)

_WATCHED = (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES)
_LOOK, _ALL = ["get", "list", "watch"], ["*"]
_PATHS = ["/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz"]
_REVIEWS = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]


def _rule(group: str, resources: str, verbs: list[str]) -> Obj:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs}


_CORE = "configmaps events pods pods/log pods/status resourcequotas serviceaccounts services"
_VIEW = [_rule("", _CORE, _LOOK), _rule("batch", "cronjobs jobs jobs/status", _LOOK)]
_EDIT = [
    _rule("", "configmaps events pods secrets serviceaccounts serviceaccounts/token services", _ALL),
    _rule("batch", "cronjobs jobs", _ALL),
    _rule("coordination.k8s.io", "leases", _ALL),
    *_VIEW,
]
# What every cluster has from the start.
_ROLES: dict[str, list[Obj]] = {
    "cluster-admin": [_rule("*", "*", _ALL), {"nonResourceURLs": ["*"], "verbs": _ALL}],
    "admin": [*_EDIT, _rule(GROUP, "rolebindings roles", _ALL)],
    "edit": _EDIT,
    "view": _VIEW,
    "system:discovery": [{"nonResourceURLs": [*_PATHS, "/version"], "verbs": ["get"]}],
    "system:basic-user": [
        {"apiGroups": ["authorization.k8s.io"], "resources": _REVIEWS, "verbs": ["create"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    ],
}
_BINDINGS = {"cluster-admin": MASTERS, "system:discovery": AUTHENTICATED, "system:basic-user": AUTHENTICATED}
_WRITE = Write("kube-apiserver")


class Authorizer:
    def __init__(self, core: Core) -> None:
        self._store = core.store
        self._held: dict[User, tuple[Grant, ...]] = {}
        core.store.listeners.append(self._heard)
        core.registry.admission.append(self.admit)
        with core.store.transaction():
            for name, rules in _ROLES.items():
                if self._store.body(CLUSTER_ROLES, "", name) is None:
                    body: Obj = {"metadata": {"name": name}, "rules": rules}
                    core.registry.create(CLUSTER_ROLES, "", body, _WRITE)
            for name, group in _BINDINGS.items():
                if self._store.body(CLUSTER_ROLE_BINDINGS, "", name) is None:
                    core.registry.create(CLUSTER_ROLE_BINDINGS, "", _binding(name, group), _WRITE)

    def _heard(self, event: Event) -> None:
        if event.resource in _WATCHED:
            self._held.clear()

    def allows(self, user: User, action: Action) -> bool:
        return user.is_master or any(grants(rule, action) for rule in self.rules(user, action.namespace))

    def rules(self, user: User, namespace: str) -> list[Obj]:
        return rules_in(self._grants(user), namespace)

    def missing(self, user: User, namespace: str) -> str:
        """The roles that bindings name and nobody has made, as the end of a refusal's sentence."""
        held = self._grants(user)
        found = [grant.missing for grant in held if grant.missing and grant.namespace in ("", namespace)]
        return f": RBAC: {', '.join(found)}" if found else ""

    def check(self, user: User, action: Action) -> None:
        """Raises ApiError 403 in the real server's words."""
        if not self.allows(user, action):
            why = words(user, action, self.missing(user, action.namespace))
            raise errors.forbidden(action.group, action.resource.partition("/")[0], action.name, why)

    def admit(self, resource: Resource, obj: Obj, old: Obj | None, write: Write) -> None:
        """Nobody makes a role, or a binding to one, that gives more than he has; `escalate` and `bind` lift that."""
        user = write.user
        if user is None or user.is_master or resource not in _WATCHED:
            return
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        role: Obj | None = None
        if resource in (ROLES, CLUSTER_ROLES):
            verb, target, wanted = "escalate", resource, obj.get("rules") or []
        else:
            ref = obj["roleRef"]
            target = ROLES if ref["kind"] == "Role" else CLUSTER_ROLES
            role = self._role(ref["kind"], namespace if target is ROLES else "", ref["name"])
            verb, name, wanted = "bind", ref["name"], (role or {}).get("rules") or []
        if self.allows(user, Action(verb, GROUP, target.plural, namespace, name)):
            return
        if verb == "bind" and role is None:
            raise errors.not_found(target, name)
        if more := uncovered(self.rules(user, namespace), wanted):
            groups = " ".join(f'"{group}"' for group in user.groups)
            told = "\n".join(_told(rule) for rule in more)
            why = f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:'
            raise errors.forbidden(GROUP, resource.plural, obj["metadata"]["name"], f"{why}\n{told}")

    def _grants(self, user: User) -> tuple[Grant, ...]:
        held = self._held.get(user)
        if held is None:
            rows = self._store.select(CLUSTER_ROLE_BINDINGS) + self._store.select(ROLE_BINDINGS)
            held = self._held[user] = tuple(grants_of(user, [row.object for row in rows], self._role))
        return held

    def _role(self, kind: str, namespace: str, name: str) -> Obj | None:
        return self._store.get(ROLES if kind == "Role" else CLUSTER_ROLES, namespace, name)


def _binding(name: str, group: str) -> Obj:
    subject: dict[str, Any] = {"kind": "Group", "name": group, "apiGroup": GROUP}
    role = {"kind": "ClusterRole", "name": name, "apiGroup": GROUP}
    return {"metadata": {"name": name}, "subjects": [subject], "roleRef": role}


def _told(rule: Obj) -> str:
    """A rule as Go prints one."""
    names = ("APIGroups", "Resources", "ResourceNames", "NonResourceURLs", "Verbs")
    held = {name.lower(): items for name, items in rule.items()}
    parts = [
        name + ":[" + ", ".join(f'"{item}"' for item in held[name.lower()]) + "]"
        for name in names
        if name.lower() in held
    ]
    return "{" + ", ".join(parts) + "}"
