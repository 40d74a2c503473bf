"""The formats that were asked for of a search's results, and where each stands: files of the run.

formats/KEY.asked is what was asked for, KEY.ENDING the file, KEY.failed why there is none, KEY.seen what its Job does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from submits.blast.formats import Chosen
from submits.work import Info, Missing, WorkStore, run_key

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
        store.delete(key(run_id, f"{chosen.key}.failed"))


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
    names = (name.rpartition("/")[2] for name in store.names(run_key(run_id, "formats")))
    return [asked(store, run_id, name[:-6]) for name in names if name.endswith(".asked")]


def there(store: WorkStore, run_id: str) -> dict[str, Info]:
    """All files of formats, by key: for who asks where many stand."""
    return {info.key: info for info in store.listing(run_key(run_id, "formats"))}


def standing(store: WorkStore, run_id: str, chosen: Chosen, known: Mapping[str, Info] | None = None) -> Standing:
    """`known` is what `there` has just found."""
    known = there(store, run_id) if known is None else known
    made, failed, request, seen = (
        known.get(key(run_id, name))
        for name in (chosen.file, *(f"{chosen.key}.{end}" for end in ("failed", "asked", "seen")))
    )
    if made:
        return Standing("made", size=made.size)
    if failed:
        return Standing("failed", words=store.get(failed.key).decode("utf-8", "replace"))
    if not request:
        return Standing("absent")
    if not seen:
        return Standing("asked", request.changed)
    return Standing("asked", request.changed, 0, store.get(seen.key).decode("utf-8", "replace"), seen.changed)


def fail(store: WorkStore, run_id: str, name: str, words: str) -> None:
    store.put(key(run_id, f"{name}.failed"), words[-WORDS:].encode("utf-8", "replace"))
