"""The machine's own clocks, as the `Clock` port."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    def wall(self) -> datetime:
        return datetime.now(UTC)

    def boot(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
