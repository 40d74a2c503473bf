"""What a search has said so far: the submit's words and those of its Pods, from files alone."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from submits.models import Submission
from submits.scopes import store
from submits.shown.look import Viewer, digest
from submits.shown.pieces import AWAY, Context, Piece
from submits.shown.words import plain
from submits.work import Missing, run_key

log = logging.getLogger(__name__)
SHOWN = 64 * 1024  # bytes, the latest ones
SUBMIT = "submit"


@dataclass(frozen=True)
class Part:
    """One log. `mark` is another whenever its content is."""

    name: str
    key: str
    size: int
    mark: str


def parts(row: Submission) -> list[Part]:
    """The submit's first. One that has said nothing is not there. Raises OSError."""
    own = run_key(row.run_id, "log.txt")
    there = store().listing(run_key(row.run_id, "logs"))
    try:
        there.insert(0, store().info(own))
    except Missing:
        pass
    names = {own: SUBMIT}
    return [
        Part(names.get(info.key, info.key.rpartition("/")[2].removesuffix(".txt")), info.key, info.size, info.mark)
        for info in there
        if info.size
    ]


def part(found: list[Part], name: str) -> Part | None:
    """The one asked for; else the first."""
    return next((one for one in found if one.name == name), found[0] if found else None)


def tail(one: Part, size: int) -> bytes:
    """Its last bytes, from the beginning of a line on. Raises OSError."""
    text = store().tail(one.key, size + 1)
    return text if len(text) <= size else text[1:].partition(b"\n")[2] or text[1:]


def pieces(row: Submission, viewer: Viewer, name: str) -> list[Piece]:
    bare: Context = {"submission": row}
    audience = f"{row.key} {viewer.pk}"
    try:
        found = parts(row)
    except OSError as error:
        log.warning("submission=%s: its logs cannot be listed: %s", row.key, error)
        return [Piece("log", "_log.html", AWAY, audience, lambda: {**bare, "away": True})]
    shown = part(found, name)
    cut = shown is not None and shown.size > SHOWN

    def context() -> Context:
        text = plain(tail(shown, SHOWN).decode("utf-8", "replace")) if shown else ""
        return {**bare, "parts": found, "shown": shown, "text": text, "cut": cut}

    mark = digest((row.ended, shown, *found))
    return [Piece("log", "_log.html", mark, audience, context, bare=bare)]
