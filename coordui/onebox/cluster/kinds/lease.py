"""Leases: MicroTime is exact, and a PUT may create one."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ..errors import Cause
from ..objects import Obj, spec_of
from .base import Kind, Undecodable, typed

_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def micro_time(text: str) -> str:
    """The wire form (UTC, six digits, Z) of a MicroTime; anything but six digits and a zone is refused."""
    if not _MICRO.fullmatch(text):
        head = _SECONDS.match(text)
        rest, wanted = (text[head.end() :], ".000000") if head else (text, "2006")
        if re.fullmatch(r"\.\d{6}", rest):
            rest, wanted = "", "Z07:00"
        raise Undecodable(f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{rest}" as "{wanted}"')
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Undecodable(f'parsing time "{text}": out of range') from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Lease(Kind):
    top = frozenset({"spec"})
    spec = frozenset(
        {
            "holderIdentity",
            "leaseDurationSeconds",
            "acquireTime",
            "renewTime",
            "leaseTransitions",
            "strategy",
            "preferredHolder",
        }
    )

    def decode(self, obj: Obj) -> None:
        spec = spec_of(obj)
        typed(
            "LeaseSpec.spec",
            spec,
            holderIdentity=str,
            leaseDurationSeconds=int,
            leaseTransitions=int,
            acquireTime=str,
            renewTime=str,
        )
        for name in ("acquireTime", "renewTime"):
            if spec.get(name) is not None:
                spec[name] = micro_time(spec[name])

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
