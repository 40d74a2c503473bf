"""ServiceAccounts' tokens: signed, never stored, and void once their account or the Secret they live in is gone.

A token says whose it is (namespace, name and uid), until when, and what it is bound to. The key is made from the
administrator's token, so that tokens outlive a restart. Secrets of the type for it get theirs as soon as they exist.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

from .. import errors
from ..authors import Author, User, Write
from ..clock import seconds
from ..core import Core
from ..kinds.simple import ACCOUNT, TOKEN_SECRET
from ..storage.objects import Obj, clone, dump, load
from ..storage.resources import PODS, SECRETS, SERVICE_ACCOUNTS, Resource
from ..storage.store import Event
from .rbac import account_user

ACCOUNT_UID = "kubernetes.io/service-account.uid"
ISSUER = "https://kubernetes.default.svc"
_SHORTEST, _USUAL, _LONGEST = 600, 3600, 2**32
_AUTHOR = Author("kube-controller-manager")
_BOUND: dict[str, Resource] = {"Secret": SECRETS, "Pod": PODS}


class Accounts:
    """`ca` is the certificate that Secrets hand out beside the token."""

    def __init__(self, core: Core, token: str, ca: str) -> None:
        self._core, self._ca = core, ca
        self._key = hashlib.sha256(b"serviceaccounts:" + token.encode()).digest()
        core.store.listeners.append(self._heard)
        core.registry.admission.append(self.admit)
        for row in core.store.select(SECRETS):
            self._fill(row.object)

    # -- who comes

    def user_of(self, token: str) -> User | None:
        """The account of a token that is signed by us, not too old, and whose account and binding still exist."""
        claims = self._read(token)
        if claims is None or claims.get("exp", _LONGEST * 2) <= self._core.clock.now().timestamp():
            return None
        if ISSUER not in claims["aud"]:
            return None
        about = claims["kubernetes.io"]
        namespace, account = about["namespace"], about["serviceaccount"]
        if not self._is(SERVICE_ACCOUNTS, namespace, account):
            return None
        for kind, resource in _BOUND.items():
            bound = about.get(kind.lower())
            if bound is not None and not self._is(resource, namespace, bound):
                return None
        return account_user(namespace, account["name"], account["uid"])

    def _is(self, resource: Resource, namespace: str, wanted: Obj) -> bool:
        found = self._core.store.get(resource, namespace, wanted["name"])
        return found is not None and found["metadata"]["uid"] == wanted["uid"]

    # -- what is given out

    def request(self, namespace: str, name: str, body: Any) -> Obj:
        """The answer to a TokenRequest. Raises ApiError: no such account, a duration too short, a wrong binding."""
        account = self._core.registry.get(SERVICE_ACCOUNTS, namespace, name)
        spec = _part({"TokenRequest": body}, "TokenRequest", "spec")
        wanted = spec.get("expirationSeconds") or _USUAL
        if type(wanted) is not int or not _SHORTEST <= wanted <= _LONGEST:
            why = "may not specify a duration less than 10 minutes"
            words = f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {wanted}'
            raise errors.ApiError(422, "Invalid", f"{words}: {why}")
        until = self._core.clock.now() + timedelta(seconds=wanted)
        bound = self._bound(namespace, _part(spec, "boundObjectRef"))
        audiences = spec.get("audiences") or [ISSUER]
        if not isinstance(audiences, list) or not all(isinstance(one, str) for one in audiences):
            raise errors.bad_request("json: cannot unmarshal into Go struct field TokenRequestSpec.spec.audiences")
        status = {"token": self._issue(account, until, bound, audiences), "expirationTimestamp": seconds(until)}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": self._core.clock.stamp()},
            "spec": {**spec, "audiences": audiences, "expirationSeconds": wanted},
            "status": status,
        }

    def of_pod(self, pod: Obj) -> str | None:
        """A token of the Pod's own account that is void when the Pod has gone; None if the Pod is to have none."""
        meta, spec = pod["metadata"], pod.get("spec") or {}
        account = self._core.store.get(SERVICE_ACCOUNTS, meta["namespace"], spec["serviceAccountName"])
        wanted = spec.get("automountServiceAccountToken", (account or {}).get("automountServiceAccountToken", True))
        if account is None or not wanted:
            return None
        return self._issue(account, None, {"pod": {"name": meta["name"], "uid": meta["uid"]}}, [ISSUER])

    def admit(self, resource: Resource, obj: Obj, old: Obj | None, write: Write) -> None:
        """No Pod is made for an account that is not there."""
        if resource is not PODS or old is not None:
            return
        meta, name = obj["metadata"], obj["spec"]["serviceAccountName"]
        if self._core.store.body(SERVICE_ACCOUNTS, meta["namespace"], name) is None:
            why = f'error looking up service account {meta["namespace"]}/{name}: serviceaccount "{name}" not found'
            raise errors.forbidden("", PODS.plural, meta["name"], why)

    def _bound(self, namespace: str, ref: Obj) -> dict[str, Obj]:
        if not ref:
            return {}
        kind = str(ref.get("kind"))
        if kind not in _BOUND:
            raise errors.bad_request(f"cannot bind token for serviceaccount to object of kind {kind}")
        meta = self._core.registry.get(_BOUND[kind], namespace, str(ref.get("name")))["metadata"]
        if ref.get("uid") not in (None, "", meta["uid"]):
            words = f"the UID in the bound object reference ({ref['uid']}) does not match the UID in record"
            raise errors.conflict(_BOUND[kind], meta["name"], words)
        return {kind.lower(): {"name": meta["name"], "uid": meta["uid"]}}

    def _issue(self, account: Obj, until: datetime | None, bound: dict[str, Obj], audiences: list[str]) -> str:
        meta = account["metadata"]
        about = {
            "namespace": meta["namespace"],
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
            **bound,
        }
        claims: Obj = {"iss": ISSUER, "aud": audiences, "iat": int(self._core.clock.now().timestamp())}
        claims |= {"sub": account_user(meta["namespace"], meta["name"]).name, "kubernetes.io": about}
        if until is not None:
            claims["exp"] = int(until.astimezone(UTC).timestamp())
        text = f"{_encode(dump({'alg': 'HS256', 'typ': 'JWT'}).encode())}.{_encode(dump(claims).encode())}"
        return f"{text}.{_encode(self._sign(text))}"

    def _sign(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode(), "sha256")

    def _read(self, token: str) -> Obj | None:
        text, _, signature = token.rpartition(".")
        try:
            if not hmac.compare_digest(self._sign(text), _decode(signature)):
                return None
            found: Obj = load(_decode(text.partition(".")[2]))
        except (ValueError, binascii.Error):
            return None
        return found

    # -- Secrets of the type for it

    def _heard(self, event: Event) -> None:
        if event.resource is SECRETS and event.type != "DELETED":
            self._fill(event.object)
        elif event.resource is SERVICE_ACCOUNTS and event.type == "DELETED":
            self._void(event.namespace, event.object["metadata"]["uid"])

    def _fill(self, secret: Obj) -> None:
        """Token, certificate and namespace, unless they are there or the account is not."""
        meta = secret["metadata"]
        name = (meta.get("annotations") or {}).get(ACCOUNT, "")
        if secret.get("type") != TOKEN_SECRET or "token" in (secret.get("data") or {}) or not name:
            return
        account = self._core.store.get(SERVICE_ACCOUNTS, meta["namespace"], name)
        if account is None or "deletionTimestamp" in meta:
            return
        bound = {"secret": {"name": meta["name"], "uid": meta["uid"]}}
        parts = {"token": self._issue(account, None, bound, [ISSUER]), "ca.crt": self._ca}
        parts["namespace"] = meta["namespace"]
        new = clone(secret)
        new["metadata"]["annotations"][ACCOUNT_UID] = account["metadata"]["uid"]
        new["data"] = {key: base64.b64encode(text.encode()).decode() for key, text in parts.items()}
        self._core.registry.amend(SECRETS, secret, new, _AUTHOR)

    def _void(self, namespace: str, uid: str) -> None:
        for row in self._core.store.select(SECRETS, namespace):
            secret = row.object
            notes = secret["metadata"].get("annotations") or {}
            if secret.get("type") == TOKEN_SECRET and notes.get(ACCOUNT_UID) == uid:
                self._core.store.remove(SECRETS, secret)


def _part(holder: Obj, *names: str) -> Obj:
    """What lies below these names, each an object; absent and null are empty."""
    for name in names:
        part = holder.get(name)
        if not isinstance(part, dict | None):
            raise errors.bad_request(f"json: cannot unmarshal into Go struct field {name}")
        holder = part or {}
    return holder


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
