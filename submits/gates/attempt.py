"""What every step of a try uses: the hold, renewed between any two requests; its marker; its report.

No thread: whoever asks, waits or runs the submit comes by here, and the gate is renewed when a heartbeat is due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from submits.gates import naming
from submits.gates.census import Census
from submits.gates.hold import Hold, Lost, until_definite
from submits.gates.ports import ClusterError
from submits.gates.verdicts import Means, Outcome, Run, Superseded, Verdict
from submits.states import Phase, Reason

T = TypeVar("T")
log = logging.getLogger(__name__)


class Attempt:
    """One try by one submitter. `in_line`: it has a ticket (a split's child has none). `hold`: of the Lease, if it is
    not another gate's."""

    def __init__(self, run: Run, means: Means, *, in_line: bool = True, hold: Hold | None = None) -> None:
        self.cluster, self.clock, self.submit, self.rules = means.cluster, means.clock, means.submit, means.rules
        self.what, self._report, self.in_line = run, means.report, in_line
        self.census = Census(self.cluster, self.asking, self.rules, run.run_id)
        self.hold = hold or Hold(
            self.cluster, self.clock, self.rules, run.party, run.run_id, self.submit.leashed, means.unchanged
        )
        self.reserved: tuple[str, str | None] | None = None  # name and, once known, uid of the reservation
        self.announced = 0.0  # CLOCK_BOOTTIME, when the reservation was sent
        self.phase = Phase.IN_LINE  # the last one reported
        self.began = False  # S8: from here on only S9 may end the try
        self.lost = False  # the gate went to another after S8 began
        self.unsettled = False  # what the submit left could not be looked up: the gate is not ours to give back
        self.exit_code: int | None = None
        self.detail = ""

    def asking(self, read: Callable[[], T]) -> T:
        """A request that may be repeated. Raises ClusterError; and before S8 Lost and Superseded."""
        self.tend()
        return until_definite(read, self.clock, self.rules.times.heartbeat, self.tend)

    def tend(self) -> None:
        """Renew the gate when due, and feed the leash. After S8 began a loss is remembered: S9 must be finished."""
        if self.lost:
            return
        before = self.hold.sent
        try:
            self.hold.renew_if_due()
        except Lost:
            if not self.began:
                raise
            self.lost = True
            return
        if self.hold.sent == before:
            return
        if self.began and self.exit_code is None:
            self.submit.feed(self.hold.sent)
        self.report(self.phase)  # a sign of life

    def rest(self, seconds: float) -> None:
        """Wait, tending."""
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            self.clock.wait(min(left, self.rules.times.between_looks))
            self.tend()

    def report(self, phase: Phase, **facts: Any) -> None:
        """Raises Superseded before S8. Whatever else happens there must neither stop nor repeat the submit."""
        self.phase = phase
        try:
            said = self._report(phase, **facts)
        except Exception:  # the caller's database may be down
            log.exception("step %s of %s was not recorded", phase, self.what.submission)
            return
        if said is False and not self.began:
            raise Superseded

    def unreserve(self) -> None:
        """Only while nothing of this attempt can write any more, or when its finalizer is in the cluster."""
        if self.reserved is not None:
            self.delete_job(*self.reserved)
            self.reserved = None

    def delete_job(self, name: str, uid: str | None) -> None:
        """Repeated until definite; what stays unknown is left to the Job's deadline and to repair."""
        try:
            until_definite(lambda: self.cluster.delete("jobs", name, uid), self.clock, self.rules.times.heartbeat)
        except ClusterError as error:
            log.warning("job %s not deleted: %s", name, error)

    def leave_line(self) -> None:
        """S10. By name: nobody but the owner of this claim makes or removes this submission's ticket."""
        if not self.in_line:
            return
        name = naming.ticket(self.what.submission)
        try:
            until_definite(lambda: self.cluster.delete("leases", name), self.clock, self.rules.times.heartbeat)
        except ClusterError as error:
            log.warning("ticket of %s not deleted: %s", self.what.submission, error)

    def verdict(self, outcome: Outcome, reason: Reason = Reason.NONE, detail: str = "") -> Verdict:
        return Verdict(outcome, reason, detail, self.hold.token, self.hold.holder, self.exit_code)
