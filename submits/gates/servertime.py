"""The API server's clock between two of its answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

SECOND = timedelta(seconds=1)  # to which a Date is cut
ON_THE_WAY = timedelta(seconds=1)  # an answer that took longer tells less than it spoils, once


@dataclass(frozen=True)
class ServerTime:
    """What the server's clock said when CLOCK_BOOTTIME stood at `boot` seconds. Our own wall clock may be set
    meanwhile, and CLOCK_MONOTONIC stands still while the machine is suspended."""

    date: datetime
    boot: float

    def at(self, boot: float) -> datetime:
        return self.date + timedelta(seconds=boot - self.boot)

    def heard(self, date: datetime, boot: float) -> ServerTime:
        """What is known after an answer that came at `boot` with this `date`, which is cut to its second.

        What earlier answers imply is kept while it fits: it lies in that second, or beyond it by no more than the
        answer's time on the way. It is nearer to the truth, which would else be up to a second later. A clock that was
        set, to either side, is believed at once.
        """
        known = self.at(boot)
        return self if date <= known < date + SECOND + ON_THE_WAY else ServerTime(date, boot)
