"""My searches: one dense row each, with filters that live in the address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import QueryDict

from submits.models import Submission
from submits.shown import telling
from submits.shown.look import Look, Viewer, digest, positions
from submits.shown.pieces import Context, Piece
from submits.shown.telling import Told
from submits.shown.words import plain
from submits.states import ENDED, Status

A_PAGE = 50
SHOWN = {"live": "going on", "completed": "done", "failed": "failed", "cancelled": "cancelled"}


@dataclass(frozen=True)
class Filters:
    """What of the address is understood; anything else in it is ignored."""

    show: str = ""
    text: str = ""
    everyone: bool = False
    page: int = 1

    @classmethod
    def of(cls, query: QueryDict) -> Filters:
        show = query.get("show", "")
        page = query.get("page", "1")
        return cls(
            show if show in SHOWN else "",
            plain(query.get("q", "")).strip()[:100],
            query.get("everyone") == "yes",
            int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 6 else 1,
        )

    def given(self) -> dict[str, str]:
        values = {"show": self.show, "q": self.text, "everyone": "yes" if self.everyone else ""}
        values["page"] = str(self.page) if self.page > 1 else ""
        return {name: value for name, value in values.items() if value}

    def address(self, **changed: str) -> str:
        """This address with something else in it, from its first page."""
        kept = {name: value for name, value in {**self.given(), "page": "", **changed}.items() if value}
        return f"?{urlencode(kept)}" if kept else "?"


@dataclass(frozen=True)
class Row:
    submission: Submission
    told: Told
    position: int | None


def rows(viewer: Viewer, filters: Filters) -> QuerySet[Submission]:
    found = Submission.objects.select_related("database", "owner")
    if not (viewer.operator and filters.everyone):
        found = found.filter(owner_id=viewer.pk)
    if filters.show == "live":
        found = found.exclude(status__in=ENDED)
    elif filters.show:
        found = found.filter(status=filters.show)
    if filters.text:
        found = found.filter(
            Q(title__icontains=filters.text) | Q(database__title__icontains=filters.text) | Q(key=filters.text)
        )
    return found


def row(submission: Submission, look: Look, places: dict[str, int], now: datetime) -> Row:
    position = places.get(submission.key) if submission.status == Status.WAITING else None
    return Row(submission, telling.tell(submission, look.view, position, now), position)


def pieces(viewer: Viewer, look: Look, filters: Filters) -> list[Piece]:
    page: Page[Submission] = Paginator(rows(viewer, filters), A_PAGE).get_page(filters.page)
    found = list(page)
    moving = any(not submission.ended for submission in found)
    facts = [f"{submission.pk}.{submission.version}" for submission in found]
    mark = digest((*facts, page.paginator.count, look.version if moving else "", filters))
    audience = f"{viewer.pk} {filters}"

    def context() -> Context:
        places = positions(look.view)
        return {
            "rows": [row(submission, look, places, look.now) for submission in found],
            "page": page,
            "filters": filters,
            "viewer": viewer,
            "look": look,
        }

    return [Piece("rows", "_rows.html", mark, audience, context)]
