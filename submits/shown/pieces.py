"""The pieces a live page is made of: page, poll and push render the same ones.

Every piece has a mark, made from what it shows. A page says which marks it has and gets only the pieces that differ.
Times tick in the browser, so a mark leaves them out, and one process renders a mark once for all who may see the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

Context = dict[str, Any]
KEPT = 512


@dataclass(frozen=True)
class Piece:
    """`id` is the element's; `audience` names those who see exactly the same."""

    id: str
    template: str
    mark: str
    audience: str
    context: Callable[[], Context]
    fleeting: bool = False  # the same for those who look together, and for nobody a moment later

    def __str__(self) -> str:
        """As a page's template writes it: safe HTML."""
        return self.render(oob=False)

    def render(self, *, oob: bool) -> SafeString:
        context = {**self.context(), "id": self.id, "mark": self.mark, "oob": oob}
        return render_to_string(self.template, context)

    def push(self) -> str:
        """Rendered to be swapped into an open page, once a mark and audience."""
        kept = moments if self.fleeting else memo
        return kept.get((self.id, self.audience, self.mark), lambda: self.render(oob=True))


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


def unseen(pieces: Mapping[str, Piece], seen: Mapping[str, str]) -> list[Piece]:
    return [piece for name, piece in pieces.items() if seen.get(name) != piece.mark]
