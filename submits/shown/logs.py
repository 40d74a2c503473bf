"""What a search has said so far: the submit's words and those of its Pods, from files alone."""

from __future__ import annotations

from dataclasses import dataclass
from os import SEEK_END

from submits.models import Submission
from submits.scopes import store
from submits.shown.look import Viewer, digest
from submits.shown.pieces import Context, Piece
from submits.shown.words import plain
from submits.work import run_key

SHOWN = 64 * 1024  # bytes, the latest ones
SUBMIT = "submit"


@dataclass(frozen=True)
class Part:
    """One log. `changed` is the file's own time, in nanoseconds."""

    name: str
    key: str
    size: int
    changed: int


def parts(row: Submission) -> list[Part]:
    """The submit's first. One that has said nothing is not there."""
    keys = [run_key(row.run_id, "log.txt"), *store().names(run_key(row.run_id, "logs"))]
    found = []
    for key in keys:
        try:
            stat = store().path(key).stat()
        except FileNotFoundError:
            continue
        name = SUBMIT if key == keys[0] else key.rpartition("/")[2].removesuffix(".txt")
        if stat.st_size:
            found.append(Part(name, key, stat.st_size, stat.st_mtime_ns))
    return found


def part(found: list[Part], name: str) -> Part | None:
    """The one asked for; else the first."""
    return next((one for one in found if one.name == name), found[0] if found else None)


def tail(one: Part, size: int) -> bytes:
    """Its last bytes, from the beginning of a line on."""
    with store().open(one.key) as file:
        end = file.seek(0, SEEK_END)
        file.seek(max(0, end - size))
        text = file.read(size)
    return text if end <= size else text.partition(b"\n")[2] or text


def pieces(row: Submission, viewer: Viewer, name: str) -> list[Piece]:
    found = parts(row)
    shown = part(found, name)

    cut = shown is not None and shown.size > SHOWN

    def context() -> Context:
        text = plain(tail(shown, SHOWN).decode("utf-8", "replace")) if shown else ""
        return {"submission": row, "parts": found, "shown": shown, "text": text, "cut": cut}

    mark = digest((row.ended, shown, *found))
    return [Piece("log", "_log.html", mark, f"{row.key} {viewer.pk}", context)]
