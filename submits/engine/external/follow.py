"""In a Pod: follows a search that `elastic-blast` has submitted to its end, reads its results, writes the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from submits.blast.plan import Plan
from submits.engine.errors import EngineError, Exit
from submits.engine.external import results
from submits.engine.external.results import Ending, Seen, Unreadable
from submits.engine.external.settings import Handed, read_handed
from submits.engine.finalize import give_up
from submits.engine.outcome import Outcome, read_outcome, write_outcome
from submits.engine.prepare import read_plan
from submits.engine.progress import state_of
from submits.gates import naming
from submits.gates.counting import is_finalizer, is_work
from submits.gates.objects import labels
from submits.gates.ports import Cluster, ClusterError, Object
from submits.states import Reason
from submits.work import WorkError, WorkStore

SOON, LATE = 1.0, 15.0  # seconds between two looks, at first and after some minutes
AFTER = 60.0  # seconds in which a marker may still come after the program's finalizer has ended
WHOLE = 600.0  # seconds without another batch, and without anything at work, after which no more results will come
SILENT = 600.0  # seconds without an answer of cluster or either store after which the Job's next try goes on

Wait = Callable[[float], None]
Now = Callable[[], float]


def follow(
    cluster: Cluster,
    store: WorkStore,
    run_id: str,
    attempt: str,
    *,
    wait: Wait = time.sleep,
    now: Now = time.monotonic,
) -> Exit:
    """OK when the search has succeeded and its results are in the work store, UNKNOWN when it has failed; either way
    with its outcome written. OK without one when there is nothing to follow: the try came to nothing.

    1. An outcome that stands decides. A later try is another Pod's to follow.
    2. It waits for the submit to say that it is done. One that was cut off never will, or could not keep that it was.
    3. It waits for the program's own words at the address for results; a success counts once there are results of every
       batch, or none has come for a while. What is there counts before what is not: only without a word is a submit cut
       off (with markers of ours the end of the search), a finalizer missing (there was no search), or its end a word.
    4. Well: the results are read, from the start again if a store does not answer meanwhile, then the outcome is
       written, last. Not well: the outcome with the words, then what is still alive of the run in this cluster is
       deleted.

    Limit: without words, a finalizer that completed is believed if every one of its blast Jobs is there and complete.
    """
    standing = read_outcome(store, run_id)
    if standing is None:
        plan = read_plan(store, run_id)
        standing = Follower(cluster, store, plan, attempt, wait, now).outcome()
        if standing is None:
            return Exit.OK
        standing = write_outcome(store, run_id, standing)
    if standing.status == "succeeded":
        return Exit.OK
    give_up(cluster, run_id)
    return Exit.UNKNOWN


class Follower:
    def __init__(self, cluster: Cluster, store: WorkStore, plan: Plan, attempt: str, wait: Wait, now: Now) -> None:
        self.cluster, self.store, self.plan, self.attempt = cluster, store, plan, attempt
        self.wait, self.now = wait, now
        self.began = now()
        self.silent: float | None = None  # since when there has been no answer
        self.ended: float | None = None  # when the program's finalizer was first seen to have ended
        self.seen, self.grew = Seen(), 0.0  # what was last seen of the results, and when that was more than before

    def outcome(self) -> Outcome | None:
        while True:
            try:
                handed = read_handed(self.store, self.plan.run_id)
                if handed is None or handed.attempt != self.attempt:
                    return None
                jobs = self.cluster.list("jobs", naming.of_run(self.plan.run_id)).items
                ending = self.look(handed, jobs)
                if ending == "gone":
                    return None
                if isinstance(ending, Ending):
                    return self.told(handed, ending)
                self.silent = None
            except (ClusterError, WorkError, OSError) as error:
                self.silent = self.now() if self.silent is None else self.silent
                if self.now() - self.silent > SILENT:
                    raise EngineError(Exit.NOT_READY, f"{self.plan.run_id} cannot be followed: {error}") from error
            self.wait(min(LATE, SOON + (self.now() - self.began) / 20))

    def look(self, handed: Handed, jobs: tuple[Object, ...]) -> Ending | str | None:
        """How it ended; "gone" when there is nothing to follow; None while it goes on. Steps 2 and 3."""
        cut = self.now() - self.began >= handed.cut_off
        if not handed.submitted and not cut:
            return None
        self.notice(results.look(handed, self.plan.run_id))
        if self.seen.ending is not None:
            return self.seen.ending if self.settled(jobs) else None
        if handed.markers == "ours":
            if handed.submitted or self.seen.found:
                return None
            return Ending("failed", "its submit was cut off, so what it had made in the cloud may be left there")
        finalizer = next((job for job in jobs if is_finalizer(job)), None)
        if finalizer is None:
            return "gone" if cut else None
        if state_of(finalizer)[0] == "alive":
            return None
        self.ended = self.now() if self.ended is None else self.ended
        return judge(finalizer, jobs) if self.now() - self.ended > AFTER else None

    def notice(self, seen: Seen) -> None:
        """The queries' batches are taken away when the search has ended: what was once seen of them stays known."""
        if self.seen.ending is None or len(seen.found) > len(self.seen.found):
            self.grew = self.now()
        self.seen = replace(seen, asked=seen.asked | self.seen.asked)

    def settled(self, jobs: tuple[Object, ...]) -> bool:
        """Whether no more results will come: a failure, a whole success, or one that has stopped growing."""
        if any(is_work(job) and state_of(job)[0] == "alive" for job in jobs):
            self.grew = self.now()
        failed = self.seen.ending is not None and self.seen.ending.kind == "failed"
        return failed or self.seen.whole or self.now() - self.grew > WHOLE

    def told(self, handed: Handed, ending: Ending) -> Outcome:
        """Step 4. Raises OSError when a store does not do what it is asked."""
        many, version = len(self.plan.queries), f"by elastic-blast {handed.version}".rstrip()
        if ending.kind == "failed":
            sentence = "The search failed in the cloud."
            return Outcome("failed", many, 0, 0, 0, version, sentence, ending.words, Reason.SEARCH_FAILED)
        try:
            summary, batches = results.collect(self.store, self.plan, handed, self.seen)
        except Unreadable as error:
            return Outcome("failed", many, 0, 0, 0, version, f"Its results are at {handed.results}.", str(error),
                           Reason.RESULTS_ELSEWHERE)  # fmt: skip
        return Outcome("succeeded", many, summary.queries_with_hits, summary.hits, batches, version)


def judge(finalizer: Object, jobs: tuple[Object, ...]) -> Ending:
    """From the Jobs alone. That a finalizer completed says nothing of its batches, and one that is missing was not
    a success: failed ones are removed too. Pure."""
    blast = [state_of(job) for job in jobs if labels(job).get(naming.APP) == "blast"]
    failed = next((f"{reason}: {message}" for state, reason, message in blast if state == "failed"), "")
    state, reason, message = state_of(finalizer)
    if failed or state == "failed":
        return Ending("failed", failed or f"{reason}: {message}")
    if blast and all(state == "done" for state, _, _ in blast):
        return Ending("succeeded")
    return Ending("failed", "its finalizer has ended without a word, and not all of its batches are there to be asked")
