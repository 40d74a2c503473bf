"""One look at a scope: the last snapshot, and what may be said of it at this moment."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2s
from threading import Lock

from submits import live, rowclock
from submits.models import Cluster, Submission
from submits.scopes import default_scope
from submits.shown.scene import Known
from submits.shown.words import seconds_between

SHARED = 0.04  # seconds: less than a socket waits after a hint
GATE_WORDS = {"open": "open", "A_busy": "busy", "B_full": "full", "unknown": "unknown"}


@dataclass(frozen=True)
class Viewer:
    """Who looks: decides which searches have names."""

    pk: int
    operator: bool


@dataclass(frozen=True)
class Look:
    scope: Cluster
    view: live.View
    stamped_at: datetime | None
    version: int
    now: datetime

    @classmethod
    def at(cls, scope: Cluster) -> Look:
        return cls(scope, *live.read(scope), rowclock.now())

    @classmethod
    def shared(cls, scope: Cluster) -> Look:
        """One look for all the sockets that a hint wakes. Never older than SHARED, so never older than the hint."""
        with lock:
            at, found = looks.get(scope.pk, (0.0, None))
            if found is None or time.monotonic() - at > SHARED:
                found = cls.at(scope)
                looks[scope.pk] = (time.monotonic(), found)
            return found

    @property
    def gate(self) -> str:
        return live.gate_now(self.view, self.stamped_at, self.now)

    @property
    def word(self) -> str:
        return GATE_WORDS.get(self.gate, self.gate)

    @property
    def stale(self) -> bool:
        return live.is_stale(self.stamped_at, self.now)

    @property
    def age(self) -> int | None:
        return None if self.stamped_at is None else seconds_between(self.stamped_at, self.now)

    @property
    def stamp(self) -> str:
        """When the gatekeeper last looked, in seconds since 1970; "" if it never did."""
        return "" if self.stamped_at is None else f"{self.stamped_at.timestamp():.1f}"

    @property
    def time(self) -> str:
        return f"{self.now.timestamp():.3f}"

    def runs(self) -> set[str]:
        """Every run that stands somewhere in the picture."""
        found = [self.view["lease"]["run_id"], *(p["run_id"] for p in self.view["line"])]
        found += [s["run_id"] for s in self.view["slots"]]
        return {run for run in found if run}

    def known(self, viewer: Viewer) -> dict[str, Known]:
        rows = self.rows()
        return {row.run_id: name(row, viewer) for row in rows if viewer.operator or row.owner_id == viewer.pk}

    def rows(self) -> list[Submission]:
        """Our searches in the picture, read once a version: neither title nor owner of a search ever changes."""
        version, found = pictured.get(self.scope.pk, (-1, []))
        if version != self.version:
            found = list(Submission.objects.filter(run_id__in=self.runs()).select_related("owner"))
            pictured[self.scope.pk] = (self.version, found)
        return found


lock = Lock()
looks: dict[int, tuple[float, Look]] = {}  # by scope: when, on the monotonic clock
pictured: dict[int, tuple[int, list[Submission]]] = {}  # by scope: a version and its searches


def name(row: Submission, viewer: Viewer) -> Known:
    return Known(row.key, row.title, row.owner.get_username(), row.owner_id == viewer.pk)


def home() -> Cluster:
    """The scope that new searches go to and the header speaks of."""
    return default_scope()


def positions(view: live.View) -> dict[str, int]:
    return {place["submission"]: place["position"] for place in view["line"]}


def digest(parts: Iterable[object]) -> str:
    """A short mark of what a piece of a page was made from."""
    return blake2s("\0".join(map(str, parts)).encode(), digest_size=8).hexdigest()
