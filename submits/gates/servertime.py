"""The API server's clock between two of its answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class ServerTime:
    """What the server's clock said when CLOCK_BOOTTIME stood at `boot` seconds. Our own wall clock may be set
    meanwhile, and CLOCK_MONOTONIC stands still while the machine is suspended."""

    date: datetime
    boot: float

    def at(self, boot: float) -> datetime:
        return self.date + timedelta(seconds=boot - self.boot)
