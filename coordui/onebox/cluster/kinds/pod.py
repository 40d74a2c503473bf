"""Pods: defaults and the rules that hold for a Pod and for a Job's template alike."""

from __future__ import annotations

from ..errors import Cause
from ..objects import Obj, spec_of
from .base import Kind, typed

POD_SPEC = frozenset(
    {
        "activeDeadlineSeconds",
        "affinity",
        "automountServiceAccountToken",
        "containers",
        "dnsConfig",
        "dnsPolicy",
        "enableServiceLinks",
        "ephemeralContainers",
        "hostAliases",
        "hostIPC",
        "hostNetwork",
        "hostPID",
        "hostUsers",
        "hostname",
        "hostnameOverride",
        "imagePullSecrets",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "os",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "readinessGates",
        "resourceClaims",
        "resources",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
        "workloadRef",
    }
)


def decode_pod_spec(where: str, spec: Obj) -> None:
    typed(where, spec, containers=list, volumes=list, terminationGracePeriodSeconds=int, restartPolicy=str)
    for container in spec.get("containers") or ():
        typed(f"{where}.containers", {"of": container}, of=dict)
        typed("Container", container, name=str, image=str, command=list, args=list, env=list, workingDir=str)
        for word in [*(container.get("command") or ()), *(container.get("args") or ())]:
            typed("Container.command", {"of": word}, of=str)
        for variable in container.get("env") or ():
            typed("EnvVar", variable, name=str, value=str, valueFrom=dict)


def default_pod_spec(spec: Obj) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    for container in spec.get("containers") or ():
        container.setdefault("resources", {})
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        tagged = ":" in str(container.get("image", "")).rpartition("/")[2]
        container.setdefault("imagePullPolicy", "IfNotPresent" if tagged else "Always")


def pod_spec_problems(spec: Obj, path: str) -> list[Cause]:
    found = []
    if not spec.get("containers"):
        found.append(Cause(f"{path}.containers", "Required value", "FieldValueRequired"))
    seen: set[str] = set()
    for index, container in enumerate(spec.get("containers") or ()):
        where, name = f"{path}.containers[{index}]", container.get("name")
        if not name:
            found.append(Cause(f"{where}.name", "Required value", "FieldValueRequired"))
        elif name in seen:
            found.append(Cause(f"{where}.name", f'Duplicate value: "{name}"', "FieldValueDuplicate"))
        if not container.get("image"):
            found.append(Cause(f"{where}.image", "Required value", "FieldValueRequired"))
        seen.add(name or "")
    return found


class Pod(Kind):
    top = frozenset({"spec", "status"})
    spec = POD_SPEC

    def decode(self, obj: Obj) -> None:
        decode_pod_spec("PodSpec", spec_of(obj))

    def default(self, obj: Obj) -> None:
        default_pod_spec(obj["spec"])
        obj["spec"].setdefault("serviceAccountName", "default")

    def created(self, obj: Obj) -> None:
        obj["status"] = {"phase": "Pending", "qosClass": "BestEffort"}

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        if old is None:
            return pod_spec_problems(spec_of(obj), "spec")
        return [] if _fixed(spec_of(obj)) == _fixed(spec_of(old)) else [Cause("spec", _PINNED, "FieldValueForbidden")]


_PINNED = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _fixed(spec: Obj) -> Obj:
    rest = {key: value for key, value in spec.items() if key not in ("activeDeadlineSeconds", "tolerations")}
    rest["containers"] = [
        {key: value for key, value in container.items() if key not in ("image", "imagePullPolicy")}
        for container in spec.get("containers") or ()
    ]
    return rest
