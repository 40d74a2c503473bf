"""Roles and their bindings."""

from __future__ import annotations

from ..errors import Cause
from ..storage.objects import Obj
from ..storage.resources import RBAC as GROUP
from .base import Kind


class Role(Kind):
    path_name = True
    cluster = False

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        found = []
        for index, rule in enumerate(obj.get("rules") or ()):
            where = f"rules[{index}]"
            paths = rule.get("nonResourceURLs")
            if paths and not self.cluster:
                words = f"Invalid value: {paths}: namespaced rules cannot apply to non-resource URLs"
                found.append(Cause(f"{where}.nonResourceURLs", words))
            elif paths and (rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames")):
                words = f"Invalid value: {paths}: rules cannot apply to both regular resources and non-resource URLs"
                found.append(Cause(f"{where}.nonResourceURLs", words))
            elif not paths:
                for key, what in (("apiGroups", "an api group"), ("resources", "a resource")):
                    if not rule.get(key):
                        words = f"Required value: resource rules must supply at least one {what.split(' ', 1)[1]}"
                        found.append(Cause(f"{where}.{key}", words, "FieldValueRequired"))
        return found


class ClusterRole(Role):
    cluster = True


class Binding(Kind):
    path_name = True

    def default(self, obj: Obj) -> None:
        obj.setdefault("roleRef", {}).setdefault("apiGroup", GROUP)
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group"):
                subject.setdefault("apiGroup", GROUP)
            if subject.get("apiGroup") == "":
                del subject["apiGroup"]

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        found, role = [], obj["roleRef"]
        if old is not None and role != old.get("roleRef"):
            found.append(Cause("roleRef", f"Invalid value: {role}: cannot change roleRef"))
        kinds = self._kinds(obj)
        if role.get("kind") not in kinds:
            listed = ", ".join(f'"{kind}"' for kind in kinds)
            words = f'Unsupported value: "{role.get("kind", "")}": supported values: {listed}'
            found.append(Cause("roleRef.kind", words, "FieldValueNotSupported"))
        for index, subject in enumerate(obj.get("subjects") or ()):
            kind, where = subject.get("kind"), f"subjects[{index}]"
            if kind not in ("User", "Group", "ServiceAccount"):
                words = f'Unsupported value: "{kind}": supported values: "Group", "ServiceAccount", "User"'
                found.append(Cause(f"{where}.kind", words, "FieldValueNotSupported"))
            elif kind == "ServiceAccount" and not subject.get("namespace") and "ClusterRole" in kinds[:1]:
                found.append(Cause(f"{where}.namespace", "Required value", "FieldValueRequired"))
        return found

    def _kinds(self, obj: Obj) -> tuple[str, ...]:
        return ("Role", "ClusterRole") if "namespace" in obj["metadata"] else ("ClusterRole",)
