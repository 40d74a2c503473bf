"""Which pieces each kind of page has, and who may have them: asked by views, polls and sockets alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import QueryDict

from submits.models import Cluster, Submission
from submits.shown import board, logs, mine, one
from submits.shown.look import Look, Viewer, digest, home
from submits.shown.pieces import Context, Piece
from submits.shown.results import Selection
from submits.shown.words import clip, plain
from submits.states import SubmitsError

Pieces = dict[str, Piece]


class NotYours(SubmitsError):
    """There is no such page for this viewer, whether or not somebody else has it."""


@dataclass(frozen=True)
class Subject:
    """One page as one viewer sees it. `query` is the page's own query string (its filters)."""

    kind: str
    viewer: Viewer
    scope: Cluster
    key: str = ""
    query: str = ""

    @property
    def path(self) -> str:
        return f"/live/{self.kind}/" + (f"{self.key}/" if self.key else "") + (f"?{self.query}" if self.query else "")


def viewer_of(user: AbstractBaseUser | AnonymousUser) -> Viewer:
    return Viewer(user.pk or 0, bool(getattr(user, "is_staff", False)))


def subject(kind: str, viewer: Viewer, key: str = "", query: str = "") -> Subject:
    """Raises NotYours."""
    if kind not in KINDS:
        raise NotYours(f"there is no page {kind}")
    if kind == "search":
        part = Selection.of(QueryDict(query)).address().removeprefix("?")
        return Subject(kind, viewer, find(viewer, key).scope, key, part)
    if kind == "log":
        part = plain(QueryDict(query).get("part", ""))[:100]
        return Subject(kind, viewer, find(viewer, key).scope, key, urlencode({"part": part}) if part else "")
    if kind == "searches":
        return Subject(kind, viewer, home(), query=urlencode(mine.Filters.of(QueryDict(query)).given()))
    return Subject(kind, viewer, home())


def find(viewer: Viewer, key: str) -> Submission:
    """Raises NotYours, for a stranger's search exactly as for one that does not exist."""
    rows = Submission.objects.select_related("scope", "database", "owner")
    if not viewer.operator:
        rows = rows.filter(owner_id=viewer.pk)
    row = rows.filter(key=key).first()
    if row is None:
        raise NotYours(f"there is no search {key}")
    return row


def pieces(asked: Subject, look: Look | None = None) -> Pieces:
    """The page's pieces as of now, the header's word first. Raises NotYours."""
    look = look or Look.at(asked.scope)
    tab, made, ended = KINDS[asked.kind](asked, look)
    path = Subject("word", asked.viewer, asked.scope).path if ended else asked.path
    return {"pulse": pulse(look, tab, path), **{piece.id: piece for piece in made}}


def pulse(look: Look, tab: str, path: str) -> Piece:
    """The gate in one word: proves every few seconds that the page still hears, and says where to ask for more."""
    context: Context = {"look": look, "tab": tab, "poll": path}
    mark = digest((look.stamp, look.gate, look.stale, tab, path))
    # It carries the server's time, so it is the same only for those who share the look.
    return Piece("pulse", "_pulse.html", mark, look.time, lambda: context, fleeting=True)


Made = tuple[str, list[Piece], bool]


def word_pieces(asked: Subject, look: Look) -> Made:
    return "", [], False


def gate_pieces(asked: Subject, look: Look) -> Made:
    return f"gate {look.word}", board.pieces(asked.viewer, look), False


def searches_pieces(asked: Subject, look: Look) -> Made:
    return "", mine.pieces(asked.viewer, look, mine.Filters.of(QueryDict(asked.query))), False


def search_pieces(asked: Subject, look: Look) -> Made:
    row = find(asked.viewer, asked.key)
    selection = Selection.of(QueryDict(asked.query))
    return one.tab(row, look), one.pieces(row, asked.viewer, look, selection), row.ended


def log_pieces(asked: Subject, look: Look) -> Made:
    row = find(asked.viewer, asked.key)
    made = logs.pieces(row, asked.viewer, QueryDict(asked.query).get("part", ""))
    return f"log · {clip(row.title, 40)}", made, row.ended


KINDS: dict[str, Callable[[Subject, Look], Made]] = {
    "word": word_pieces,
    "gate": gate_pieces,
    "searches": searches_pieces,
    "search": search_pieces,
    "log": log_pieces,
}


def frame(asked: Subject) -> dict[str, Any]:
    """What the base template needs of a page."""
    made = pieces(asked)
    said = made["pulse"].context()
    wire = said["poll"].replace("/live/", "/ws/", 1)
    return {"pieces": made, "tab": said["tab"], "wire": wire, "late": said["look"].stale}
