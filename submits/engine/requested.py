"""The formats that were asked for of a search's results, and where each stands: files of the run.

formats/KEY.asked is what was asked for, KEY.ENDING the file, KEY.failed why there is none, KEY.seen what its Job does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

from submits.blast.formats import Chosen
from submits.work import Missing, WorkStore, run_key

State = Literal["absent", "asked", "made", "failed"]
WORDS = 2_000


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a format stands. Times in seconds since the epoch, `size` in bytes; `words` say why it failed, or what its
    Job did at `seen_at`."""

    state: State
    asked_at: float = 0.0
    size: int = 0
    words: str = ""
    seen_at: float = 0.0


def key(run_id: str, name: str) -> str:
    return run_key(run_id, "formats", name)


def ask(store: WorkStore, run_id: str, chosen: Chosen) -> None:
    """Keeps what is asked for. Asked for twice it is one; after a failure it is another try."""
    if standing(store, run_id, chosen).state in ("absent", "failed"):
        request = {**asdict(chosen), "attempt": attempt(store, run_id, chosen.key) + 1}
        store.put(key(run_id, f"{chosen.key}.asked"), json.dumps(request).encode())
        store.path(key(run_id, f"{chosen.key}.failed")).unlink(missing_ok=True)


def asked(store: WorkStore, run_id: str, name: str) -> Chosen:
    """What was asked for under a key; raises Missing."""
    read = json.loads(store.get(key(run_id, f"{name}.asked")))
    return Chosen(str(read["name"]), tuple(str(column) for column in read["columns"]))


def attempt(store: WorkStore, run_id: str, name: str) -> int:
    """Which try this is, from 1; 0 before the first. Each has a Job of its own."""
    try:
        return int(json.loads(store.get(key(run_id, f"{name}.asked")))["attempt"])
    except Missing:
        return 0


def every(store: WorkStore, run_id: str) -> list[Chosen]:
    """All that were ever asked for."""
    names = (name.rpartition("/")[2] for name in store.names(key(run_id, "")[:-1]))
    return [asked(store, run_id, name[:-6]) for name in names if name.endswith(".asked")]


def standing(store: WorkStore, run_id: str, chosen: Chosen) -> Standing:
    file = store.path(key(run_id, chosen.file))
    if file.is_file():
        return Standing("made", size=file.stat().st_size)
    try:
        return Standing("failed", words=store.get(key(run_id, f"{chosen.key}.failed")).decode("utf-8", "replace"))
    except Missing:
        request, seen = (store.path(key(run_id, f"{chosen.key}.{end}")) for end in ("asked", "seen"))
        if not request.is_file():
            return Standing("absent")
        if not seen.is_file():
            return Standing("asked", request.stat().st_mtime)
        return Standing("asked", request.stat().st_mtime, 0, seen.read_text("utf-8"), seen.stat().st_mtime)


def fail(store: WorkStore, run_id: str, name: str, words: str) -> None:
    store.put(key(run_id, f"{name}.failed"), words[-WORDS:].encode("utf-8", "replace"))
