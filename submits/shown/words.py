"""Numbers and times as people say them."""

from __future__ import annotations

from datetime import datetime, timedelta

CONTROLS = dict.fromkeys((*range(9), *range(14, 32), *range(127, 160)))
ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number % 100 in (11, 12, 13) else ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def seconds_between(start: datetime, end: datetime) -> int:
    return max(0, int((end - start) / timedelta(seconds=1)))


def duration(seconds: int) -> str:
    """`42 s`, `4:12`, `1:04:12`, `2 d 3 h`: the same forms the page's clock ticks in."""
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ago(seconds: int) -> str:
    """How long something is past, coarsely: `just now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 d ago`."""
    if seconds < 5:
        return "just now"
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def count(number: int, one: str, many: str = "") -> str:
    """`1 query`, `1,204 queries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def moment(text: str | None) -> datetime | None:
    """A time of a snapshot (ISO 8601 with zone); None for what is not one."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def plain(text: str) -> str:
    """Without control characters, which no database column and no page wants; white space stays."""
    return text.translate(CONTROLS)


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
