"""Holding a phase open until something has been done in it: what belongs to it is delayed, by the cluster's faults.

What no request belongs to is held otherwise: a row that nobody prepares by workers that stand still, one in line by
the controls, a search by its length.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import yaml

from submits.cluster import Connection, connect
from submits.gates import naming
from submits.states import Phase
from tests.onebox.cluster.fixtures import Client
from tests.world import until

LONG = 2.0  # seconds; half of a leash whose times are scaled to a tenth
# The request that ends the phase.
REQUESTS: dict[Phase, dict[str, Any]] = {
    Phase.PREPARING: {"verb": "create", "resource": "leases", "labels": {naming.KIND: "ticket"}},
    Phase.GATE_TAKEN: {"verb": "create", "resource": "jobs", "labels": {naming.ROLE: "reservation"}},
    Phase.PLACE_ANNOUNCED: {"verb": "list", "path": "/jobs\\?.*labelSelector=elb-job-id"},
    Phase.PLACES_COUNTED: {"verb": "patch", "path": "/leases/elb-blast-submit-"},
    # The second of its two writes does not arrive, and is sent again.
    Phase.SUBMIT_RUNNING: {
        "action": "drop_request",
        "verb": "create",
        "resource": "jobs",
        "labels": {naming.APP: "submit"},
    },
    Phase.VERIFYING: {"verb": "get", "path": "/jobs/elb-finalizer-"},
    Phase.STARTING: {"verb": "create", "resource": "jobs", "labels": {naming.APP: "blast"}},
    # The finalizer learns late that its batches are done.
    Phase.MERGING: {"verb": "watch", "path": "labelSelector=elb-job-id", "seconds": 2 * LONG},
    Phase.STOPPING: {"verb": "delete", "resource": "jobs"},
}
# The same request stands in an earlier phase too: it is delayed from this one on.
FROM = {Phase.VERIFYING: Phase.SUBMIT_RUNNING, Phase.STOPPING: Phase.SEARCHING}


class Faults:
    """The faults of an installation's cluster, which was started with COORDUI_CLUSTER_FAULTS."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def client(self) -> Client:
        known = yaml.safe_load((self.state / "kubeconfig").read_text())["clusters"][0]["cluster"]
        token = (self.state / "cluster" / "token").read_text().strip()
        return Client(known["server"], token, self.state / "cluster" / "ca.crt")

    def put(self, *rules: dict[str, Any]) -> None:
        def taken() -> bool:
            try:
                self.client().call("PUT", "/faults", {"rules": list(rules)}).ok()
            except OSError:  # it is being started again
                return False
            return True

        until(taken, 30)

    def hold(self, phase: Phase) -> None:
        self.put({"action": "delay", "seconds": LONG, **REQUESTS[phase]})

    @contextmanager
    def away(self) -> Iterator[None]:
        """Every connection breaks and nothing is done."""
        self.put({"action": "drop_request"})
        yield
        self.put()


@contextmanager
def drained(state: Path) -> Iterator[None]:
    cluster = connect(Connection(str(state / "kubeconfig"), "default"))
    controls = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": naming.CONTROLS}}
    cluster.create("configmaps", {**controls, "data": {"drained": "true"}})
    yield

    def resumed() -> bool:
        try:
            cluster.delete("configmaps", naming.CONTROLS)
        except Exception:  # whatever a cluster says that is being started again
            return False
        return True

    until(resumed, 30)


@contextmanager
def standing_still(pids: Callable[[], list[int]]) -> Iterator[None]:
    """What has been killed meanwhile stays so."""
    held = pids()
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in held:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue


@contextmanager
def held(phase: Phase, faults: Faults, workers: Callable[[], list[int]]) -> Iterator[None]:
    """Around the press of the button and whatever is done in the phase."""
    other: AbstractContextManager[None] = nullcontext()
    if phase is Phase.RECEIVED:
        other = standing_still(workers)
    elif phase is Phase.IN_LINE:
        other = drained(faults.state)
    elif phase in REQUESTS and phase not in FROM:
        faults.hold(phase)
    with other:
        yield
    faults.put()
