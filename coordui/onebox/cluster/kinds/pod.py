"""Pods: defaults and the rules that hold for a Pod and for a Job's template alike."""

from __future__ import annotations

from ..errors import Cause
from ..storage.objects import Obj, name_problem, spec_of
from .base import Kind
from .quantities import quantity


def default_pod_spec(spec: Obj) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        tagged = ":" in str(container.get("image", "")).rpartition("/")[2]
        container.setdefault("imagePullPolicy", "IfNotPresent" if tagged else "Always")


def pod_spec_problems(spec: Obj, path: str) -> list[Cause]:
    found = []
    if not spec.get("containers"):
        found.append(Cause(f"{path}.containers", "Required value", "FieldValueRequired"))
    names: set[str] = set()
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or ()):
            found += _container_problems(container, f"{path}.{part}[{index}]", names)
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        found += _name_problems(volume.get("name", ""), f"{path}.volumes[{index}].name", volumes)
        found += _host_path_problems(volume.get("hostPath"), f"{path}.volumes[{index}].hostPath")
        found += _mode_problems(volume, f"{path}.volumes[{index}]")
    for part in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(part) or ()):
            for at, mount in enumerate(container.get("volumeMounts") or ()):
                found += _mount_problems(mount, f"{path}.{part}[{index}].volumeMounts[{at}]", volumes)
    grace = spec.get("terminationGracePeriodSeconds", 0)
    if grace < 0:
        words = f"Invalid value: {grace}: must be greater than or equal to 0"
        found.append(Cause(f"{path}.terminationGracePeriodSeconds", words))
    deadline = spec.get("activeDeadlineSeconds", 1)
    if not 1 <= deadline < 2**31:
        words = f"Invalid value: {deadline}: must be between 1 and 2147483647, inclusive"
        found.append(Cause(f"{path}.activeDeadlineSeconds", words))
    return found


def _host_path_problems(source: Obj | None, path: str) -> list[Cause]:
    if source is None or source.get("type", "") in _HOST_PATH_TYPES:
        return []
    words = ", ".join(f'"{kind}"' for kind in _HOST_PATH_TYPES)
    why = f'Unsupported value: "{source["type"]}": supported values: {words}'
    return [Cause(f"{path}.type", why, "FieldValueNotSupported")]


def _mount_problems(mount: Obj, path: str, volumes: set[str]) -> list[Cause]:
    found = []
    if (name := mount.get("name", "")) not in volumes:
        found.append(Cause(f"{path}.name", f'Not found: "{name}"', "FieldValueNotFound"))
    for key in ("mountPath", "subPath"):
        if any(ord(mark) < 32 or ord(mark) == 127 for mark in mount.get(key) or ""):
            found.append(Cause(f"{path}.{key}", f"Invalid value: {mount[key]!a}: must not have control characters"))
    return found


def _mode_problems(volume: Obj, path: str) -> list[Cause]:
    """Of files that are made from ConfigMaps, Secrets and fields."""
    sources = [(key, volume[key]) for key in ("configMap", "secret", "downwardAPI", "projected") if volume.get(key)]
    found = [(f"{path}.{key}.defaultMode", source.get("defaultMode")) for key, source in sources]
    for index, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
        sources += [(f"projected.sources[{index}].{key}", source) for key, source in part.items() if source]
    for key, source in sources:
        items = source.get("items") or ()
        found += [(f"{path}.{key}.items[{at}].mode", item.get("mode")) for at, item in enumerate(items)]
    words = "must be a number between 0 and 0777 (octal), both inclusive"
    return [
        Cause(where, f"Invalid value: {mode}: {words}")
        for where, mode in found
        if mode is not None and not 0 <= mode <= 0o777
    ]


def _name_problems(name: str, path: str, seen: set[str]) -> list[Cause]:
    """A name that is missing altogether is told by the schema."""
    if not name:
        return []
    if name in seen:
        return [Cause(path, f'Duplicate value: "{name}"', "FieldValueDuplicate")]
    seen.add(name)
    if problem := name_problem(name, label=True):
        return [Cause(path, f'Invalid value: "{name}": {problem}')]
    return []


def _container_problems(container: Obj, path: str, names: set[str]) -> list[Cause]:
    found = _name_problems(container.get("name", ""), f"{path}.name", names)
    if not container.get("image"):
        found.append(Cause(f"{path}.image", "Required value", "FieldValueRequired"))
    resources = container.get("resources") or {}
    limits, amounts = resources.get("limits") or {}, {}
    for part in ("limits", "requests"):
        for name, text in (resources.get(part) or {}).items():
            where = f"{path}.resources.{part}[{name}]"
            try:
                amounts[part, name] = amount = quantity(text)
            except ValueError as why:
                found.append(Cause(where, f'Invalid value: "{text}": {why}'))
                continue
            if amount < 0:
                found.append(Cause(where, f'Invalid value: "{text}": must be greater than or equal to 0'))
            elif part == "requests" and amount > amounts.get(("limits", name), amount):
                words = f'Invalid value: "{text}": must be less than or equal to {name} limit of {limits[name]}'
                found.append(Cause(f"{path}.resources.requests", words))
    return found


class Pod(Kind):
    def default(self, obj: Obj) -> None:
        spec = obj["spec"]
        default_pod_spec(spec)
        spec.setdefault("serviceAccountName", "default")
        for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
            resources = container.get("resources") or {}
            if limits := resources.get("limits"):
                resources["requests"] = {**limits, **resources.get("requests", {})}

    def created(self, obj: Obj) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": _quality(obj["spec"])}

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        if old is None:
            return pod_spec_problems(spec_of(obj), "spec")
        return [] if _fixed(spec_of(obj)) == _fixed(spec_of(old)) else [Cause("spec", _PINNED, "FieldValueForbidden")]


_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_PINNED = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _quality(spec: Obj) -> str:
    """Guaranteed: every container has limits of both, and asks for just that. BestEffort: none has anything."""
    every = [container.get("resources") or {} for container in spec.get("containers", ())]
    every += [container.get("resources") or {} for container in spec.get("initContainers", ())]
    if not any(resources.get("limits") or resources.get("requests") for resources in every):
        return "BestEffort"
    for resources in every:
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        if not {"cpu", "memory"} <= set(limits) or any(requests.get(name) != limits[name] for name in limits):
            return "Burstable"
    return "Guaranteed"


def _fixed(spec: Obj) -> Obj:
    rest = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    rest["containers"] = [
        {key: value for key, value in container.items() if key not in ("image", "imagePullPolicy")}
        for container in spec.get("containers") or ()
    ]
    return rest
