"""Older doors, v1, that poll every 5 s: as many as there are searches in line, threads of one process.

python -m tests.bench.gates.older PLAN      (the plan of a door; `at_once` is how many poll)
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time

from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.clock import SystemClock
from submits.gates import naming
from tests.gates.processes.door import Counted, Log, Plan
from tests.gates.trying import body
from tests.gates.v1 import POLL, OlderDoor


def poll(plan: Plan, number: int) -> None:
    """One search after the other, each announced when the one before has been submitted."""
    log, transport = Log(plan.log), Counted(Connection(plan.kubeconfig, plan.namespace))
    cluster = ApiCluster(transport, plan.namespace)
    submitting = connect(Connection(plan.kubeconfig, plan.namespace))
    door = OlderDoor(cluster, SystemClock(), plan.ceiling)

    def submit(run: str) -> None:
        log.say("started", run=run)
        submitting.create("jobs", body("finalizer", run, naming.finalizer(run)))

    time.sleep(random.uniform(0, POLL))
    for turn in range(plan.searches):
        run = naming.run_id(f"{plan.party}-{number}-{turn}")
        log.say("ticket", run=run, order=time.monotonic_ns())
        before = transport.sent
        while not door.try_once(run, submit):
            door.clock.wait(POLL)
        log.say("verdict", run=run, outcome="submitted", requests=transport.sent - before)


if __name__ == "__main__":
    plan = Plan(**json.loads(sys.argv[1]))
    for number in range(plan.at_once):
        threading.Thread(target=poll, args=(plan, number)).start()
