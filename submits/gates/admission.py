"""One admission: one try, by one submitter, to lead one search through both gates.

The guarantee. The ceiling holds whatever the clocks do, and whoever holds the gate: every attempt writes its
reservation before it counts, and keeps a counted marker until its finalizer is in etcd; so of all attempts past the
count, the one whose LIST came last has seen every other. It needs two things of the markers: none is removed while its
own attempt can still write, and a LIST is one snapshot. And never do two submits run at once, because a holder that
cannot renew has its submit killed (40 s, and the kill) before anybody may take the gate over (65 s).

The limits. A machine that is frozen as a whole, submit and leash together, between a renewal and the kill for longer
than the fast TTL, and then goes on, submits beside the next holder; the ceiling holds even then, unless it was frozen
for longer than 105 s, after which repair has taken its marker for a dead attempt's. An operator who
deletes the Lease lets two submits overlap until the next heartbeat, for at most 10 s. What an older door can still
break: it does not announce, so each of its holds that is taken over while it lives, or that crashes between its blast
Jobs and its finalizer, may put one run over the ceiling; its clock 920 s fast takes a live gate from us; it prepares
shared files before it takes the gate. Whoever submits without any gate voids both, and is shown (`monitor`).

How it reads: `Attempt` is what every step uses, `announcing` is S5 and S6, `settling` is S8 and S9.
"""

from __future__ import annotations

from collections.abc import Callable

from submits.gates.announcing import announce, count, was_submitted
from submits.gates.attempt import Attempt
from submits.gates.hold import Busy, Lost
from submits.gates.ports import ClusterError, Forbidden, Invalid, NamespaceMissing
from submits.gates.settling import run_submit, settle
from submits.gates.verdicts import Back, Means, Outcome, Run, Superseded, Verdict
from submits.states import Phase, Reason


def admit(run: Run, means: Means) -> Verdict:
    """Try once. Never raises ClusterError; costs one request while a live holder has the gate, twelve to go through.

    S3   PUT the gate, or POST it            busy: SHUT
    S4   a heartbeat from here on            lost: the submit is killed; S9 if S8 began, else the reservation goes, SHUT
    S5   POST the reservation                quota or policy: S10, S11
    S6   look the id up; LIST; count; sweep  my finalizer: S9. Full: the reservation goes, S11, SHUT. An earlier
                                             attempt's reservation for the same run: back of the line
    S7   patch the gate                      the proof just before what cannot be undone. Too late: back of the line
    S8   run the submit                      leashed, capped
    S9   reap it, then look the id up        finalizer: submitted. Nothing: the reservation goes, one try is spent
    S10  DELETE the ticket                   before the release, so that the next in line can act at once
    S11  patch the gate: test me, replace ""

    Where the report says that the claim is somebody else's, it ends before S8: the reservation goes, S11, and not S10.
    """
    attempt = Attempt(run, means)

    def inside() -> Verdict:
        announce(attempt)  # S5
        if not was_submitted(attempt, count):  # S6: look up, count, sweep
            prove(attempt)  # S7
            run_submit(attempt)  # S8
        return settle(attempt)  # S9

    return hold_gate(attempt, inside)


def hold_gate(attempt: Attempt, inside: Callable[[], Verdict]) -> Verdict:
    """S3, with S4 from there on; then what is done inside; then S10 and S11."""
    hold = attempt.hold
    try:
        hold.take()  # S3
        verdict = led(attempt, inside)
    except Busy as busy:
        return attempt.verdict(Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT, str(busy))
    except ClusterError as error:  # of S3: `led` lets none out
        if hold.asked is not None:
            hold.release()  # the write may have arrived
        outcome, reason = road_of(error)
        outcome = Outcome.UNKNOWN if outcome is Outcome.BACK else outcome  # its ticket stands
        return attempt.verdict(outcome, reason, str(error))
    except BaseException:
        # We are being ended. Before S8 nothing of ours can write any more, so the place and the gate go back.
        if not attempt.began:
            attempt.unreserve()
            if hold.asked is not None:
                hold.release()
        raise
    if not attempt.unsettled:
        hold.release()  # S11
    return verdict


def led(attempt: Attempt, inside: Callable[[], Verdict]) -> Verdict:
    """S5 to S10, holding the gate, and the roads out of it."""
    try:
        attempt.report(Phase.GATE_TAKEN, token=attempt.hold.token, holder=attempt.hold.holder)
        verdict = inside()
    except Superseded:
        attempt.unreserve()
        return attempt.verdict(Outcome.SUPERSEDED)
    except Lost as lost:
        attempt.unreserve()
        return attempt.verdict(Outcome.SHUT, Reason.GATE_LOST, str(lost))
    except Back as back:
        if back.outcome is not Outcome.SHUT:
            attempt.leave_line()
        return attempt.verdict(back.outcome, back.reason, back.detail)
    except ClusterError as error:
        if attempt.began:
            # Nobody knows what the submit left, and its requests may be in flight. The reservation keeps its place,
            # the gate stays shut until the takeover, and the next try looks the run up.
            attempt.unsettled = True
            return attempt.verdict(Outcome.UNKNOWN, Reason.COORDINATION_UNAVAILABLE, str(error))
        attempt.unreserve()
        attempt.leave_line()
        outcome, reason = road_of(error)
        return attempt.verdict(outcome, reason, str(error))
    attempt.leave_line()  # S10
    return verdict


def prove(attempt: Attempt) -> None:
    """S7: still ours, by a write. Nothing may stand between the proof and the start, and the leash refuses to start
    too long after it. A count that is older than `announce_to_fence` by then is not relied on."""
    attempt.hold.prove()
    if attempt.clock.boot() - attempt.announced > attempt.rules.times.announce_to_fence:
        attempt.unreserve()
        raise Back(Outcome.BACK, Reason.GATE_LOST, "the count took too long to be relied on")


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
