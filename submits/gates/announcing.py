"""S5 and S6: mark the place first, then look whether the run is there already, then count, then sweep.

Why in this order: of all attempts past the count, the one whose LIST came last has seen every other's reservation.
"""

from __future__ import annotations

from collections.abc import Callable

from submits.gates.attempt import Attempt
from submits.gates.census import Count, Traces
from submits.gates.objects import reservation_body
from submits.gates.ports import AlreadyExists, ClusterError, Forbidden, NamespaceMissing, Object, Throttled
from submits.gates.verdicts import Back, Outcome
from submits.states import Phase, Reason

COUNT_TRIES = 3
GONE_TRIES = 60  # looks, half a second apart, until deleted Jobs are gone


def announce(attempt: Attempt, keep: str = "") -> Object:
    """S5: POST the reservation. Raises ClusterError; what may have arrived of it is `attempt.reserved` even then."""
    hold, cluster, leashed = attempt.hold, attempt.cluster, attempt.submit.leashed
    body = reservation_body(attempt.what.run_id, hold.holder, hold.token, attempt.rules, leashed, keep)
    name = body["metadata"]["name"]
    attempt.reserved, attempt.announced = (name, None), attempt.clock.boot()
    try:
        made = attempt.asking(lambda: cluster.create("jobs", body)).object
    except AlreadyExists:  # our own, by its token: the answer to the first was lost
        made = attempt.asking(lambda: cluster.get("jobs", name)).object
    attempt.reserved = (name, made["metadata"]["uid"])
    attempt.report(Phase.PLACE_ANNOUNCED)
    return made


def was_submitted(attempt: Attempt, then: Callable[[Attempt], None] | None = None) -> bool:
    """S6: whether the run has a finalizer, ended or not. If not, `then` is done: the count.

    Work that an earlier attempt left without a finalizer is swept last, when it is known that nothing of that attempt
    can arrive any more: its finalizer on the way would be one without work.
    """
    traces = attempt.census.traces()
    if traces.finalizer:
        return True
    if then is not None:
        then(attempt)
    return sweep(attempt, traces)


def sweep(attempt: Attempt, traces: Traces) -> bool:
    """Delete a run's submit and blast Jobs and wait until they are gone, unless there is, or appears, a finalizer."""
    for _ in range(GONE_TRIES):
        if traces.finalizer or not traces.work:
            return traces.finalizer
        for job in traces.work:
            attempt.tend()
            attempt.delete_job(job["metadata"]["name"], job["metadata"]["uid"])
        attempt.rest(attempt.rules.times.between_looks)
        traces = attempt.census.traces()
    words = "Jobs of an earlier attempt do not go away"
    if attempt.began:  # a try is spent; the reservation keeps the place of what is left
        raise Back(Outcome.NOTHING, Reason.SUBMIT_RETRY, words)
    attempt.unreserve()
    raise Back(Outcome.BACK, Reason.CAPACITY_COUNT_ERROR, words)


def count(attempt: Attempt) -> None:
    """S6: at or above the ceiling, or stopped by the controls, the reservation goes and the try ends SHUT.

    While an earlier attempt's reservation for the same run stands, what that one's submit has sent may still arrive
    after our look-up: back of the line, until its repair or its owner has looked it up and removed it.
    """
    found = counted(attempt)
    places, controls = found.places, found.controls
    ceiling = controls.ceiling_of(attempt.rules)
    attempt.report(Phase.PLACES_COUNTED, active=places, ceiling=ceiling)
    if found.earlier:
        attempt.unreserve()
        raise Back(Outcome.BACK, Reason.WORKER_LOST, "an earlier attempt of this search is not cleared away yet")
    if controls.stop(attempt.what.party):
        attempt.unreserve()
        raise Back(Outcome.SHUT, Reason.DRAINED if controls.drained else Reason.PATH_PAUSED)
    if places >= ceiling:
        attempt.unreserve()
        raise Back(Outcome.SHUT, Reason.WAITING_FOR_CAPACITY, f"{places}/{ceiling}")


def counted(attempt: Attempt) -> Count:
    """A count that fails three times denies: an error never admits."""
    failure: ClusterError | None = None
    for tried in range(COUNT_TRIES):
        attempt.tend()
        try:
            return attempt.census.count(attempt.reserved[0] if attempt.reserved else "")
        except (Forbidden, NamespaceMissing):
            raise
        except ClusterError as error:
            failure = error
            if tried + 1 < COUNT_TRIES:
                asked = error.retry_after if isinstance(error, Throttled) else 0.0
                attempt.rest(max(asked, attempt.rules.times.between_looks * (tried + 1)))
    attempt.unreserve()
    raise Back(Outcome.BACK, Reason.CAPACITY_COUNT_ERROR, str(failure)) from failure
