"""Times that tick in the browser and read right without it, numbers, and the ids people copy."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from submits import rowclock
from submits.blast.results import evalue_text
from submits.shown import words

register = template.Library()


@register.filter
def elapsed(since: datetime | str | None) -> str:
    """How long ago it began: `42 s`, `4:12`."""
    start = words.moment(since) if isinstance(since, str) else since
    return words.duration(words.seconds_between(start, rowclock.now())) if start else ""


@register.filter
def exact(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else ""


@register.filter
def clock(at: str | None) -> str:
    """The time of day of a snapshot's time."""
    moment = words.moment(at)
    return f"{moment:%H:%M:%S} UTC" if moment else ""


@register.simple_tag
def ticking(since: datetime | str | None) -> SafeString | str:
    """A duration that grows, with the moment it began on hover."""
    return moment_tag(since, "since", elapsed(since))


@register.simple_tag
def ago(at: datetime | str | None) -> SafeString | str:
    """A moment in the past, relative, with the exact one on hover."""
    start = words.moment(at) if isinstance(at, str) else at
    return moment_tag(at, "ago", words.ago(words.seconds_between(start, rowclock.now())) if start else "")


def moment_tag(at: datetime | str | None, kind: str, text: str) -> SafeString | str:
    start = words.moment(at) if isinstance(at, str) else at
    if start is None:
        return ""
    iso = start.isoformat(timespec="seconds")
    return format_html('<time datetime="{}" title="{}" data-{}="{}">{}</time>', iso, exact(start), kind, iso, text)


@register.filter
def counted(number: int | None, names: str) -> str:
    """`{{ 3|counted:"query,queries" }}` is `3 queries`."""
    one, _, many = names.partition(",")
    return words.count(number or 0, one, many)


@register.filter
def grouped(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


@register.filter
def evalue(number: float | None) -> str:
    return evalue_text(number)


@register.filter
def number(value: float) -> str:
    """A coordinate of a drawing, in any locale."""
    return f"{value:g}"


@register.filter
def ordinal(value: int) -> str:
    return words.ordinal(value)


@register.simple_tag
def address(selection: object, **changed: object) -> str:
    """The address of another part of the same list."""
    made: str = selection.address(**changed)  # type: ignore[attr-defined]
    return made
