"""The parts below HTTP, put together once."""

from __future__ import annotations

from pathlib import Path

from .authors import Write
from .clock import Clock
from .storage.objects import Obj
from .storage.resources import NAMESPACES, SERVICE_ACCOUNTS
from .storage.store import Event, Store
from .storage.workqueue import Timers
from .writes.deletion import Deleter
from .writes.garbage import Garbage
from .writes.registry import Registry

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_WRITE = Write("kube-apiserver")


class Core:
    """Has to be made and used in one thread, that of the event loop it runs in.

    `database` may be ":memory:". `timers` stand for the event loop where there is none: see inprocess.py.
    """

    def __init__(
        self, database: Path | str, clock: Clock, *, durable: bool = False, timers: Timers | None = None
    ) -> None:
        self.clock = clock
        self.store = Store(database, durable=durable, now=lambda: clock.now().timestamp())
        self.registry = Registry(self.store, clock)
        self.deleter = Deleter(self.registry)
        self.garbage = Garbage(self.store, self.deleter, timers)
        self.store.listeners.append(self._heard)
        self._bootstrap()
        self.garbage.start()

    def _bootstrap(self) -> None:
        with self.store.transaction():
            for name in _NAMESPACES:
                if self.store.body(NAMESPACES, "", name) is None:
                    self.registry.create(NAMESPACES, "", {"metadata": {"name": name}}, _WRITE)
        for row in self.store.select(NAMESPACES):
            self._add_account(row.name, row.object)

    def _heard(self, event: Event) -> None:
        if event.resource is NAMESPACES and event.type == "ADDED":
            self._add_account(event.name, event.object)

    def _add_account(self, namespace: str, obj: Obj) -> None:
        """Every namespace has its `default` ServiceAccount."""
        missing = self.store.body(SERVICE_ACCOUNTS, namespace, "default") is None
        if missing and "deletionTimestamp" not in obj["metadata"]:
            self.registry.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": "default"}}, _WRITE)

    def close(self) -> None:
        self.garbage.queue.close()
        self.store.close()
