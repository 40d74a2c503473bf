"""One admission: one try, by one submitter, to lead one search through both gates.

The guarantee. The ceiling holds whatever the clocks do: every attempt writes its reservation before it counts, so of
all attempts past the count the one whose LIST came last has seen every other. And never do two submits run at once,
because a holder that cannot renew has its submit killed (40 s) before anybody may take the gate over (65 s).

The limit. A machine that is frozen as a whole, submit and leash together, between a renewal and the kill for longer
than the fast TTL, and then goes on, submits beside the next holder; the ceiling holds even then. An older door that
does not announce can exceed the ceiling by what it starts, and an operator who deletes the Lease lets two submits
overlap for at most 10 s.

No thread: between any two requests, and while the submit runs, the admission renews the gate itself when a heartbeat
is due. It tells its caller each step through `report`, which may fail without stopping or repeating anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from submits.gates import naming
from submits.gates.census import Census
from submits.gates.hold import Busy, Hold, Lost, until_definite
from submits.gates.objects import Controls, reservation_body
from submits.gates.ports import (
    KILLED,
    AlreadyExists,
    Clock,
    Cluster,
    ClusterError,
    Forbidden,
    Invalid,
    NamespaceMissing,
    Rules,
    Submit,
)
from submits.gates.verdicts import Back, Outcome, Report, Run, Verdict
from submits.states import Phase, Reason

T = TypeVar("T")
log = logging.getLogger(__name__)
NOT_STARTED = 126  # the shell's exit status for a command that cannot be run
COUNT_TRIES = 3
GONE_TRIES = 60  # looks, half a second apart, until deleted Jobs are gone


def admit(run: Run, cluster: Cluster, clock: Clock, submit: Submit, rules: Rules, report: Report) -> Verdict:
    """Try once. Never raises ClusterError; costs one request while a live holder has the gate.

    S3   PUT the gate, or POST it            busy: SHUT
    S4   a heartbeat from here on            lost: the submit is killed; S9 if S8 began, else the reservation goes, SHUT
    S5   POST the reservation                quota or policy: S10, S11
    S6   look the id up; LIST; count         my finalizer: S9. Full: the reservation goes, S11, SHUT
    S7   patch the gate                      the proof just before what cannot be undone. Too late: back of the line
    S8   run the submit                      leashed, capped
    S9   reap it, then look the id up        finalizer: submitted. Nothing: the reservation goes, one try is spent
    S10  DELETE the ticket                   before the release, so that the next in line can act at once
    S11  patch the gate: test me, replace ""
    """
    return _Admission(run, cluster, clock, submit, rules, report).run()


class _Admission:
    def __init__(self, run: Run, cluster: Cluster, clock: Clock, submit: Submit, rules: Rules, report: Report) -> None:
        self.what, self.cluster, self.clock, self.submit, self.rules = run, cluster, clock, submit, rules
        self._report = report
        self.census = Census(cluster, self.asking, rules, run.run_id)
        self.hold = Hold(cluster, clock, rules, run.party, run.run_id, submit.leashed)
        self.reserved: tuple[str, str] | None = None  # name and uid of the reservation while it stands
        self.exit_code: int | None = None
        self.detail = ""
        self.phase = Phase.IN_LINE  # the last one reported
        self.unsettled = False  # what the submit left could not be looked up: the gate is not ours to give back
        self.began = False  # S8: from here on only S9 may end the try
        self.lost = False  # the gate went to another after S8 began

    def run(self) -> Verdict:
        try:
            self.hold.take()  # S3, and S4 from here on
        except Busy as busy:
            return self.verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT, str(busy))
        except ClusterError as error:
            if self.hold.asked is not None:
                self.hold.release()  # the write may have arrived
            outcome, reason = road_of(error)
            outcome = Outcome.UNKNOWN if outcome is Outcome.BACK else outcome  # its ticket stands
            return self.verdict(outcome, reason, str(error))
        self.report(Phase.GATE_TAKEN, token=self.hold.token, holder=self.hold.holder)
        try:
            verdict = self.inside()
        except BaseException:
            # We are being ended. Before S8 nothing of ours can write any more, so the gate goes back.
            if not self.began:
                self.hold.release()
            raise
        if not self.unsettled:
            self.hold.release()  # S11
        return verdict

    def inside(self) -> Verdict:
        """S5 to S10, holding the gate."""
        try:
            submitted = self.announce_count_submit()
        except Lost as lost:
            self.unreserve()
            return self.verdict(Outcome.SHUT, Reason.GATE_LOST, str(lost))
        except Back as back:
            if back.outcome is not Outcome.SHUT:
                self.leave_line()
            return self.verdict(back.outcome, back.reason, back.detail)
        except ClusterError as error:
            if self.began:
                # Nobody knows what the submit left, and its requests may be in flight. The reservation keeps its place,
                # the gate stays shut until the takeover, and the next try looks the run up.
                self.unsettled = True
                return self.verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, str(error))
            self.unreserve()
            self.leave_line()
            outcome, reason = road_of(error)
            return self.verdict(outcome, reason, str(error))
        self.leave_line()  # S10
        return submitted

    def announce_count_submit(self) -> Verdict:
        announced = self.announce()  # S5
        if not self.sweep():  # S6: look up ...
            self.count()  # ... then count
            if self.clock.monotonic() - announced > self.rules.times.announce_to_fence:
                self.unreserve()
                raise Back(Outcome.BACK, Reason.GATE_LOST, "the count took too long to be relied on")
            # Nothing may stand between the proof and the start; and the leash refuses to start too long after it.
            self.hold.prove()  # S7
            self.run_submit()  # S8
        return self.settle()  # S9

    # S5 -------------------------------------------------------------------------------------------------------------

    def announce(self) -> float:
        """POST the reservation; the monotonic time when it was sent."""
        body = reservation_body(self.what.run_id, self.hold.holder, self.hold.token, self.rules, self.submit.leashed)
        name = body["metadata"]["name"]
        sent = self.clock.monotonic()
        try:
            made = self.asking(lambda: self.cluster.create("jobs", body)).object
        except AlreadyExists:  # our own, by its token: the answer to the first was lost
            made = self.asking(lambda: self.cluster.get("jobs", name)).object
        except ClusterError as error:
            self.cluster_delete(name, None)  # it may be there all the same, if the answer was lost
            outcome, reason = road_of(error)
            raise Back(outcome, reason, str(error)) from error
        self.reserved = (name, made["metadata"]["uid"])
        self.report(Phase.PLACE_ANNOUNCED)
        return sent

    # S6 -------------------------------------------------------------------------------------------------------------

    def sweep(self) -> bool:
        """Whether the run has a finalizer, ended or not: then it was submitted, by whomever.

        Submit and blast Jobs without one are an earlier attempt's: they are deleted, and waited for until gone.
        """
        if self.census.has_finalizer():
            return True
        for _ in range(GONE_TRIES):
            left = self.census.left_over()
            if not left:
                return left is None
            for job in left:
                self.cluster_delete(job["metadata"]["name"], job["metadata"]["uid"])
            self.clock.wait(self.rules.times.between_looks)
            self.tend()
        words = "Jobs of an earlier attempt do not go away"
        if self.began:  # a try is spent; the reservation keeps the place of what is left
            raise Back(Outcome.NOTHING, Reason.SUBMIT_RETRY, words)
        self.unreserve()
        raise Back(Outcome.BACK, Reason.CAPACITY_COUNT_ERROR, words)

    def count(self) -> None:
        """At or above the ceiling: SHUT."""
        places, controls = self.counted()
        ceiling = controls.ceiling_of(self.rules)
        self.report(Phase.PLACES_COUNTED, active=places, ceiling=ceiling)
        if controls.stop(self.what.party):
            self.unreserve()
            raise Back(Outcome.SHUT, Reason.DRAINED if controls.drained else Reason.PATH_PAUSED)
        if places >= ceiling:
            self.unreserve()
            raise Back(Outcome.SHUT, Reason.WAITING_FOR_CAPACITY, f"{places}/{ceiling}")

    def counted(self) -> tuple[int, Controls]:
        """A count that fails three times denies: an error never admits."""
        failure: ClusterError | None = None
        for attempt in range(COUNT_TRIES):
            self.tend()
            try:
                return self.census.count()
            except (Forbidden, NamespaceMissing):
                raise
            except ClusterError as error:
                failure = error
                if attempt + 1 < COUNT_TRIES:
                    self.clock.wait(self.rules.times.between_looks * (attempt + 1))
        self.unreserve()
        raise Back(Outcome.BACK, Reason.CAPACITY_COUNT_ERROR, str(failure)) from failure

    # S8 -------------------------------------------------------------------------------------------------------------

    def run_submit(self) -> None:
        """Run it to its end. When the gate is lost, or past the cap, it is killed with everything below it first."""
        end = self.clock.monotonic() + self.rules.knobs.exec_timeout
        self.began = True
        try:
            try:
                self.submit.start(self.what.run_id, self.hold.sent)
            except OSError as error:
                self.exit_code, self.detail = NOT_STARTED, f"the submit cannot be started: {error}"
                return
            self.report(Phase.SUBMIT_RUNNING)
            while (code := self.submit.poll(1.0)) is None:
                self.tend()
                if self.lost or self.clock.monotonic() > end:
                    self.submit.kill()
                    code = KILLED
                    break
        except BaseException:
            self.submit.kill()
            raise
        self.exit_code = code

    # S9 -------------------------------------------------------------------------------------------------------------

    def settle(self) -> Verdict:
        """What the cluster shows decides, not what the submit said."""
        self.report(Phase.VERIFYING)
        if self.found_after_quiet():
            self.unreserve()
            return self.verdict(Outcome.SUBMITTED)
        if self.exit_code == 0:
            self.keep_reservation()
            detail = f"{naming.ELB_JOB_ID}={self.what.run_id} is not in namespace {self.cluster.namespace}"
            return self.verdict(Outcome.REFUSED, Reason.MARKER_MISSING, detail)
        late = self.sweep()
        self.unreserve()
        if late:
            return self.verdict(Outcome.SUBMITTED)
        detail = self.detail or f"the submit ended with exit status {self.exit_code}"
        return self.verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, detail)

    def found_after_quiet(self) -> bool:
        """Requests of a submit that failed or was killed may still be in flight: look once they cannot be.

        After a kill that goes for a finalizer too: what the submit was about to take back may still be taken back.
        """
        times = self.rules.times
        if self.exit_code != KILLED:
            if self.census.has_finalizer():
                return True
            if self.exit_code == 0:
                return False
        end = self.clock.monotonic() + (times.quiet_after_kill if self.exit_code == KILLED else times.quiet_after_exit)
        while (left := end - self.clock.monotonic()) > 0:
            self.clock.wait(min(left, times.between_looks))
            self.tend()
        return self.census.has_finalizer()

    def keep_reservation(self) -> None:
        """It stays till its deadline: a search may be running that we cannot see."""
        if self.reserved is None:
            return
        name = self.reserved[0]
        keep = [{"op": "add", "path": "/metadata/annotations/coordui~1keep", "value": "marker_missing"}]
        try:
            self.asking(lambda: self.cluster.patch("jobs", name, keep))
        except ClusterError as error:
            log.warning("reservation %s not marked: %s", name, error)
        self.reserved = None

    # What every step uses -------------------------------------------------------------------------------------------

    def asking(self, read: Callable[[], T]) -> T:
        """A request that may be repeated, renewing the gate in between. Raises ClusterError, and Lost before S8."""
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

    def unreserve(self) -> None:
        if self.reserved is not None:
            name, uid = self.reserved
            self.cluster_delete(name, uid)
            self.reserved = None

    def leave_line(self) -> None:
        try:
            until_definite(
                lambda: self.cluster.delete("leases", naming.ticket(self.what.submission)),
                self.clock,
                self.rules.times.heartbeat,
            )
        except ClusterError as error:
            log.warning("ticket of %s not deleted: %s", self.what.submission, error)

    def cluster_delete(self, name: str, uid: str | None) -> None:
        """Repeated until definite; what stays unknown is left to the Job's deadline."""
        try:
            until_definite(lambda: self.cluster.delete("jobs", name, uid), self.clock, self.rules.times.heartbeat)
        except ClusterError as error:
            log.warning("job %s not deleted: %s", name, error)

    def report(self, phase: Phase, **facts: Any) -> None:
        self.phase = phase
        try:
            self._report(phase, **facts)
        except Exception:  # the caller's database may be down: the submit under way must neither stop nor repeat
            log.exception("step %s of %s was not recorded", phase, self.what.submission)

    def verdict(self, outcome: Outcome, reason: Reason = Reason.NONE, detail: str = "") -> Verdict:
        return Verdict(outcome, reason, detail, self.hold.token, self.hold.holder, self.exit_code)


def road_of(error: ClusterError) -> tuple[Outcome, Reason]:
    """Where an error leads before anything has begun: only a refusal that will be the same tomorrow is final."""
    match error:
        case Forbidden(reason=Reason.QUOTA_FULL):
            return Outcome.BACK, Reason.QUOTA_FULL
        case Forbidden(reason=reason):
            return Outcome.REFUSED, reason
        case NamespaceMissing():
            return Outcome.REFUSED, Reason.NAMESPACE_MISSING
        case Invalid():
            return Outcome.REFUSED, Reason.POLICY_DENIED
        case _:
            return Outcome.BACK, Reason.COORDINATION_UNAVAILABLE
