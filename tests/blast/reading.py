"""How many of a result's queries somebody reads."""

from __future__ import annotations

from collections.abc import Sequence

from submits.blast.listing import Made
from submits.blast.summary import QuerySummary


class Counting(Made[QuerySummary]):
    """How often an item is asked for."""

    def __init__(self, items: Sequence[QuerySummary]) -> None:
        self.items, self.asked = items, 0

    def __len__(self) -> int:
        return len(self.items)

    def item(self, place: int) -> QuerySummary:
        self.asked += 1
        return self.items[place]
