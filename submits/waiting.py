"""What a waiting row says it waits for: told once it has lasted, so that not everybody in line hears of each moment;
and whether its time has come, or is over."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from submits import rowclock
from submits.live import say
from submits.models import Submission
from submits.states import Phase, Reason, Status

STEADY = 1.0  # seconds a reason must last before a row says it
DOOR_STEADY = 5.0  # between the two below: door A opens and shuts many times a minute, and each row would say so
MOVING = {Reason.WAITING_IN_LINE, Reason.WAITING_FOR_SUBMIT_SLOT}  # what a line that moves goes to and fro between


class Waits:
    """The reasons of one line's rows, and since when each has been another than its row says. `now`: seconds of the
    caller's own clock."""

    def __init__(self) -> None:
        self.pending: dict[int, tuple[Reason, float]] = {}

    def settle(self, row: Submission, reason: Reason, detail: str, now: float) -> None:
        if row.reason == reason:
            self.pending.pop(row.pk, None)
            if row.detail != detail and reason in (Reason.WAITING_IN_LINE, Reason.DRAINED):
                tell(row, reason, detail)
            return
        kept, since = self.pending.get(row.pk, (reason, now))
        # A row that says neither of the two is wrong all the while they alternate.
        same = kept == reason or ({kept, reason} <= MOVING and row.reason not in MOVING)
        since = since if same else now
        self.pending[row.pk] = (reason, since)
        steady = DOOR_STEADY if {reason, row.reason} <= MOVING else STEADY
        if now - since >= steady or row.reason == Reason.COORDINATION_UNAVAILABLE:
            self.pending.pop(row.pk)
            tell(row, reason, detail)

    def keep(self, waiting: Iterable[Submission]) -> None:
        """Forget all others."""
        asleep = {row.pk for row in waiting}
        self.pending = {pk: kept for pk, kept in self.pending.items() if pk in asleep}


def tell(row: Submission, reason: Reason, detail: str) -> None:
    Submission.objects.move(row, Status.WAITING, phase=Phase.IN_LINE, reason=reason, detail=detail)
    say(row)


def tell_unknown(row: Submission, words: str) -> None:
    """The cluster is silent; said once."""
    if row.reason != Reason.COORDINATION_UNAVAILABLE:
        tell(row, Reason.COORDINATION_UNAVAILABLE, words)


def is_due(row: Submission, at: datetime | None = None) -> bool:
    """Whether it may be tried again by now."""
    return row.next_try_at is None or row.next_try_at <= (at or rowclock.now())


def is_past(row: Submission, date: datetime) -> bool:
    """Whether its wait has lasted as long as a wait may at all, by the API server's clock."""
    return row.until is not None and row.until <= date
