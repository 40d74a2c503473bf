"""A Pod's volumes, on a machine where nothing can be mounted.

A hostPath is there already, at its own path and at no other. Every other volume is a directory of the Pod's own, and
its mountPath becomes a symbolic link to it for as long as the Pod runs: the place has to be free and its parent to
exist. Two Pods that want the same mountPath run one after the other. What a link or a hostPath leads to is as
writable as this server's user makes it: `readOnly` keeps nobody from writing. ConfigMaps and Secrets are read once.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from ..storage.objects import Obj, spec_of
from ..storage.resources import CONFIGMAPS, SECRETS
from ..storage.store import Store
from .sources import CannotRun, NotYet, both, data_of, field_of, resource_of

_LINKS = "links"
_IS: dict[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "directory"),
    "File": (stat.S_ISREG, "file"),
    "FileOrCreate": (stat.S_ISREG, "file"),
    "Socket": (stat.S_ISSOCK, "socket"),
    "CharDevice": (stat.S_ISCHR, "character device"),
    "BlockDevice": (stat.S_ISBLK, "block device"),
}


def prepare(pod: Obj, directory: Path, store: Store, capacity: Mapping[str, Decimal]) -> None:
    """Make what is mounted, and lead every mountPath to it. Raises NotYet and CannotRun, and then has linked nothing.

    `directory` is the Pod's own; what is made is below `directory`/volumes.
    """
    volumes = {volume.get("name"): volume for volume in spec_of(pod).get("volumes", ())}
    links: dict[Path, Path] = {}
    for container, mount in _mounts(pod):
        where = f'container "{container}", volume "{mount.get("name")}"'
        volume = volumes.get(mount.get("name"))
        if volume is None:
            raise CannotRun(f"{where}: there is no volume of that name in spec.volumes")
        path = Path(os.path.normpath(str(mount.get("mountPath"))))
        below = os.path.normpath(str(mount.get("subPath") or "."))
        if below.startswith(("/", "..")):
            raise CannotRun(f"{where}: subPath {below} leads out of the volume")
        if host := volume.get("hostPath"):
            _check_host(where, host, path, below)
            continue
        source = _Volume(pod, container, directory, store, capacity).make(where, volume) / below
        if links.setdefault(path, source) != source:
            raise CannotRun(f"{where}: mountPath {path} is another container's too, for another volume")
        _check_free(where, path, directory)
    if links:
        (directory / _LINKS).write_text(json.dumps([str(path) for path in links]))
    for path, source in links.items():
        if not source.exists():
            source.mkdir(parents=True)
        path.unlink(missing_ok=True)  # one that a Pod before left behind
        path.symlink_to(source)


def release(directory: Path) -> None:
    """Take the links away that lead into a Pod's directory."""
    try:
        known = json.loads((directory / _LINKS).read_text())
    except (FileNotFoundError, ValueError):
        return  # none, or a server died while it wrote them down, and that was before it made them
    for path in map(Path, known):
        if _leads_into(path, directory):
            path.unlink(missing_ok=True)


def _mounts(pod: Obj) -> Iterator[tuple[str, Obj]]:
    for part in ("initContainers", "containers"):
        for container in spec_of(pod).get(part, ()):
            for mount in container.get("volumeMounts", ()):
                yield str(container["name"]), mount


def _leads_into(path: Path, directory: Path) -> bool:
    return path.is_symlink() and Path(os.readlink(path)).is_relative_to(directory)


def _check_host(where: str, host: Obj, path: Path, below: str) -> None:
    wanted = Path(os.path.normpath(os.path.join(str(host.get("path")), below)))
    if path != wanted:
        raise CannotRun(f"{where}: mountPath {path} has to equal the host's path {wanted}: nothing is mounted here")
    kind = str(host.get("type") or "")
    if kind == "DirectoryOrCreate":
        wanted.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate" and wanted.parent.is_dir():
        wanted.touch(exist_ok=True)
    if not wanted.exists():
        raise CannotRun(f"{where}: {wanted} does not exist on this machine")
    is_kind, word = _IS.get(kind, (None, ""))
    if is_kind and below == "." and not is_kind(wanted.stat().st_mode):
        raise CannotRun(f"{where}: hostPath type check failed: {wanted} is not a {word}")


