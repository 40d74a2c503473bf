"""The server's clock: every time it writes or sends comes from here, so a test can set it off or bring its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime


def utc() -> datetime:
    return datetime.now(UTC)


class Clock:
    """What `source` says, plus `offset` seconds."""

    def __init__(self, source: Callable[[], datetime] = utc) -> None:
        self.source = source
        self.offset = 0.0

    def now(self) -> datetime:
        return self.source() + timedelta(seconds=self.offset)

    def stamp(self) -> str:
        """metav1.Time: whole seconds."""
        return seconds(self.now())

    def http_date(self) -> str:
        return format_datetime(self.now(), usegmt=True)


def seconds(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)
