"""One search: its state with the small picture, its results, its facts, and its story."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from submits.engine.partial import done_batches
from submits.models import Submission
from submits.scopes import store
from submits.shown import picture, receipt, results, scene, telling, waits
from submits.shown.look import Look, Viewer, digest, name, positions
from submits.shown.pieces import Context, Piece
from submits.shown.results import Selection
from submits.shown.telling import Told
from submits.shown.words import clip, duration, seconds_between
from submits.states import Status


def told(row: Submission, look: Look) -> Told:
    usual = waits.usual(row.scope_id) if row.status == Status.WAITING else ""
    return telling.tell(row, look.view, positions(look.view).get(row.key), look.now, usual, began(row))


def began(row: Submission) -> datetime | None:
    """When the admission that is under way began: with the first of the latest events that are all of submitting."""
    if row.status != Status.SUBMITTING:
        return None
    found = None
    for at, status in row.events.order_by("-pk").values_list("at", "status"):
        if status != Status.SUBMITTING:
            break
        found = at
    return found


def tab(row: Submission, look: Look) -> str:
    """The title of the page's tab: the state, then the search."""
    said = telling.tell(row, look.view, positions(look.view).get(row.key), look.now)
    return f"{said.tab} · {clip(row.title, 40)}"


def pieces(row: Submission, viewer: Viewer, look: Look, selection: Selection) -> list[Piece]:
    audience = f"{row.key} {'operator' if viewer.operator else ''} {viewer.pk if row.owner_id == viewer.pk else ''}"
    seen = (row.version,) if row.ended else (row.version, look.version, look.gate, look.stale)
    ended = row.status if row.ended else "live"
    # With the 1st, 2nd, 4th, 8th … batch: whoever reads some results is not disturbed by each that is added.
    some = row.batches_done.bit_length() if row.status == Status.RUNNING else 0

    bare: Context = {"submission": row, "viewer": viewer, "look": look}

    def piece(name: str, mark: str, context: Callable[[], Context]) -> Piece:
        return Piece(name, f"_{name}.html", mark, audience, context, bare=bare)

    return [
        piece("state", digest(seen), lambda: state(row, viewer, look)),
        # Apart from the state, which changes with every batch: a button must stay where it is while it is pressed.
        piece("acts", digest((row.status,)), lambda: {**bare, "partial": row.ended and partial(row)}),
        piece("results", digest((ended, row.pk, selection, some)), lambda: found(row, selection)),
        piece("facts", digest((row.status, row.queries, row.batches)), lambda: facts(row, viewer, look)),
        piece("story", digest((row.version,)), lambda: story(row, look)),
    ]


def state(row: Submission, viewer: Viewer, look: Look) -> Context:
    known = {row.run_id: name(row, viewer)}
    drawn = scene.build(look.view, look.gate, known, marked=row)
    return {
        "submission": row,
        "told": told(row, look),
        "look": look,
        "scene": drawn,
        "drawing": picture.small(drawn),
        "share": 100 * row.batches_done // row.batches if row.status == Status.RUNNING and row.batches else None,
    }


def partial(row: Submission) -> int:
    """How many batches' tables can be taken away of a search that has not come, or never will, to all its results."""
    return len(done_batches(store(), row.run_id)) if row.status in results.SOME else 0


def found(row: Submission, selection: Selection) -> Context:
    summary = results.summary(row)
    shown = results.show(row, summary, selection) if summary else None
    return {"submission": row, "summary": summary, "shown": shown, "partial": partial(row)}


def facts(row: Submission, viewer: Viewer, look: Look) -> Context:
    waited = row.submitted_at and row.ticket_at and duration(seconds_between(row.ticket_at, row.submitted_at))
    told = {"receipt": receipt.read(row), "handed": receipt.handed(row)}
    return {"submission": row, **told, "viewer": viewer, "look": look, "waited": waited}


def story(row: Submission, look: Look) -> Context:
    steps = [
        {
            "event": event,
            "sentence": telling.step(event.status, event.phase, event.reason),
            "code": event.phase if event.status == Status.SUBMITTING else event.reason or event.phase,
        }
        for event in row.events.order_by("pk")  # as they were written: two processes may date them a moment apart
    ]
    return {"submission": row, "steps": steps, "look": look}