def _check_free(where: str, path: Path, directory: Path) -> None:
    """A link into another Pod's directory means that this one has to wait, unless that Pod is gone."""
    pods = directory.parent
    if path.is_symlink() and Path(os.readlink(path)).is_relative_to(pods):
        if path.exists() and not _leads_into(path, directory):
            raise NotYet(f"{where}: mountPath {path} is another Pod's at present: nothing is mounted here")
    elif path.is_symlink() or path.exists():
        raise CannotRun(f"{where}: mountPath {path} is something else on this machine: nothing is mounted here")
    elif not path.parent.is_dir():
        raise CannotRun(f"{where}: mountPath {path} cannot exist on this machine: there is no {path.parent}")
    elif not os.access(path.parent, os.W_OK):
        raise CannotRun(f"{where}: mountPath {path} cannot exist on this machine: {path.parent} is not writable")


class _Volume:
    """Makes the directory of one volume that is not a hostPath."""

    def __init__(
        self, pod: Obj, container: str, directory: Path, store: Store, capacity: Mapping[str, Decimal]
    ) -> None:
        self._pod, self._container, self._store, self._capacity = pod, container, store, capacity
        self._volumes = directory / "volumes"

    def make(self, where: str, volume: Obj) -> Path:
        place = self._volumes / str(volume["name"])
        if "emptyDir" in volume:
            place.mkdir(parents=True, exist_ok=True)
            return place
        kind = next((key for key in volume if key != "name"), "nothing")
        if kind not in ("configMap", "secret", "downwardAPI", "projected"):
            known = "hostPath, emptyDir, configMap, secret, downwardAPI and projected"
            raise CannotRun(f"{where}: this node has {known} volumes, not {kind}")
        source = volume[kind]
        mode = int(source.get("defaultMode") or 0o644)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for part in source.get("sources", ()) if kind == "projected" else [{kind: source}]:
            for name, (data, own) in self._files(where, part).items():
                file = Path(os.path.normpath(place / name))
                if not file.is_relative_to(place):
                    raise CannotRun(f"{where}: path {name} leads out of the volume")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                file.chmod(own or mode)
        return place

    def _files(self, where: str, source: Obj) -> dict[str, tuple[bytes, int]]:
        """Name to content and mode (0: the volume's)."""
        if (downward := source.get("downwardAPI")) is not None:
            return {str(item["path"]): (self._downward(item), int(item.get("mode") or 0)) for item in downward["items"]}
        if (ref := both(source, "configMap", "secret")) is None:
            raise CannotRun(f"{where}: this node projects configMap, secret and downwardAPI, not {', '.join(source)}")
        resource, named = ref
        data = data_of(self._pod, resource, named, self._store)
        if data is None or not named.get("items"):
            return {key: (value, 0) for key, value in (data or {}).items()}
        found = {}
        for item in named["items"]:
            if item["key"] in data:
                found[str(item["path"])] = (data[item["key"]], int(item.get("mode") or 0))
            elif not named.get("optional"):
                raise NotYet(f"references non-existent {_KEYS[resource.key]} key: {item['key']}")
        return found

    def _downward(self, item: Obj) -> bytes:
        if ref := item.get("resourceFieldRef"):
            return resource_of(self._pod, ref, self._container, self._capacity).encode()
        path = str((item.get("fieldRef") or {}).get("fieldPath"))
        if path in ("metadata.labels", "metadata.annotations"):
            pairs = self._pod["metadata"].get(path.partition(".")[2]) or {}
            return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items())).encode()
        return field_of(self._pod, path).encode()


_KEYS = {CONFIGMAPS.key: "config", SECRETS.key: "secret"}
