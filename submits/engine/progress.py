"""Where a run's batches stand, told from its Jobs alone: pure, so that every case can be tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from submits.engine.jobs import Names
from submits.states import Reason

State = Literal["done", "failed", "alive"]


@dataclass(frozen=True, slots=True)
class Failed:
    """Why the run cannot succeed any more. `batch` is 0 when it is not a batch's fault; `reason` is a `Reason` then,
    else the Job's own word."""

    batch: int
    reason: str
    sentence: str


@dataclass(slots=True)
class Progress:
    """What has been seen of a run so far. `look` is called with every Job of the run, each time one changes.

    A batch that was once seen done stays done. One that was seen and is gone was taken away: that is a failure, as is
    one that does not exist although the submit Job has ended.
    """

    run_id: str
    batches: int
    done: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)

    def look(self, found: Mapping[str, Mapping[str, Any]], *, patient: bool) -> Failed | None:
        """Takes in all Jobs of the run by name, as they were at one moment. `patient`: a submit Job may still come."""
        names = Names(self.run_id)
        missing = []
        for batch in range(1, self.batches + 1):
            if batch in self.done:
                continue
            job = found.get(names.blast(batch))
            if job is None:
                missing.append(batch)
                continue
            self.seen.add(batch)
            state, reason, message = state_of(job)
            if state == "done":
                self.done.add(batch)
            elif state == "failed":
                return Failed(batch, reason, message)
        return self._absent(missing, found.get(names.submit), patient=patient) if missing else None

    @property
    def complete(self) -> bool:
        return len(self.done) == self.batches

    def _absent(self, missing: list[int], submit: Mapping[str, Any] | None, *, patient: bool) -> Failed | None:
        taken = [batch for batch in missing if batch in self.seen]
        if taken:
            return Failed(0, Reason.BATCH_GONE, f"the Job of batch {taken[0]} was taken away before it was done")
        if submit is None:
            sentence = "its submit Job is not there, so its batches never started"
            return None if patient else Failed(0, Reason.NOT_STARTED, sentence)
        state, reason, message = state_of(submit)
        if state == "failed":
            return Failed(0, Reason.NOT_STARTED, f"its batches could not be started ({message or reason})")
        if state == "done":
            sentence = f"{len(missing)} of {self.batches} batches have no Job although all were started"
            return Failed(0, Reason.BATCH_GONE, sentence)
        return None


def state_of(job: Mapping[str, Any]) -> tuple[State, str, str]:
    """A Job's state with reason and message, by the types of its conditions: their order means nothing."""
    conditions: Iterable[Mapping[str, Any]] = (job.get("status") or {}).get("conditions") or ()
    true = {condition["type"]: condition for condition in conditions if condition.get("status") == "True"}
    if "Failed" in true:
        return "failed", str(true["Failed"].get("reason") or ""), str(true["Failed"].get("message") or "")
    if "Complete" in true:
        return "done", "", ""
    return "alive", "", ""


def retried(job: Mapping[str, Any]) -> bool:
    """True when one of its Pods has failed while the Job itself goes on."""
    return int((job.get("status") or {}).get("failed") or 0) > 0
