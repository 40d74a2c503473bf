"""Jobs: defaults, selector, and what may change once one exists."""

from __future__ import annotations

from ..errors import Cause
from ..objects import Obj, spec_of
from .base import Kind, Undecodable, typed
from .pod import POD_SPEC, decode_pod_spec, default_pod_spec, pod_spec_problems

_COUNTS = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
# Fields of a real Job that this server does not act on: refused by name, never silently ignored.
_REFUSED = (
    "podFailurePolicy",
    "successPolicy",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "manualSelector",
    "managedBy",
)
_FIXED = ("selector", "template", "completions", "completionMode")


class Job(Kind):
    top = frozenset({"spec", "status"})
    spec = frozenset({*_COUNTS, *_REFUSED, "selector", "template", "suspend", "completionMode", "podReplacementPolicy"})

    def decode(self, obj: Obj) -> None:
        spec = spec_of(obj)
        typed("JobSpec.spec", spec, **dict.fromkeys(_COUNTS, int), suspend=bool, template=dict, selector=dict)
        template = spec.get("template") or {}
        typed("PodTemplateSpec", template, spec=dict, metadata=dict)
        if template.get("spec"):
            decode_pod_spec("PodSpec", template["spec"])

    def unknown(self, obj: Obj) -> list[str]:
        found = super().unknown(obj)
        template = spec_of(obj).get("template") or {}
        if not isinstance(template, dict) or not isinstance(template.get("spec") or {}, dict):
            raise Undecodable("json: cannot unmarshal spec.template into Go struct of type v1.PodTemplateSpec")
        return found + [f"spec.template.spec.{key}" for key in template.get("spec") or {} if key not in POD_SPEC]

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
        if spec["completionMode"] != "NonIndexed":
            mode = spec["completionMode"]
            found.append(Cause("spec.completionMode", f'Unsupported value: "{mode}": supported values: "NonIndexed"'))
        if old is None:
            found += self._template_problems(spec["template"]["spec"])
        else:
            found += self._changed(spec, spec_of(old))
        return found

    def _template_problems(self, spec: Obj) -> list[Cause]:
        found = pod_spec_problems(spec, "spec.template.spec")
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
