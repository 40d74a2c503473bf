"""How a search ended: written last and once, so that whoever reads it can read everything else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from submits.work import Missing, WorkStore, run_key

FILE = "outcome.json"
DETAIL = 8_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """`message` is a sentence for people, `detail` BLAST's own words (also the warnings of a search that succeeded),
    `reason` one of `states.Reason` when it failed."""

    status: Literal["succeeded", "failed"]
    queries: int
    queries_with_hits: int
    hits: int
    batches: int
    blast: str
    message: str = ""
    detail: str = ""
    reason: str = ""


def has_outcome(store: WorkStore, run_id: str) -> bool:
    """Whether the run has ended, however; also when what it left cannot be read."""
    return store.exists(run_key(run_id, FILE))


def read_outcome(store: WorkStore, run_id: str) -> Outcome | None:
    """The outcome of a run, None as long as there is none. Raises ValueError or TypeError for a damaged file."""
    try:
        return Outcome(**json.loads(store.get(run_key(run_id, FILE))))
    except Missing:
        return None


def write_outcome(store: WorkStore, run_id: str, outcome: Outcome) -> Outcome:
    """Writes the outcome unless there is one: the first stands, and is returned."""
    standing = read_outcome(store, run_id)
    if standing is not None:
        return standing
    store.put(run_key(run_id, FILE), json.dumps(asdict(outcome), ensure_ascii=False).encode("utf-8", "replace"))
    return outcome
