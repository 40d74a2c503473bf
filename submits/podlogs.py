"""What the Pods of a search say, copied into the work store while it can still be had, and what holds them up.

A thread of the gatekeeper's process: a node that is slow to answer holds up neither the line nor the snapshot. It
touches no row; it is told which runs to follow, and looks once more at one that is no longer among them. A look is one
LIST of a run's Pods: they need not be watched.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Sequence

from submits.cluster import ApiCluster
from submits.engine.diagnosis import HeldUp, held_up
from submits.gates import naming
from submits.gates.objects import labels
from submits.gates.ports import ClusterError, NotFound, Object
from submits.models import Cluster, Submission
from submits.scopes import connect, store
from submits.states import Status
from submits.work import Missing, brisk, run_key

log = logging.getLogger(__name__)
EVERY = 5.0  # seconds
FAILURES = 3  # LISTs of a run's Pods in a row that fail before it is not known any more what holds it up
PODS = 12  # of one search; a search has many batches, and one log reads like the next
LINES, SIZE = 500, 65_536  # of one Pod: the latest
FOLLOWED = (Status.SUBMITTING, Status.RUNNING, Status.CANCELLING)
NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
NOTE = "note.txt"  # why there are none


def followed(scope: Cluster) -> set[str]:
    rows = Submission.objects.filter(scope=scope, status__in=FOLLOWED)
    return set(rows.values_list("run_id", flat=True))


def chosen(pods: Iterable[Object]) -> list[Object]:
    """The most telling ones: what starts and merges the batches, then batches that failed, then any."""

    def weight(pod: Object) -> tuple[int, str]:
        failed = phase_of(pod) == "Failed"
        return (0 if labels(pod).get(naming.APP) != "blast" else 1 if failed else 2, pod["metadata"]["name"])

    return sorted((pod for pod in pods if NAME.fullmatch(pod["metadata"]["name"])), key=weight)[:PODS]


def phase_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def copy(cluster: ApiCluster, run_id: str, pods: Iterable[Object], done: set[str]) -> None:
    """The words of a run's Pods. `done`: uids of those that had ended when they were copied. Raises ClusterError."""
    for pod in chosen(pods):
        uid, phase = pod["metadata"]["uid"], phase_of(pod)
        if uid in done or phase in ("", "Pending"):
            continue
        try:
            words = cluster.pod_log(pod["metadata"]["name"], lines=LINES, size=SIZE)
        except NotFound:
            continue
        keep(run_id, f"{pod['metadata']['name']}.txt", words[:SIZE])
        if phase in ("Succeeded", "Failed"):
            done.add(uid)


def keep(run_id: str, name: str, words: bytes) -> None:
    """Written only when it says something new: pages look at when a file has changed."""
    key = run_key(run_id, "logs", name)
    try:
        if store().get(key) == words:
            return
    except Missing:
        if not words:
            return
    store().put(key, words)


class Copier(threading.Thread):
    """`known`, by run: what its Pods are held up by; None when by nothing, or when it could not be seen for too long. A
    run that is not in it has not been looked at yet. Another thread reads it, so it is replaced and never changed."""

    def __init__(self, scope: Cluster) -> None:
        super().__init__(name="podlogs", daemon=True)
        self.scope = scope
        self.runs: frozenset[str] = frozenset()
        self.before: frozenset[str] = frozenset()
        self.done: set[str] = set()
        self.known: dict[str, HeldUp | None] = {}
        self.failures: dict[str, int] = {}  # by run: LISTs in a row that failed
        self.stopping = threading.Event()

    @property
    def held_up(self) -> dict[str, HeldUp]:
        return {run_id: held for run_id, held in self.known.items() if held}

    def follow(self, runs: Iterable[str]) -> None:
        self.runs = frozenset(runs)

    def run(self) -> None:
        while not self.stopping.wait(EVERY):
            try:
                self.look(connect(self.scope))
            except Exception:  # whatever it is, the next look is five seconds away
                log.exception("the Pods' logs cannot be copied")

    @brisk()
    def look(self, cluster: ApiCluster) -> None:
        """First what holds each run up, which needs one LIST a run; then the logs, which may take long, and of which
        one that cannot be stored keeps no other waiting."""
        runs = self.runs
        listed = {run_id: self.listed(cluster, run_id) for run_id in sorted(runs | self.before)}
        self.known = {run_id: held for run_id, held in self.known.items() if run_id in runs}
        self.failures = {run_id: count for run_id, count in self.failures.items() if run_id in runs}
        for run_id, pods in listed.items():
            try:
                self.copy(cluster, run_id, pods)
            except OSError as error:
                log.warning("run=%s: its Pods' logs cannot be kept: %s", run_id, error)
        self.before = runs
        if not runs:
            self.done.clear()

    def listed(self, cluster: ApiCluster, run_id: str) -> Sequence[Object] | ClusterError:
        """The Pods of a run. One LIST that fails tells nothing of them: what was known stands a while."""
        try:
            listing = cluster.list("pods", naming.of_run(run_id))
        except ClusterError as error:
            self.failures[run_id] = self.failures.get(run_id, 0) + 1
            if self.failures[run_id] >= FAILURES:
                self.known = {**self.known, run_id: None}
            return error
        self.failures.pop(run_id, None)
        self.known = {**self.known, run_id: held_up(listing.items, listing.date)}
        return listing.items

    def copy(self, cluster: ApiCluster, run_id: str, pods: Sequence[Object] | ClusterError) -> None:
        """The logs, or why there are none. Raises OSError."""
        try:
            if isinstance(pods, ClusterError):
                raise pods
            copy(cluster, run_id, pods, self.done)
        except ClusterError as error:
            log.warning("run=%s: its Pods' logs cannot be read: %s", run_id, error)
            keep(run_id, NOTE, f"The Pods' logs cannot be read: {error}\n".encode())
        else:
            keep(run_id, NOTE, b"")
