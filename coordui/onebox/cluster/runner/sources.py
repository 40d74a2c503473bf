"""What a Pod takes from the API: the content of ConfigMaps and Secrets, its own fields, its containers' resources."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..kinds.quantities import limit, quantity, request
from ..storage.objects import Obj, meta, spec_of
from ..storage.resources import CONFIGMAPS, SECRETS, Resource, field_value
from ..storage.store import Store
from .podstatus import NODE_ADDRESS

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)


class CannotRun(Exception):
    """A sentence that says what in the Pod this machine cannot do; no second try would help."""


class NotYet(Exception):
    """What the Pod names is not there, or is taken: it waits for it."""


def data_of(pod: Obj, resource: Resource, ref: Mapping[str, Any], store: Store) -> dict[str, bytes] | None:
    """What a ConfigMap or Secret holds; None if it is not there and need not be. A volume says `secretName`."""
    name = str(ref.get("name") or ref.get("secretName"))
    obj = store.get(resource, meta(pod)["namespace"], name)
    if obj is None:
        if ref.get("optional"):
            return None
        raise NotYet(f'{resource.kind.lower()} "{name}" not found')
    if resource is SECRETS:
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    plain = {key: str(value).encode() for key, value in (obj.get("data") or {}).items()}
    return plain | {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}


def key_of(pod: Obj, resource: Resource, ref: Mapping[str, Any], store: Store) -> bytes | None:
    data = data_of(pod, resource, ref, store)
    if data is None or ref.get("key") in data:
        return None if data is None else data[str(ref["key"])]
    if ref.get("optional"):
        return None
    raise NotYet(f"couldn't find key {ref.get('key')} in {resource.kind} {meta(pod)['namespace']}/{ref.get('name')}")


def field_of(pod: Obj, path: str) -> str:
    """A field of the Pod as the downward API tells it."""
    if match := _KEYED.fullmatch(path):
        return str((meta(pod).get(match[1]) or {}).get(match[2], ""))
    if path not in _FIELDS:
        raise CannotRun(f'fieldPath "{path}" is not known here')
    if path.startswith("status."):
        return NODE_ADDRESS
    return field_value(pod, path)


def resource_of(pod: Obj, ref: Mapping[str, Any], container: str, capacity: Mapping[str, Decimal]) -> str:
    """resourceFieldRef: in units of `divisor`, rounded up; a container without a limit may use the whole node."""
    wanted = str(ref.get("containerName") or container)
    part, _, name = str(ref.get("resource")).partition(".")
    spec = spec_of(pod)
    for item in (*spec.get("containers", ()), *spec.get("initContainers", ())):
        if item["name"] != wanted:
            continue
        if name not in ("cpu", "memory") or part not in ("limits", "requests"):
            break
        amount = limit(item, name) if part == "limits" else request(item, name)
        if amount is None:
            amount = capacity[name] if part == "limits" else Decimal(0)
        divisor = quantity(ref.get("divisor") or 1)
        return str(math.ceil(amount / (divisor or Decimal(1))))
    raise CannotRun(f'resourceFieldRef "{ref.get("resource")}" of container "{wanted}" is not known here')


def both(ref: Mapping[str, Any], configmap: str, secret: str) -> tuple[Resource, Obj] | None:
    """Which of the two a reference names, under these keys."""
    for key, resource in ((configmap, CONFIGMAPS), (secret, SECRETS)):
        if found := ref.get(key):
            return resource, found
    return None
