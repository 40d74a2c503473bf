"""Reviews: questions about who one is and what one may do, answered from the decision that every request meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import errors
from ..authors import User
from ..storage.objects import Obj
from .authentication import Authenticator
from .authorizer import Authorizer
from .rbac import AUTHENTICATED, Action

_AUTHORIZATION, _AUTHENTICATION = "authorization.k8s.io", "authentication.k8s.io"
_EVERYTHING = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]


@dataclass(frozen=True)
class Review:
    group: str
    plural: str
    kind: str
    namespaced: bool = False


ALL = (
    Review(_AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview"),
    Review(_AUTHENTICATION, "tokenreviews", "TokenReview"),
    Review(_AUTHORIZATION, "localsubjectaccessreviews", "LocalSubjectAccessReview", True),
    Review(_AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    Review(_AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    Review(_AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview"),
)
_BY_PATH = {(review.group, review.plural): review for review in ALL}


def find(path: str) -> tuple[Review, str] | None:
    """The review at a path, and the namespace in it."""
    match path.strip("/").split("/"):
        case ["apis", group, "v1", plural]:
            review, namespace = _BY_PATH.get((group, plural)), ""
        case ["apis", group, "v1", "namespaces", namespace, plural] if namespace:
            review = _BY_PATH.get((group, plural))
        case _:
            return None
    return (review, namespace) if review and review.namespaced == bool(namespace) else None


class Reviews:
    def __init__(self, authorizer: Authorizer, authenticator: Authenticator) -> None:
        self._authorizer, self._authenticator = authorizer, authenticator

    def answer(self, review: Review, namespace: str, user: User, body: Any) -> Obj:
        """The review with its status. Raises ApiError for a body that asks nothing."""
        if not isinstance(body, dict) or not isinstance(body.get("spec") or {}, dict):
            raise errors.bad_request(f"the body is no {review.kind}")
        spec: Obj = body.get("spec") or {}
        if review.kind == "SelfSubjectReview":
            status: Obj = {"userInfo": _info(user)}
        elif review.kind == "TokenReview":
            status = self._token(str(spec.get("token") or ""))
        elif review.kind == "SelfSubjectRulesReview":
            status = self._rules(user, str(spec.get("namespace") or ""))
        else:
            asked = user if review.kind.startswith("Self") else _subject(spec)
            status = self._access(asked, spec, namespace)
        version = f"{review.group}/v1"
        return {"kind": review.kind, "apiVersion": version, "metadata": {}, "spec": spec, "status": status}

    def _token(self, token: str) -> Obj:
        user = self._authenticator.by_token(token)
        return {"authenticated": True, "user": _info(user)} if user else {}

    def _access(self, user: User, spec: Obj, namespace: str) -> Obj:
        about, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if isinstance(path, dict):
            action = Action(str(path.get("verb") or ""), path=str(path.get("path") or ""))
        elif isinstance(about, dict):
            asked = {key: str(about.get(key) or "") for key in ("verb", "group", "resource", "subresource", "name")}
            resource = f"{asked['resource']}/{asked['subresource']}" if asked["subresource"] else asked["resource"]
            place = str(about.get("namespace") or "")
            if namespace and place != namespace:
                raise errors.bad_request("spec.resourceAttributes.namespace must match the namespace of the URL")
            action = Action(asked["verb"], asked["group"], resource, place, asked["name"])
        else:
            raise errors.bad_request("exactly one of resourceAttributes or nonResourceAttributes must be specified")
        if self._authorizer.allows(user, action):
            return {"allowed": True}
        why = self._authorizer.missing(user, action.namespace).removeprefix(": ")
        return {"allowed": False} | ({"reason": why} if why else {})

    def _rules(self, user: User, namespace: str) -> Obj:
        rules = [*_EVERYTHING, {"verbs": ["*"], "nonResourceURLs": ["*"]}] if user.is_master else []
        rules += self._authorizer.rules(user, namespace)
        return {
            "resourceRules": [rule for rule in rules if "resources" in rule],
            "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
            "incomplete": False,
        }


def _subject(spec: Obj) -> User:
    groups = spec.get("groups") or []
    if not (spec.get("user") or groups) or not isinstance(groups, list):
        raise errors.bad_request("at least one of user or group must be specified")
    return User(str(spec.get("user") or ""), tuple(map(str, groups)), str(spec.get("uid") or ""))


def _info(user: User) -> Obj:
    uid = {"uid": user.uid} if user.uid else {}
    return {"username": user.name, **uid, "groups": sorted({*user.groups, AUTHENTICATED})}
