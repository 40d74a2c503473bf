"""S8 and S9: run the submit, and then let the cluster, not the submit, say what came of it."""

from __future__ import annotations

import logging

from submits.gates import naming
from submits.gates.announcing import sweep
from submits.gates.attempt import Attempt
from submits.gates.ports import IN_DOUBT, KILLED, ClusterError
from submits.gates.verdicts import Outcome, Verdict
from submits.states import Phase, Reason

log = logging.getLogger(__name__)
NOT_STARTED = 126  # the shell's exit status for a command that cannot be run


def run_submit(attempt: Attempt) -> None:
    """S8: to its end. When the gate is lost, or past the cap, it is killed with everything below it first."""
    submit, clock = attempt.submit, attempt.clock
    end = clock.monotonic() + attempt.rules.knobs.exec_timeout
    attempt.began = True
    try:
        try:
            submit.start(attempt.what.run_id, attempt.hold.sent)
        except OSError as error:
            attempt.exit_code, attempt.detail = NOT_STARTED, f"the submit cannot be started: {error}"
            return
        attempt.report(Phase.SUBMIT_RUNNING)
        while (code := submit.poll(1.0)) is None:
            attempt.tend()
            if attempt.lost or clock.monotonic() > end:
                # Whoever has lost the gate may not write for a moment longer.
                submit.kill(0.0 if attempt.lost else attempt.rules.times.grace)
                code = KILLED
                break
    except BaseException:
        submit.kill()
        raise
    attempt.exit_code = code


def settle(attempt: Attempt) -> Verdict:
    """S9. A finalizer: the reservation goes, submitted. Success without one: it stays till its deadline, an alarm.

    Work without a finalizer is deleted and waited for; then, as after nothing at all, the reservation goes and one
    try is spent.
    """
    attempt.report(Phase.VERIFYING)
    if found_after_quiet(attempt):
        attempt.unreserve()
        return attempt.verdict(Outcome.SUBMITTED)
    if attempt.exit_code == 0:
        keep_reservation(attempt)
        detail = f"{naming.ELB_JOB_ID}={attempt.what.run_id} is not in namespace {attempt.cluster.namespace}"
        return attempt.verdict(Outcome.REFUSED, Reason.MARKER_MISSING, detail)
    late = sweep(attempt, attempt.census.traces())
    attempt.unreserve()
    if late:
        return attempt.verdict(Outcome.SUBMITTED)
    detail = attempt.detail or f"the submit ended with exit status {attempt.exit_code}"
    return attempt.verdict(Outcome.NOTHING, Reason.SUBMIT_RETRY, detail)


def found_after_quiet(attempt: Attempt) -> bool:
    """Requests of a submit that failed or was killed may still be in flight: look once they cannot be.

    After a kill that goes for a finalizer too: what the submit was about to take back may still be taken back. And
    after an exit that says so itself.
    """
    times, in_flight = attempt.rules.times, attempt.exit_code in (KILLED, IN_DOUBT)
    if not in_flight:
        if attempt.census.has_finalizer():
            return True
        if attempt.exit_code == 0:
            return False
    attempt.rest(times.quiet_after_kill if in_flight else times.quiet_after_exit)
    return attempt.census.has_finalizer()


def keep_reservation(attempt: Attempt) -> None:
    """A search may be running that we cannot see."""
    if attempt.reserved is None:
        return
    name, _ = attempt.reserved
    keep = [{"op": "add", "path": "/metadata/annotations/coordui~1keep", "value": "marker_missing"}]
    try:
        attempt.asking(lambda: attempt.cluster.patch("jobs", name, keep))
    except ClusterError as error:
        log.warning("reservation %s not marked: %s", name, error)
    attempt.reserved = None
