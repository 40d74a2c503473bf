"""Times on the wire: whole seconds (metav1.Time) and exactly six digits (metav1.MicroTime), always told in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ..clock import seconds

_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def micro_time(text: str) -> str:
    """The wire form of a MicroTime; ValueError for anything but six digits and a zone."""
    if not _MICRO.fullmatch(text):
        head = _SECONDS.match(text)
        rest, wanted = (text[head.end() :], ".000000") if head else (text, "2006")
        if re.fullmatch(r"\.\d{6}", rest):
            rest, wanted = "", "Z07:00"
        raise ValueError(f'parsing time "{text}" as "{_MICRO_LAYOUT}": cannot parse "{rest}" as "{wanted}"')
    moment = _moment(text)
    return text if text.endswith("Z") else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_time(text: str) -> str:
    """The wire form of a Time; a fraction of a second is accepted and lost."""
    if not _TIME.fullmatch(text):
        head = _SECONDS.match(text)
        rest, wanted = (text[head.end() :], "Z07:00") if head else (text, "2006")
        raise ValueError(f'parsing time "{text}" as "{_LAYOUT}": cannot parse "{rest}" as "{wanted}"')
    moment = _moment(text)
    return text if text.endswith("Z") and "." not in text else seconds(moment)


def moment_of(text: str) -> datetime:
    """What a Time says, with its fraction; ValueError as above."""
    whole_time(text)
    return _moment(text)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f'parsing time "{text}": out of range') from None
