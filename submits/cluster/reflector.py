"""List + watch + list again: one thread a kind, which fills a queue and decides nothing.

A watch is a hint. It ends after about `RESYNC` seconds, and whatever ends it (time, 410, a broken or half-open socket)
is followed by a fresh LIST, so nothing that a watch failed to say stays unsaid for longer.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from submits.cluster.verbs import ApiCluster, whole
from submits.gates.ports import Change, ClusterError, Expired, Kind, Listing, Object

log = logging.getLogger(__name__)
RESYNC = 30.0  # seconds, ± 20 %
RETRY = (0.2, 1.0, 2.0, 5.0)  # seconds between LISTs that fail


@dataclass(frozen=True)
class Source:
    """What one reflector follows, and what it keeps of each object: its name at least."""

    name: str
    kind: Kind
    labels: str = ""
    fields: str = ""
    kept: Callable[[Object], Object] = whole


@dataclass(frozen=True)
class Heard:
    """One message to the loop: a whole listing, one change, or that the cluster refused or did not answer."""

    source: str
    what: Listing | Change | ClusterError


class Reflector(threading.Thread):
    def __init__(self, source: Source, cluster: ApiCluster, heard: queue.Queue[Heard], resync: float = RESYNC) -> None:
        super().__init__(name=f"watch-{source.name}", daemon=True)
        self.source, self.cluster, self.heard, self.resync = source, cluster, heard, resync
        self.stopping = threading.Event()
        self.known: dict[str, Object] = {}  # by name, as they were told last

    def run(self) -> None:
        failures = 0
        while not self.stopping.is_set():
            try:
                begun = time.monotonic()
                self.list_and_watch()
                failures = 0
                # A server that ends every watch at once must not be listed in a tight loop.
                self.stopping.wait(max(0.0, RETRY[0] - (time.monotonic() - begun)))
            except Exception as error:  # an answer in no shape we know must not end the watch for ever, unseen
                if not isinstance(error, ClusterError):
                    log.exception("watch of %s", self.source.name)
                    error = ClusterError(f"watch of {self.source.name}: {type(error).__name__}: {error}")
                self.tell(error)
                self.stopping.wait(RETRY[min(failures, len(RETRY) - 1)])
                failures += 1

    def list_and_watch(self) -> None:
        source = self.source
        listing = self.cluster.list(source.kind, source.labels, source.fields, self.keep)
        self.known = {item["metadata"]["name"]: item for item in listing.items}
        self.tell(listing)
        seconds = max(1, round(self.resync * random.uniform(0.8, 1.2)))  # noqa: S311  # spreads load, keeps no secret
        try:
            for change in self.cluster.watch(source.kind, listing.version, source.labels, source.fields, seconds):
                self.tell(replace(change, object=self.keep(change.object)))
                if self.stopping.is_set():
                    return
        except Expired:
            log.info("watch of %s: too old a revision, listing again", source.name)

    def keep(self, item: Object) -> Object:
        """What is kept of it; where that was told before, the very same: whoever heard that holds it still."""
        name, kept = item["metadata"]["name"], self.source.kept(item)
        if kept != self.known.get(name):
            self.known[name] = kept
        return self.known[name]

    def tell(self, what: Listing | Change | ClusterError) -> None:
        self.heard.put(Heard(self.source.name, what))

    def stop(self) -> None:
        """Ends at the next change, or when its watch ends by itself; the process need not wait for it."""
        self.stopping.set()
