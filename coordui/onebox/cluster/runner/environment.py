"""A container's environment: variables given, taken from the API, or put together from others."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from ..storage.objects import Obj
from ..storage.store import Store
from .podstatus import NODE_ADDRESS
from .sources import CannotRun, both, data_of, field_of, key_of, resource_of

_VARIABLE = re.compile(r"\$\$|\$\(([A-Za-z_.][-A-Za-z0-9_.]*)\)")


def expand(text: str, env: Mapping[str, str]) -> str:
    """$(NAME) as Kubernetes does it: unknown names stay, $$ is a $."""
    return _VARIABLE.sub(lambda match: "$" if match[0] == "$$" else env.get(match[1], match[0]), text)


def base(home: str, account: Path | None, port: int) -> dict[str, str]:
    """What every container gets; nothing else of this server's own environment."""
    return {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "KUBERNETES_SERVICE_HOST": NODE_ADDRESS,
        "KUBERNETES_SERVICE_PORT": str(port),
    } | ({} if account is None else {"COORDUI_SERVICEACCOUNT": str(account)})


def environment(
    pod: Obj, container: Obj, given: Mapping[str, str], store: Store, capacity: Mapping[str, Decimal]
) -> dict[str, str]:
    """`given`, then envFrom, then env, a later one over an earlier. Raises NotYet and CannotRun."""
    env = dict(given)
    for source in container.get("envFrom", ()):
        if (ref := both(source, "configMapRef", "secretRef")) is None:
            raise CannotRun(f"envFrom: this node reads configMapRef and secretRef, not {', '.join(source)}")
        data = data_of(pod, *ref, store) or {}
        env |= {f"{source.get('prefix', '')}{key}": _text(key, value) for key, value in data.items()}
    for variable in container.get("env", ()):
        name, source = str(variable["name"]), variable.get("valueFrom")
        if not source:
            env[name] = expand(variable.get("value") or "", env)
        elif (value := _value_from(pod, name, source, str(container["name"]), store, capacity)) is not None:
            env[name] = value
    return env


def _value_from(
    pod: Obj, name: str, source: Obj, container: str, store: Store, capacity: Mapping[str, Decimal]
) -> str | None:
    try:
        if ref := source.get("fieldRef"):
            return field_of(pod, str(ref.get("fieldPath")))
        if ref := source.get("resourceFieldRef"):
            return resource_of(pod, ref, container, capacity)
        if keyed := both(source, "configMapKeyRef", "secretKeyRef"):
            value = key_of(pod, *keyed, store)
            return None if value is None else _text(name, value)
    except CannotRun as why:
        raise CannotRun(f"env {name}: {why}") from None
    words = "fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef"
    raise CannotRun(f"env {name}: this node reads {words}, not {', '.join(source)}")


def _text(name: str, value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise CannotRun(f"env {name}: its value is no text, and a variable holds text only")
    return text
