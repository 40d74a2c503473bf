"""The pieces a live page is made of: page, poll and push render the same ones.

Every piece has a mark, made from what it shows. A page says which marks it has and gets only the pieces that differ.
Times tick in the browser, so a mark leaves them out, and one process renders a mark once for all who may see the same.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

log = logging.getLogger(__name__)
Context = dict[str, Any]
KEPT = 512
AWAY = "away"  # the mark of a piece that the work store was to fill and did not: it is made anew at every look


@dataclass(frozen=True)
class Piece:
    """`id` is the element's; `audience` names those who see exactly the same. `context` may ask the work store: then
    `bare` is what is shown, with `away`, while that does not answer."""

    id: str
    template: str
    mark: str
    audience: str
    context: Callable[[], Context]
    fleeting: bool = False  # the same for those who look together, and for nobody a moment later
    bare: Context | None = None

    def __str__(self) -> str:
        """As a page's template writes it: safe HTML."""
        return self.made(lambda: self.render(self.context(), self.mark, oob=False), oob=False)[1]

    def push(self) -> tuple[str, str]:
        """Its mark, and it as HTML to be swapped into an open page, rendered once a mark and audience."""
        kept, key = moments if self.fleeting else memo, (self.id, self.audience, self.mark)
        return self.made(lambda: kept.get(key, lambda: self.render(self.context(), self.mark, oob=True)), oob=True)

    def made(self, make: Callable[[], str], *, oob: bool) -> tuple[str, str]:
        """Without the work store nothing is kept: it is only what is shown meanwhile."""
        try:
            return self.mark, make()
        except OSError as error:
            if self.bare is None:
                raise
            log.warning("the page's %s is left out: %s", self.id, error)
            return AWAY, self.render({**self.bare, "away": True}, AWAY, oob=oob)

    def render(self, context: Context, mark: str, *, oob: bool) -> SafeString:
        return render_to_string(self.template, {**context, "id": self.id, "mark": mark, "oob": oob})


class Memo:
    """The latest renderings of this process, least recently used ones dropped."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.found: OrderedDict[tuple[str, ...], str] = OrderedDict()
        self.lock = Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        with self.lock:
            if key in self.found:
                self.found.move_to_end(key)
                return self.found[key]
        made = make()
        with self.lock:
            self.found[key] = made
            while len(self.found) > self.kept:
                self.found.popitem(last=False)
        return made


memo = Memo(KEPT)
moments = Memo(16)  # apart, so that they push nothing out that lasts


def parse_seen(text: str) -> dict[str, str]:
    """`state:1f,board:2a` as a page sends it. Never raises: what is not understood counts as not seen."""
    pairs = (part.partition(":") for part in text[:4000].split(","))
    return {name: mark for name, _, mark in pairs if mark}


def unseen(pieces: Mapping[str, Piece], seen: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What a page does not have yet, rendered: by piece, its mark and its HTML."""
    pushed = {name: piece.push() for name, piece in pieces.items() if seen.get(name) != piece.mark}
    return {name: made for name, made in pushed.items() if seen.get(name) != made[0]}
