"""Events that `kubectl describe` shows: what the controllers did and why. Kept for an hour."""

from __future__ import annotations

import secrets
from datetime import timedelta

from ..clock import parse
from ..core import Core
from ..objects import Obj, meta
from ..registry import Write
from ..resources import EVENTS, Resource

_KEPT = timedelta(hours=1)
_SWEEP_EVERY = 200


class Recorder:
    def __init__(self, core: Core) -> None:
        self.core = core
        self._since_sweep = 0

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
        self.core.registry.create(EVENTS, about["namespace"], body, Write(component))
        self._since_sweep += 1
        if self._since_sweep >= _SWEEP_EVERY:
            self._sweep()

    def _sweep(self) -> None:
        self._since_sweep = 0
        oldest = self.core.clock.now() - _KEPT
        for row in self.core.store.select(EVENTS):
            event = row.object
            if parse(meta(event)["creationTimestamp"]) < oldest:
                self.core.store.remove(EVENTS, event)
