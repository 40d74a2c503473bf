"""Leases."""

from __future__ import annotations

from ..errors import Cause
from ..storage.objects import Obj, spec_of
from .base import Kind


class Lease(Kind):
    def problems(self, obj: Obj, old: Obj | None) -> list[Cause]:
        spec, found = spec_of(obj), []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            found.append(Cause("spec.leaseDurationSeconds", f"Invalid value: {duration}: must be greater than 0"))
        if transitions is not None and transitions < 0:
            found.append(
                Cause("spec.leaseTransitions", f"Invalid value: {transitions}: must be greater than or equal to 0")
            )
        return found
