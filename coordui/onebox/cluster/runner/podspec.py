"""From a Pod's spec to what is started: argument list, environment, directory. What cannot be done here is named."""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..objects import Obj, meta, spec_of
from ..resources import CONFIGMAPS, SECRETS, Resource, field_value
from ..store import Store
from .quantities import requested

_VARIABLE = re.compile(r"\$\$|\$\(([A-Za-z_.][-A-Za-z0-9_.]*)\)")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.podIP",
        "status.podIPs",
    }
)
NODE_ADDRESS = "127.0.0.1"


class CannotRun(Exception):
    """A sentence that says what in the Pod this machine cannot do; no second try would help."""


class NotYet(Exception):
    """A ConfigMap or Secret that the Pod names is not there: it waits for it."""


@dataclass(frozen=True)
class Command:
    container: str
    argv: list[str]
    env: dict[str, str]
    cwd: Path


@dataclass(frozen=True)
class Place:
    """Where a Pod runs: its own directory, and how it finds the API."""

    directory: Path
    account: Path
    port: int
    marks: Mapping[str, str]  # variables by which a process is known as this Pod's


def commands(pod: Obj, store: Store, place: Place) -> list[Command]:
    spec = spec_of(pod)
    for name in ("initContainers", "ephemeralContainers"):
        if spec.get(name):
            raise CannotRun(f"spec.{name}: this node runs plain containers only")
    _check_quantities(pod)
    volumes = {volume.get("name"): volume for volume in spec.get("volumes", ())}
    found = []
    for container in spec.get("containers", ()):
        name = str(container["name"])
        if not container.get("command"):
            raise CannotRun(
                f'container "{name}" has no command: this node has no images, so the command has to be given'
            )
        for mount in container.get("volumeMounts", ()):
            _check_mount(name, mount, volumes)
        env = _environment(pod, container, store, place)
        argv = [expand(word, env) for word in [*container["command"], *container.get("args", ())]]
        if shutil.which(argv[0], path=env["PATH"]) is None:
            raise CannotRun(f'container "{name}": "{argv[0]}" is no program on PATH ({env["PATH"]})')
        cwd = Path(container.get("workingDir") or place.directory)
        if not cwd.is_dir():
            raise CannotRun(f'container "{name}": workingDir {cwd} is no directory on this machine')
        found.append(Command(name, argv, env, cwd))
    return found


def expand(text: str, env: Mapping[str, str]) -> str:
    """$(NAME) as Kubernetes does it: unknown names stay, $$ is a $."""
    return _VARIABLE.sub(lambda match: "$" if match[0] == "$$" else env.get(match[1], match[0]), text)


def _check_quantities(pod: Obj) -> None:
    try:
        requested(pod)
    except ValueError as why:
        raise CannotRun(f"resources: {why}") from None


def _check_mount(container: str, mount: Obj, volumes: Mapping[str, Obj]) -> None:
    """Nothing is mounted on this machine: a hostPath at its own path is already there, all else is refused."""
    where = f'container "{container}", volume "{mount.get("name")}"'
    volume = volumes.get(str(mount.get("name")))
    if volume is None:
        raise CannotRun(f"{where}: there is no volume of that name in spec.volumes")
    host = volume.get("hostPath")
    path = str(mount.get("mountPath"))
    if host is None:
        kind = next((key for key in volume if key != "name"), "nothing")
        raise CannotRun(f"{where}: this node mounts hostPath volumes only, not {kind}")
    wanted = os.path.normpath(os.path.join(str(host.get("path")), str(mount.get("subPath") or "")))
    if os.path.normpath(path) != wanted:
        raise CannotRun(f"{where}: mountPath {path} has to equal the host's path {wanted}: nothing is mounted here")
    if host.get("type") == "DirectoryOrCreate":
        Path(wanted).mkdir(parents=True, exist_ok=True)
    if not Path(wanted).exists():
        raise CannotRun(f"{where}: {wanted} does not exist on this machine")


def _environment(pod: Obj, container: Obj, store: Store, place: Place) -> dict[str, str]:
    env = {
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
        "HOME": str(place.directory),
        "TMPDIR": str(place.directory),
        "LANG": "C.UTF-8",
        "KUBERNETES_SERVICE_HOST": NODE_ADDRESS,
        "KUBERNETES_SERVICE_PORT": str(place.port),
        "COORDUI_SERVICEACCOUNT": str(place.account),
    }
    for source in container.get("envFrom", ()):
        env |= _env_from(pod, source, store)
    for variable in container.get("env", ()):
        value = variable.get("value")
        if value is None and variable.get("valueFrom"):
            value = _value_from(pod, variable["name"], variable["valueFrom"], store)
            if value is None:
                continue
            env[variable["name"]] = value
        else:
            env[variable["name"]] = expand(value or "", env)
    return env | dict(place.marks)


def _env_from(pod: Obj, source: Obj, store: Store) -> dict[str, str]:
    for kind, resource in (("configMapRef", CONFIGMAPS), ("secretRef", SECRETS)):
        if ref := source.get(kind):
            data = _data(pod, resource, ref, store) or {}
            return {f"{source.get('prefix', '')}{key}": value for key, value in data.items()}
    raise CannotRun(f"envFrom: this node reads configMapRef and secretRef, not {', '.join(source)}")


def _value_from(pod: Obj, name: str, source: Obj, store: Store) -> str | None:
    if ref := source.get("fieldRef"):
        return _field(pod, name, str(ref.get("fieldPath")))
    for kind, resource in (("configMapKeyRef", CONFIGMAPS), ("secretKeyRef", SECRETS)):
        if ref := source.get(kind):
            data = _data(pod, resource, ref, store)
            if data is None or ref.get("key") in data:
                return None if data is None else data[ref["key"]]
            if ref.get("optional"):
                return None
            raise NotYet(f"couldn't find key {ref.get('key')} in {resource.kind} {ref.get('name')}")
    raise CannotRun(f"env {name}: this node reads fieldRef, configMapKeyRef and secretKeyRef, not {', '.join(source)}")


def _field(pod: Obj, name: str, path: str) -> str:
    if match := _KEYED.fullmatch(path):
        return str((meta(pod).get(match[1]) or {}).get(match[2], ""))
    if path not in _FIELDS:
        raise CannotRun(f'env {name}: fieldPath "{path}" is not known here')
    if path.startswith("status."):
        return NODE_ADDRESS
    return field_value(pod, path)


def _data(pod: Obj, resource: Resource, ref: Mapping[str, Any], store: Store) -> dict[str, str] | None:
    """The strings of a ConfigMap or Secret; None if it is not there and need not be."""
    obj = store.get(resource, meta(pod)["namespace"], str(ref.get("name")))
    if obj is None:
        if ref.get("optional"):
            return None
        raise NotYet(f'{resource.kind.lower()} "{ref.get("name")}" not found')
    if resource is CONFIGMAPS:
        return dict(obj.get("data") or {})
    decoded = {key: base64.b64decode(value).decode() for key, value in (obj.get("data") or {}).items()}
    return decoded | dict(obj.get("stringData") or {})
