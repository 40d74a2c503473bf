"""Jobs: defaults, selector, and what may change once one exists."""

from __future__ import annotations

from ..errors import Cause
from ..storage.names import label_problems
from ..storage.objects import Obj, spec_of
from . import jobstatus
from .base import Kind
from .pod import default_pod_spec, pod_spec_problems

_COUNTS = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
# Fields of a real Job that this server does not act on: refused by name, never silently ignored.
_REFUSED = (
    "podFailurePolicy",
    "successPolicy",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "manualSelector",
    "managedBy",
    "scheduling",
)
_FIXED = ("selector", "template", "completions", "completionMode", "podReplacementPolicy")
INDEXED_PARALLELISM = 100_000
_SUPPORTED = {"completionMode": ("Indexed", "NonIndexed"), "podReplacementPolicy": ("Failed", "TerminatingOrFailed")}


class Job(Kind):
    def default(self, obj: Obj) -> None:
        spec = obj["spec"]
        if spec.get("parallelism") is None and spec.get("completions") is None:
            spec["completions"] = 1
        for name, value in (("parallelism", 1), ("backoffLimit", 6)):
            if spec.get(name) is None:
                spec[name] = value
        spec.setdefault("suspend", False)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
        template = spec.setdefault("template", {})
        template_spec = template.setdefault("spec", {})
        restart = template_spec.get("restartPolicy")
        default_pod_spec(template_spec)
        if restart is None:
            del template_spec["restartPolicy"]  # a Job has to say it: validation asks for it by name

    def created(self, obj: Obj) -> None:
        meta, spec = obj["metadata"], obj["spec"]
        uid = meta["uid"]
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        labels |= {"controller-uid": uid, "job-name": meta["name"]}
        labels |= {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": meta["name"]}
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}

    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        spec, found = spec_of(obj), []
        for name in _COUNTS:
            if (value := spec.get(name)) is not None and value < 0:
                found.append(Cause(f"spec.{name}", f"Invalid value: {value}: must be greater than or equal to 0"))
        for name in _REFUSED:
            if spec.get(name) is not None:
                found.append(Cause(f"spec.{name}", "Forbidden: this server does not do it", "FieldValueForbidden"))
        for name, supported in _SUPPORTED.items():
            if (value := spec[name]) not in supported:
                words = ", ".join(f'"{choice}"' for choice in supported)
                why = f'Unsupported value: "{value}": supported values: {words}'
                found.append(Cause(f"spec.{name}", why, "FieldValueNotSupported"))
        if spec["completionMode"] == "Indexed":
            if spec.get("completions") is None:
                words = "Required value: when completion mode is Indexed"
                found.append(Cause("spec.completions", words, "FieldValueRequired"))
            if (value := spec["parallelism"]) > INDEXED_PARALLELISM:
                words = f"must be less than or equal to {INDEXED_PARALLELISM} when completion mode is Indexed"
                found.append(Cause("spec.parallelism", f"Invalid value: {value}: {words}"))
        if old is None:
            found += self._template_problems(spec["template"])
        else:
            found += self._changed(spec, spec_of(old))
        return found

    def status_problems(self, obj: Obj, old: Obj) -> list[Cause]:
        return jobstatus.problems(obj, old)

    def _template_problems(self, template: Obj) -> list[Cause]:
        spec = template["spec"]
        labels = (template.get("metadata") or {}).get("labels") or {}
        found = label_problems(labels, "spec.template.labels") + pod_spec_problems(spec, "spec.template.spec")
        path, restart = "spec.template.spec.restartPolicy", spec.get("restartPolicy")
        if restart is None:
            found.append(Cause(path, 'Required value: valid values: "OnFailure", "Never"', "FieldValueRequired"))
        elif restart not in ("Never", "OnFailure"):
            words = f'Unsupported value: "{restart}": supported values: "OnFailure", "Never"'
            found.append(Cause(path, words, "FieldValueNotSupported"))
        return found

    def _changed(self, spec: Obj, old: Obj) -> list[Cause]:
        return [
            Cause(f"spec.{name}", "Invalid value: field is immutable")
            for name in _FIXED
            if spec.get(name) != old.get(name)
        ]
