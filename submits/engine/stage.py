"""How far a run is, for the people who wait for it: read from its Jobs. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from submits.engine.jobs import BATCHES
from submits.engine.progress import state_of
from submits.gates import naming
from submits.gates.counting import is_finalizer, is_marker, is_terminal, role
from submits.gates.objects import labels, notes_of
from submits.gates.ports import Object
from submits.states import Phase


@dataclass(frozen=True)
class Stage:
    """`finalizer` is what its Job says: absent, at work, or ended well or badly."""

    phase: Phase
    batches: int
    done: int
    finalizer: Literal["absent", "live", "complete", "failed"]
    message: str = ""  # of the finalizer's Failed condition


def stage_of(jobs: Iterable[Object]) -> Stage:
    """The stage of the run that all these Jobs belong to."""
    own = [job for job in jobs if not is_marker(job) and role(job) != "pin"]
    finalizer = next((job for job in own if is_finalizer(job)), None)
    blast = [job for job in own if labels(job).get(naming.APP) == "blast"]
    done = sum(1 for job in blast if state_of(job)[0] == "done")
    said = notes_of(finalizer).get(BATCHES, "") if finalizer else ""
    batches = int(said) if said.isdecimal() and len(said) < 9 else len(blast)
    phase = Phase.STARTING if not blast else Phase.SEARCHING if done < batches else Phase.MERGING
    if finalizer is None:
        return Stage(phase, batches, done, "absent")
    state, reason, message = state_of(finalizer)
    if state == "failed":
        return Stage(phase, batches, done, "failed", message or reason)
    return Stage(phase, batches, done, "complete" if is_terminal(finalizer) else "live")


def facts_of(stage: Stage) -> dict[str, Any]:
    """What of it a submission's row keeps."""
    return {"batches_done": stage.done} | ({"batches": stage.batches} if stage.batches else {})
