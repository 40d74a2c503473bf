"""The table of kills: each process at each phase of a search's life, once."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from coordui.layout import Layout
from submits.cluster import Connection, connect
from submits.gates import naming
from submits.states import ENDED, Phase, Status
from tests.onebox.running import Running
from tests.postgres import Server
from tests.story.holding import FROM, Faults, held
from tests.story.installation import command_lines, long_query, parent_of, rows
from tests.story.visitor import Visitor
from tests.world import until

PHASES = (
    Phase.RECEIVED,
    Phase.PREPARING,
    Phase.IN_LINE,
    Phase.GATE_TAKEN,
    Phase.PLACE_ANNOUNCED,
    Phase.PLACES_COUNTED,
    Phase.SUBMIT_RUNNING,
    Phase.VERIFYING,
    Phase.STARTING,
    Phase.SEARCHING,
    Phase.MERGING,
    Phase.STOPPING,
)
# Words of a command line, and whether the process is the first of its kind, a child of it, or its leash.
PROCESSES = {
    "web": ("uvicorn", "main"),
    "worker": ("", "main"),  # which of the two depends on the phase
    "worker's child": ("", "child"),
    "gatekeeper": ("manage.py\0gatekeeper", "main"),
    "store": ("valkey", "main"),
    "cluster": ("coordui.onebox.cluster", "main"),
    "submit": ("coordui-engine\0submit", "main"),
    "leash of the submit": ("coordui-engine\0submit", "leash"),
    "launch": ("coordui-engine\0launch", "main"),
    "batch": ("coordui-engine\0batch", "main"),
    "blast": ("blastp\0", "main"),
    "finalizer": ("coordui-engine\0finalize", "main"),
}
ALWAYS = ("web", "worker", "worker's child", "gatekeeper", "store", "cluster")
DATABASE = "database"
# What lives only while a search is in one of these phases.
SOMETIMES = {
    Phase.SUBMIT_RUNNING: ("submit", "leash of the submit"),
    Phase.STARTING: ("launch", "finalizer"),
    Phase.SEARCHING: ("batch", "blast", "finalizer"),
    Phase.MERGING: ("finalizer",),
}
QUICK, LONGER = long_query(1), long_query()
ENDLESS = long_query(80)  # what is cancelled must not come to its results while a process is started again
ENDS_WITHIN = 90.0


def pairs(phase: Phase) -> list[str]:
    """Which processes are killed in it."""
    return [*ALWAYS, *SOMETIMES.get(phase, ())]


@dataclass
class Site:
    """One installation whose processes are killed one after the other."""

    running: Running
    visitor: Visitor
    state: Path
    postgres: Server | None = None
    database: str = ""
    ended: dict[str, str] = field(default_factory=dict)  # by submission, what it is to end as

    def is_whole(self, key: str, ended: str) -> bool:
        """Whether everything is up again, and the page says what the row says."""
        shown = self.visitor.state_if_up(key) if Layout(self.state).ready.exists() else None
        return bool(shown and shown["status"] == ended)

    def kill(self, process: str, phase: Phase, key: str) -> None:
        if process == DATABASE:
            assert self.postgres is not None
            self.postgres.end(signal.SIGKILL)
            time.sleep(1.0)  # the time it takes somebody to start it again
            self.postgres.start()
            return
        os.kill(until(lambda: self.find(process, phase, key), 30), signal.SIGKILL)

    def find(self, process: str, phase: Phase, key: str) -> int:
        """Its process id; 0 while there is none."""
        words, which = PROCESSES[process]
        words = words or self.worker(phase)
        lines = {pid: line for pid, line in sorted(command_lines(self.running).items()) if words in line}
        leashes = [pid for pid, line in lines.items() if "leash.py" in line]
        if which == "leash":
            return next(iter(leashes), 0)
        others = [pid for pid in lines if pid not in leashes]
        try:
            wanted = [pid for pid in others if (parent_of(pid) in others) == (which == "child")]
        except OSError:
            return 0
        claimant = self.claimant(key) if which == "child" else 0
        return claimant if claimant in wanted else next(iter(wanted), 0)

    def worker(self, phase: Phase) -> str:
        return "worker@" if phase in (Phase.RECEIVED, Phase.PREPARING) else "submitter@"

    def workers(self) -> list[int]:
        lines = command_lines(self.running).items()
        return [pid for pid, line in lines if "worker@" in line and "leash.py" not in line]

    def claimant(self, key: str) -> int:
        said = str(self.row(key, "worker")[0])
        return int(said.rpartition(":")[2] or 0)

    def row(self, key: str, columns: str) -> tuple[object, ...]:
        return rows(self.state, f"select {columns} from submits_submission where key = '{key}'", self.database)[0]

    def stands_at(self, key: str, phase: Phase) -> bool:
        """Whether the search is there; fails when it has gone past."""
        status, at = (str(word) for word in self.row(key, "status, phase"))
        if phase is Phase.STOPPING:
            return status == Status.CANCELLING
        if at == Phase.IN_LINE and status == Status.SUBMITTING:  # claimed, the gate not yet taken
            return False
        place = PHASES.index(Phase(at)) if at in PHASES else len(PHASES)
        assert place <= PHASES.index(phase), f"{phase} was over before anything could be done in it: {status} {at}"
        return at == phase


def kill_at(site: Site, process: str, phase: Phase) -> str:
    """One search, one kill; what it ended as. Raises AssertionError when it does not end, or not as it should."""
    faults = Faults(site.state)
    with held(phase, faults, site.workers):
        query = {Phase.SEARCHING: LONGER, Phase.STOPPING: ENDLESS}.get(phase, QUICK)
        key = site.visitor.search(query, "globins", evalue="1000", max_target_seqs="500", title=f"{process}, {phase}")
        site.ended[key] = Status.CANCELLED if phase is Phase.STOPPING else Status.COMPLETED
        if phase in FROM:
            until(lambda: site.stands_at(key, FROM[phase]), 60)
            faults.hold(phase)
        if phase is Phase.STOPPING:
            site.visitor.cancel(key)
        until(lambda: site.stands_at(key, phase), 60)
        if phase is Phase.SUBMIT_RUNNING:
            # Between its two writes: the finalizer is there, the submit Job is not.
            until(lambda: is_half_made(site.state, key), 30)
        site.kill(process, phase, key)
    ended = until(lambda: has_ended(site, key), ENDS_WITHIN)
    assert ended == site.ended[key], (process, phase, ended, *site.row(key, "reason, detail"))
    until(lambda: site.is_whole(key, ended), 60)
    return ended


def is_half_made(state: Path, key: str) -> bool:
    cluster = connect(Connection(str(state / "kubeconfig"), "default"))
    return bool(cluster.list("jobs", naming.of_run(naming.run_id(key))).items)


def has_ended(site: Site, key: str) -> str:
    status = str(site.row(key, "status")[0])
    return status if Status(status) in ENDED else ""
