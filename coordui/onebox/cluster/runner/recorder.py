"""Events that `kubectl describe` shows: what the controllers did and why. Kept for an hour, and at most 10,000."""

from __future__ import annotations

import secrets
from collections import deque
from datetime import datetime, timedelta

from ..authors import Write
from ..clock import parse
from ..core import Core
from ..errors import ApiError
from ..storage.objects import Obj, meta
from ..storage.resources import EVENTS, Resource

_KEPT = timedelta(hours=1)
_MOST = 10_000


class Recorder:
    """Knows its own events by their age, so that none is looked for: those of a server before are found at start."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._known: deque[tuple[datetime, str, str]] = deque()

    def start(self) -> None:
        rows = [(parse(meta(row.object)["creationTimestamp"]), row) for row in self.core.store.select(EVENTS)]
        rows.sort(key=lambda item: item[0])
        self._known.extend((made, row.namespace, row.name) for made, row in rows)

    def note(
        self, resource: Resource, obj: Obj, reason: str, message: str, component: str, *, warning: bool = False
    ) -> None:
        now, about = self.core.clock.stamp(), meta(obj)
        involved = {"kind": resource.kind, "apiVersion": resource.api_version, "name": about["name"]}
        involved |= {key: about[key] for key in ("namespace", "uid", "resourceVersion") if key in about}
        body = {
            "metadata": {"name": f"{about['name'][:200]}.{secrets.token_hex(8)}"},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": "Warning" if warning else "Normal",
        }
        try:
            made = self.core.registry.create(EVENTS, about["namespace"], body, Write(component))
        except ApiError:
            return  # refused, by a quota or because its namespace is going: it is only told
        self._known.append((self.core.clock.now(), about["namespace"], meta(made)["name"]))
        oldest = self.core.clock.now() - _KEPT
        while self._known[0][0] < oldest or len(self._known) > _MOST:
            _, namespace, name = self._known.popleft()
            if event := self.core.store.get(EVENTS, namespace, name):
                self.core.store.remove(EVENTS, event)
