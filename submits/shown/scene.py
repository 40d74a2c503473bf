"""What the one picture shows: a line of searches, door A, the places behind door B, results. Pure.

Other people's searches are "another search" with the way it came in; only the searches in `known` have titles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from submits import live
from submits.models import Submission
from submits.shown.words import count, ordinal
from submits.states import REASONS, Reason, Status

HELD: dict[str, str] = {
    Reason.UNSCHEDULABLE: "waits for room",
    Reason.IMAGE_UNAVAILABLE: "waits for its image",
    Reason.CONTAINER_NOT_MADE: "waits for a container",
    Reason.NO_POD: "waits for a Pod",
    Reason.START_DELAYED: "being started",
    Reason.EVICTED: "run again",
    Reason.NODE_LOST: "run again",
    Reason.POD_RETRIED: "run again",
}
WAYS = {"dashboard": "through the pages", "openapi": "through the API"}


@dataclass(frozen=True)
class Known:
    """A search this viewer may see by name."""

    key: str
    title: str
    owner: str
    mine: bool


@dataclass(frozen=True)
class Figure:
    """One search, as it is drawn somewhere in the picture."""

    label: str  # in the picture
    way: str = ""
    since: str | None = None
    key: str = ""  # of its page, if the viewer may see it
    owner: str = ""
    mine: bool = False
    note: str = ""
    done: float | None = None  # the part that is done, 0 to 1
    title: str = ""
    held: str = ""  # why it does not get on, with the cluster's words


@dataclass(frozen=True)
class Scene:
    gate: str
    line: tuple[Figure, ...]
    door: Figure | None
    free_by: str | None
    places: tuple[Figure | None, ...]
    finished: bool = False  # the marked search has its results

    @property
    def unknown(self) -> bool:
        """What is in it is the last that was seen, and what is not in it need not be free."""
        return self.gate == "unknown"

    @property
    def active(self) -> int:
        return sum(place is not None for place in self.places)


def way_in(party: str) -> str:
    return WAYS.get(party, f"through {party}" if party else "")


def note_of(slot: live.Slot) -> str:
    if slot["merging"]:
        return "merging"
    if slot["what"] == "announced":
        return "place reserved"
    held = HELD.get(slot.get("held_up", ""), "")
    if slot["what"] == "running" and slot["batches"] and not held:
        return f"{slot['batches_done']} of {count(slot['batches'], 'batch', 'batches')}"
    if slot["what"] == "running" and held:
        return held
    return {"running": "running", "guard": "being cleared", "unlabelled": "without a label"}.get(slot["what"], "")


def done_of(slot: live.Slot) -> float | None:
    if slot["what"] != "running" or not slot["batches"]:
        return None
    return 1.0 if slot["merging"] else slot["batches_done"] / slot["batches"]


def held_of(slot: live.Slot) -> str:
    """For who looks after the cluster, whoever the search belongs to."""
    reason = slot.get("held_up", "")
    return " ".join(filter(None, (REASONS[Reason(reason)].sentence, slot.get("words", "")))) if reason in HELD else ""


def figure(known: Known | None, party: str, since: str | None, note: str = "", done: float | None = None) -> Figure:
    if known is None:
        return Figure("another search", way_in(party), since, note=note, done=done)
    label = "your search" if known.mine else known.title
    return Figure(label, way_in(party), since, known.key, known.owner, known.mine, note, done, known.title)


def build(view: live.View, gate: str, known: Mapping[str, Known], marked: Submission | None = None) -> Scene:
    """`known` by run id. With `marked`, that one search alone counts as the viewer's own: the small picture."""
    names = dict(known)
    if marked is not None:
        names = {run: Known(k.key, k.title, k.owner, run == marked.run_id) for run, k in names.items()}
    lease = view["lease"]
    held = bool(lease["holder"] and lease["since"])
    at_door = figure(names.get(lease["run_id"] or ""), lease["source"], lease["since"]) if held else None
    places = [
        replace(
            figure(names.get(slot["run_id"] or ""), slot["party"], slot["since"], note_of(slot), done_of(slot)),
            held=held_of(slot),
        )
        for slot in view["slots"]
    ]
    free = [None] * max(0, view["ceiling"] - len(places))
    line = tuple(figure(names.get(place["run_id"]), place["party"], place["since"]) for place in view["line"])
    if at_door is not None and lease["run_id"]:  # whoever is at the door still has its ticket; it is drawn once
        line = tuple(f for f, p in zip(line, view["line"], strict=True) if p["run_id"] != lease["run_id"])
    finished = marked is not None and marked.status == Status.COMPLETED
    return Scene(gate, line, at_door, lease["free_by"], (*places, *free), finished)


def said(figure: Figure) -> str:
    """A title stands in quotes."""
    return figure.label if figure.mine or not figure.key else f"“{figure.label}”"


def sentence(scene: Scene) -> str:
    """The whole picture in one sentence, for those who hear it."""
    if scene.gate == "unknown":
        return "What the gates are doing is not known at the moment."
    waiting = f"{count(len(scene.line), 'search waits', 'searches wait')} in line" if scene.line else "nobody waits"
    mine = next((n for n, f in enumerate(scene.line, 1) if f.mine), None)
    if mine is not None:
        waiting += f", yours is {ordinal(mine)}"
    door = "door A is free" if scene.door is None else f"at door A {said(scene.door)} is being submitted"
    verb = "is" if scene.active == 1 else "are"
    taken = f"{scene.active} of {count(len(scene.places), 'place')} behind door B {verb} taken"
    own = [f for f in scene.places if f is not None and f.mine]
    if len(own) == 1:
        taken += f", one by {said(own[0])}" + (f" ({own[0].note})" if own[0].note else "")
    elif own:
        taken += f", {len(own)} by searches of yours"
    text = f"{waiting}; {door}; {taken}."
    if scene.finished:
        text = "This search has its results. " + text[0].upper() + text[1:]
    return text[0].upper() + text[1:]
