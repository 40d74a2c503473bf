"""The runner as a whole: its parts put together, started and stopped in order."""

from __future__ import annotations

from pathlib import Path

from ..access.accounts import Accounts
from ..access.credentials import Credentials, write_account
from ..core import Core
from ..storage.objects import Obj, meta
from ..storage.resources import NAMESPACES
from . import leftovers
from .jobs import JobController
from .kubelet import Kubelet
from .node import Size, register
from .podspec import Place
from .recorder import Recorder
from .scheduler import Scheduler

STOP_GRACE = 3.0


class Runner:
    """`first_retry`: seconds until a failed Pod, or for the second time a failed container, is tried again; doubles.
    A real cluster's is 10."""

    def __init__(
        self,
        core: Core,
        state: Path,
        credentials: Credentials,
        accounts: Accounts,
        port: int,
        first_retry: float,
        size: Size,
    ) -> None:
        self.core, self._credentials, self._accounts, self._port = core, credentials, accounts, port
        self._cluster = meta(core.registry.get(NAMESPACES, "", "kube-system"))["uid"]
        self._size, self._capacity = size, size.capacity()
        pods = state.absolute() / "pods"
        pods.mkdir(exist_ok=True, mode=0o700)
        self._recorder = Recorder(core)
        self.kubelet = Kubelet(core, self._recorder, pods, self._place, first_retry)
        self.scheduler = Scheduler(core, self._recorder, self._capacity)
        self.jobs = JobController(core, self._recorder, first_retry)

    async def start(self) -> None:
        """1. Nothing of the last run is left alive. 2. Its Pods are accounted for. 3. New ones start."""
        await leftovers.wait_until_none(leftovers.CLUSTER_MARK, self._cluster)
        self._recorder.start()
        register(self.core, self._size)
        self.kubelet.start()
        self.scheduler.start()
        self.jobs.start()

    async def stop(self) -> None:
        self.jobs.queue.close()
        self.scheduler.queue.close()
        await self.kubelet.stop(STOP_GRACE)

    def _place(self, pod: Obj, directory: Path) -> Place:
        token, account = self._accounts.of_pod(pod), None
        if token is not None:
            account = write_account(directory, meta(pod)["namespace"], token, self._credentials.ca_text)
        marks = {leftovers.CLUSTER_MARK: self._cluster, leftovers.POD_MARK: meta(pod)["uid"]}
        return Place(directory, account, self._port, marks, self._capacity)
