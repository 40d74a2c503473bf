"""The node's agent: starts the Pods bound to it, tells their ends, stops those marked for deletion."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..core import Core
from ..managed import Author
from ..objects import Obj, clone, meta, spec_of, status_of
from ..resources import CONFIGMAPS, PODS, SECRETS
from ..selectors import parse
from ..store import Event
from ..workqueue import WorkQueue
from . import leftovers, podstatus
from .logs import PodLogs
from .podspec import CannotRun, Command, NotYet, Place, commands
from .process import Process

log = logging.getLogger(__name__)
NODE = "onebox"
_AUTHOR = Author("kubelet", "Update", "status")
Key = tuple[str, str]


@dataclass
class Run:
    """A Pod whose processes are alive."""

    key: Key
    uid: str
    processes: dict[str, Process] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)
    stopping: bool = False


class Kubelet:
    def __init__(self, core: Core, pods: Path, place: Callable[[Obj, Path], Place]) -> None:
        self.core, self.logs = core, PodLogs(pods)
        self._pods, self._place = pods, place
        self._runs: dict[str, Run] = {}
        self._waiting: dict[Key, None] = {}
        self._closed = False
        self._idle = asyncio.Event()
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        """Pods that were running went down with the last server; those bound but not begun start now."""
        store = self.core.store
        for row in store.select(PODS, None, parse(PODS, "", f"spec.nodeName={NODE},status.phase=Running")):
            pod = row.object
            self._write(pod, podstatus.lost(pod, self.core.clock.stamp()))
            if "deletionTimestamp" in meta(pod):
                self.queue.add((row.namespace, row.name))
        for row in store.select(PODS, None, parse(PODS, "", f"spec.nodeName={NODE},status.phase=Pending")):
            self.queue.add((row.namespace, row.name))
        store.listeners.append(self._heard)

    async def stop(self, grace: float) -> None:
        """Stop every process, by SIGTERM, then SIGKILL; their Pods stay as they were, to be replaced at a start."""
        self._closed = True
        self.queue.close()
        self.core.store.listeners.remove(self._heard)
        for run in self._runs.values():
            for process in run.processes.values():
                process.terminate()
        if not await self._all_ended(grace):
            for run in self._runs.values():
                for process in run.processes.values():
                    process.kill()
            if not await self._all_ended(10):
                log.error("processes did not end: %s", sorted(self._runs))

    async def _all_ended(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while self._runs:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def _heard(self, event: Event) -> None:
        if event.resource is PODS:
            if event.type == "DELETED":
                shutil.rmtree(self._pods / meta(event.object)["uid"], ignore_errors=True)
            else:
                self.queue.add((event.namespace, event.name))
        elif event.resource in (CONFIGMAPS, SECRETS):
            for key in self._waiting:
                self.queue.add(key)

    def _sync(self, key: Key) -> None:
        pod = self.core.store.get(PODS, *key)
        self._waiting.pop(key, None)
        if pod is None or spec_of(pod).get("nodeName") != NODE:
            return
        run = self._runs.get(meta(pod)["uid"])
        if "deletionTimestamp" in meta(pod):
            self._end(pod, run)
        elif run is None and status_of(pod).get("phase") == "Pending":
            self._begin(pod, key)

    def _begin(self, pod: Obj, key: Key) -> None:
        now, uid = self.core.clock.stamp(), meta(pod)["uid"]
        directory = self._pods / uid
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = commands(pod, self.core.store, self._place(pod, directory))
            self._spawn(pod, key, found)
        except NotYet as why:
            self._waiting[key] = None
            self._write(pod, podstatus.waiting(pod, str(why)))
        except (CannotRun, OSError) as why:
            if run := self._runs.get(uid):
                self._stop(run, now=True)
            self._write(pod, podstatus.refused(pod, str(why), now))
        else:
            self._write(pod, podstatus.running(pod, now))

    def _spawn(self, pod: Obj, key: Key, found: list[Command]) -> None:
        run = Run(key, meta(pod)["uid"])
        grace = float(spec_of(pod).get("terminationGracePeriodSeconds", 30))
        for command in found:
            output = self.logs.open(run.uid, command.container)
            try:
                run.processes[command.container] = Process(
                    command, output, grace, lambda process, code: self._exited(run, process, code)
                )
            except OSError:
                self.logs.close(output)
                raise
            self._runs[run.uid] = run

    def _exited(self, run: Run, process: Process, code: int) -> None:
        self.logs.close(process.log)
        del run.processes[process.container]
        run.codes[process.container] = code
        if code > 128:
            # The leash itself may have been killed, and what was below it lives on.
            leftovers.kill_marked(leftovers.POD_MARK, run.uid)
        if run.processes:
            return
        del self._runs[run.uid]
        self._idle.set()
        if self._closed:
            return
        pod = self.core.store.get(PODS, *run.key)
        if pod is None or meta(pod)["uid"] != run.uid:
            return
        if not podstatus.ended(pod):
            pod = self._write(pod, podstatus.finished(pod, run.codes, self.core.clock.stamp()))
        if "deletionTimestamp" in meta(pod):
            self.core.deleter.finish(PODS, pod)

    def _end(self, pod: Obj, run: Run | None) -> None:
        if run is not None:
            self._stop(run, now=int(meta(pod).get("deletionGracePeriodSeconds") or 0) <= 1)
            return
        with self.core.store.transaction():
            if not podstatus.ended(pod):
                codes = {container["name"]: 137 for container in spec_of(pod)["containers"]}
                pod = self._write(pod, podstatus.finished(pod, codes, self.core.clock.stamp()))
            self.core.deleter.finish(PODS, pod)

    def _stop(self, run: Run, *, now: bool) -> None:
        if now or not run.stopping:
            for process in run.processes.values():
                process.kill() if now else process.terminate()
        run.stopping = True

    def _write(self, pod: Obj, status: Obj) -> Obj:
        return self.core.registry.amend(PODS, pod, {**clone(pod), "status": status}, _AUTHOR)
