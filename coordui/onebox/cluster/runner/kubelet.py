"""The node's agent: starts the Pods bound to it, tells their ends, stops those that have to end.

What a Pod's containers do next is decided by lifecycle.py, how it is told by podstatus.py; here it is done.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..authors import Author
from ..clock import parse as parse_time
from ..core import Core
from ..storage.objects import Obj, clone, meta, spec_of, status_of
from ..storage.resources import CONFIGMAPS, PODS, SECRETS
from ..storage.selectors import parse
from ..storage.store import Event
from ..storage.workqueue import WorkQueue
from . import leftovers, lifecycle, podspec, podstatus, recovery, volumes
from .lifecycle import Container, Ending
from .logs import PodLogs
from .memory import MemoryWatch
from .node import NODE
from .podspec import Place
from .process import Process
from .recorder import Recorder
from .sources import CannotRun, NotYet

log = logging.getLogger(__name__)
_AUTHOR = Author("kubelet", "Update", "status")
_DEADLINE = Ending("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
Key = tuple[str, str]


@dataclass
class Run:
    """A Pod that this node has begun and that is not over."""

    key: Key
    uid: str
    place: Place
    containers: list[Container]
    processes: dict[str, Process] = field(default_factory=dict)
    ending: Ending | None = None
    grace: float = 0.0  # seconds, of the last that was asked for


def _is_passing(why: Exception) -> bool:
    """The machine has none left just now, of processes, files, memory or disk: another try may help."""
    short = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)
    return isinstance(why, OSError) and why.errno in short


class Kubelet:
    def __init__(
        self, core: Core, recorder: Recorder, pods: Path, place: Callable[[Obj, Path], Place], first_delay: float
    ) -> None:
        self.core, self.recorder, self.logs = core, recorder, PodLogs(pods, core.clock.now)
        self._pods, self._place = pods, place
        self._first_delay = first_delay  # seconds until a container is started again for the second time; doubles
        self._memory = MemoryWatch()
        self._runs: dict[str, Run] = {}
        self._waiting: dict[Key, str] = {}  # what those wait for that need something that is not there
        self.patience = 5.0  # seconds after the grace until a leash is not trusted any more
        self._closed = False
        self._idle = asyncio.Event()
        self.queue: WorkQueue[Key] = WorkQueue(self._sync)

    def start(self) -> None:
        """1. Nothing leads into Pods' directories any more, and those of Pods that are gone go too.
        2. Every Pod that had begun is accounted for: as it ended, if that was written down, else as lost.
        3. Those bound but not begun start now.
        """
        store = self.core.store
        for directory in self._pods.iterdir():
            volumes.release(directory)
            if not store.has_uid(directory.name):
                shutil.rmtree(directory, ignore_errors=True)
        for phase in ("Running", "Pending"):
            for row in store.select(PODS, None, parse(PODS, "", f"spec.nodeName={NODE},status.phase={phase}")):
                pod, directory = row.object, self._directory(row.object)
                if recovery.had_begun(pod, directory):
                    self._write(pod, recovery.account(pod, directory, self.core.clock.stamp()))
                self.queue.add((row.namespace, row.name))
        store.listeners.append(self._heard)

    async def stop(self, grace: float) -> None:
        """Stop every process, by SIGTERM, then SIGKILL; their Pods stay as they were, to be replaced at a start."""
        self._closed = True
        self.queue.close()
        self.core.store.listeners.remove(self._heard)
        for seconds, patience in ((grace, grace), (0.0, 10.0)):
            for run in self._runs.values():
                for process in run.processes.values():
                    process.terminate(seconds)
            if await self._all_ended(patience):
                return
        log.error("processes did not end: %s", sorted(self._runs))

    async def _all_ended(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while any(run.processes for run in self._runs.values()):
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def _directory(self, pod: Obj) -> Path:
        return self._pods / str(meta(pod)["uid"])

    def _heard(self, event: Event) -> None:
        if event.resource is PODS:
            if event.type == "DELETED":
                # In a thread: an emptyDir may hold a lot.
                directory = self._directory(event.object)
                asyncio.get_running_loop().run_in_executor(None, shutil.rmtree, directory, True)
            else:
                self.queue.add((event.namespace, event.name))
        elif event.resource in (CONFIGMAPS, SECRETS):
            self._wake_waiting()

    def _wake_waiting(self) -> None:
        for key in self._waiting:
            self.queue.add(key)

    def _sync(self, key: Key) -> None:
        pod = self.core.store.get(PODS, *key)
        self.queue.forget(key)
        if pod is None:
            self._waiting.pop(key, None)
        if pod is None or spec_of(pod).get("nodeName") != NODE:
            return
        run = self._runs.get(meta(pod)["uid"])
        if run is not None:
            if "deletionTimestamp" in meta(pod):
                grace = float(meta(pod).get("deletionGracePeriodSeconds") or 0)
                self._end(pod, run, Ending(), grace if grace > 1 else 0.0)
            elif self._left(pod) <= 0:
                self._end(pod, run, _DEADLINE, self._grace(pod))
            self._advance(pod, run)
        elif "deletionTimestamp" in meta(pod):
            self._finish_deleted(pod)
        elif status_of(pod).get("phase") == "Pending":
            self._begin(pod, key)

    # -- beginning

    def _begin(self, pod: Obj, key: Key) -> None:
        directory = self._directory(pod)
        (directory / "home").mkdir(parents=True, exist_ok=True, mode=0o700)
        place = self._place(pod, directory)
        run = Run(key, meta(pod)["uid"], place, lifecycle.containers_of(spec_of(pod)))
        try:
            podspec.check(pod)
            volumes.prepare(pod, directory, self.core.store, place.capacity)
        except NotYet as why:
            words = f"MountVolume.SetUp failed: {why}"
            self._write(pod, podstatus.told(pod, run.containers, self.core.clock.stamp()))
            if self._waiting.get(key) != words:
                self.recorder.note(PODS, pod, "FailedMount", words, "kubelet", warning=True)
            self._waiting[key] = words
            return
        except (CannotRun, OSError, ValueError) as why:
            if _is_passing(why):
                raise
            self._refuse(pod, run, run.containers, str(why))
        self._waiting.pop(key, None)
        self._runs[run.uid] = run
        self._advance(pod, run)

    def _advance(self, pod: Obj, run: Run) -> None:
        """Do what comes next, and write down how things are."""
        now = asyncio.get_running_loop().time()
        step = lifecycle.step(run.containers, spec_of(pod).get("restartPolicy", "Always"), run.ending, now)
        self._waiting.pop(run.key, None)
        for container in step.start:
            self._launch(pod, run, container)
        for container in step.again:
            self._again(pod, run, container)
        if run.ending is not None and not step.phase:
            step = lifecycle.step(run.containers, "Never", run.ending, now)
        pod = self._write(
            pod, podstatus.told(pod, run.containers, self.core.clock.stamp(), phase=step.phase, ending=run.ending)
        )
        if step.phase:
            self._over(pod, run)
        else:
            self._wake(pod, run)

    def _launch(self, pod: Obj, run: Run, container: Container) -> None:
        if run.ending is not None:
            return
        number = container.restarts + (1 if container.at == "backoff" else 0)
        try:
            process = self._process(pod, run, container, number)
        except NotYet as why:
            if (container.at, container.message) != ("held", str(why)):
                self.recorder.note(PODS, pod, "Failed", f"Error: {why}", "kubelet", warning=True)
            container.hold("CreateContainerConfigError", str(why))
            self._waiting[run.key] = str(why)
        except (CannotRun, OSError, ValueError) as why:
            if _is_passing(why):
                container.end(128, self.core.clock.stamp(), reason="StartError", message=str(why))
                self.queue.add(run.key)  # a failure like any other: the rules say what comes next
                return
            self._refuse(pod, run, [container], str(why))
        else:
            container.restarts = number
            container.begin(self.core.clock.stamp())
            run.processes[container.name] = process
            self.recorder.note(PODS, pod, "Started", f"Started container {container.name}", "kubelet")

    def _process(self, pod: Obj, run: Run, container: Container, number: int) -> Process:
        part = "initContainers" if container.init else "containers"
        spec = next(item for item in spec_of(pod)[part] if item["name"] == container.name)
        command = podspec.command(pod, spec, self.core.store, run.place)
        command.env[leftovers.CONTAINER_MARK] = f"{run.uid}/{container.name}"
        result = recovery.result_file(run.place.directory, container.name, number)
        result.parent.mkdir(exist_ok=True)
        output = self.logs.open(run.uid, container.name, number)
        try:
            process = Process(command, output, result, partial(self._exited, run, container))
        except OSError:
            self.logs.close(output)
            raise
        if command.memory is not None:
            self._memory.add(process.pid, command.memory, process.run_out_of_memory)
        return process

    def _refuse(self, pod: Obj, run: Run, containers: list[Container], why: str) -> None:
        """No second try would help: the Pod ends with that sentence."""
        for container in containers:
            container.end(128, self.core.clock.stamp(), reason="StartError", message=why)
        self.recorder.note(PODS, pod, "Failed", f"Error: {why}", "kubelet", warning=True)
        self._end(pod, run, Ending(podstatus.CANNOT_RUN, why), 0.0)

    def _again(self, pod: Obj, run: Run, container: Container) -> None:
        delay = lifecycle.delay(container.restarts, self._first_delay)
        container.last = podstatus.terminated(container)
        container.at, container.due = "backoff", asyncio.get_running_loop().time() + delay
        if not delay:
            self._launch(pod, run, container)
            return
        name = f"{meta(pod)['name']}_{meta(pod)['namespace']}({run.uid})"
        words = f"back-off {delay:g}s restarting failed container={container.name} pod={name}"
        container.reason, container.message = "CrashLoopBackOff", words
        words = f"Back-off restarting failed container {container.name} in pod {name}"
        self.recorder.note(PODS, pod, "BackOff", words, "kubelet", warning=True)

    # -- ending

    def _exited(self, run: Run, container: Container, process: Process, code: int) -> None:
        self.logs.close(process.log)
        self._memory.forget(process.pid)
        del run.processes[container.name]
        if process.leash_was_killed:
            leftovers.kill_marked(leftovers.CONTAINER_MARK, f"{run.uid}/{container.name}")
        self._idle.set()
        if self._closed:
            return
        if process.out_of_memory:
            container.end(137, self.core.clock.stamp(), reason="OOMKilled")
        else:
            container.end(code, self.core.clock.stamp())
        pod = self.core.store.get(PODS, *run.key)
        if pod is not None and meta(pod)["uid"] == run.uid:
            self._advance(pod, run)
        elif not run.processes:
            del self._runs[run.uid]

    def _end(self, pod: Obj, run: Run, ending: Ending, grace: float) -> None:
        """SIGTERM, and SIGKILL after the grace. Asked again it can only become sooner; the first reason stays."""
        if run.ending is not None and grace >= run.grace:
            return
        if run.ending is None:
            for name in run.processes:
                self.recorder.note(PODS, pod, "Killing", f"Stopping container {name}", "kubelet")
            run.ending = ending
        run.grace = grace
        for name, process in run.processes.items():
            process.terminate(grace)
            asyncio.get_running_loop().call_later(grace + self.patience, self._insist, run, name, process)

    def _insist(self, run: Run, name: str, process: Process) -> None:
        """A leash that was stopped kills nobody, and has to be killed itself."""
        if run.processes.get(name) is process:
            leftovers.kill_marked(leftovers.CONTAINER_MARK, f"{run.uid}/{name}")
            process.kill()

    def _over(self, pod: Obj, run: Run) -> None:
        del self._runs[run.uid]
        volumes.release(run.place.directory)
        self._wake_waiting()
        if "deletionTimestamp" in meta(pod):
            self.core.deleter.finish(PODS, pod)

    def _finish_deleted(self, pod: Obj) -> None:
        """One that runs nothing here."""
        with self.core.store.transaction():
            if not podstatus.ended(pod):
                containers, now = podstatus.read(pod), self.core.clock.stamp()
                pod = self._write(pod, podstatus.told(pod, containers, now, phase="Failed"))
            self.core.deleter.finish(PODS, pod)

    # -- times

    def _grace(self, pod: Obj) -> float:
        return float(spec_of(pod).get("terminationGracePeriodSeconds", 30))

    def _left(self, pod: Obj) -> float:
        """Seconds until the Pod's own deadline."""
        limit, start = spec_of(pod).get("activeDeadlineSeconds"), status_of(pod).get("startTime")
        if limit is None or start is None:
            return float("inf")
        # startTime has whole seconds, cut off: a second more, so that no Pod gets less than its time.
        return float(min(limit, 10**9) + 1 - (self.core.clock.now() - parse_time(start)).total_seconds())

    def _wake(self, pod: Obj, run: Run) -> None:
        """See to it that the Pod is looked at at its deadline, and when a container is due."""
        now = asyncio.get_running_loop().time()
        times = [container.due - now for container in run.containers if container.at == "backoff"]
        if run.ending is None and (nearest := min([*times, self._left(pod)])) != float("inf"):
            self.queue.add_after(run.key, nearest)

    def _write(self, pod: Obj, status: Obj) -> Obj:
        return self.core.registry.amend(PODS, pod, {**clone(pod), "status": status}, _AUTHOR)
