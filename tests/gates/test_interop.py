"""Our door beside older ones, v1, on one cluster over TCP: the same Lease, the same count, and each has its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from submits.cluster.clock import SystemClock
from submits.gates import naming
from submits.gates.ports import Knobs, Rules, Times
from tests.gates.doors import Auditor, OurDoor, Stage
from tests.gates.trying import body
from tests.gates.v1 import Kubectl, OlderDoor, Verbs
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import SCALE, until

ADMISSIONS = {1: 20}.get(SCALE, 200)
FACTOR = 0.1  # of the protocol's times: heartbeats every second, a line goes past after one, takeover after 6.5
YIELD = 0.8
POLL = 0.2  # seconds between an older door's tries: like 5 s beside a yield of 8 s, and then some
KUBECTL_POLL = POLL * ADMISSIONS / 20  # however many they are: a process for each request is much for one machine
RULES = Rules(Knobs(ceiling=2, v1_yield=YIELD), Times().scaled(FACTOR))
Note = Callable[[str, object], None]


@pytest.fixture
def stage(server: RunningCluster, cluster: object) -> Iterator[Stage]:
    """The fixture `cluster` clears away what the doors leave."""
    made = Stage(server, lasts=0.02, searches=0.3)
    yield made
    made.close()


@pytest.fixture
def ours(stage: Stage) -> Iterator[OurDoor]:
    door = OurDoor(stage, RULES)
    door.start()
    yield door
    door.stopping.set()
    door.join()


def older_search(
    stage: Stage, job: str, verbs: Verbs | None = None, ceiling: int = 2, poll: float = POLL
) -> threading.Thread:
    """One search of an older door, in a thread that ends when it has been submitted."""
    door = OlderDoor(verbs or stage.connect(), SystemClock(), ceiling, poll=poll)
    submitting = stage.connect()

    def lead_through() -> None:
        if not door.lead_through(naming.run_id(job), lambda run: stage.submit(run, submitting), tries=3000):
            stage.wrong.append(f"{job} was never let in")

    thread = threading.Thread(target=lead_through, name=job, daemon=True)
    thread.start()
    return thread


def has_ended(thread: threading.Thread) -> bool:
    return not thread.is_alive()


def test_admissions_in_mixed_order(stage: Stage, ours: OurDoor, server: RunningCluster, note: Note) -> None:
    auditor = Auditor(stage, RULES.knobs.ceiling)
    auditor.start()
    older: list[threading.Thread] = []
    for number in range(ADMISSIONS):
        if number % 10 == 9:
            older.append(older_search(stage, f"kubectl-{number}", Kubectl(server.kubeconfig), poll=KUBECTL_POLL))
        elif number % 3 == 1:
            older.append(older_search(stage, f"older-{number}"))
        else:
            ours.take(f"ours-{number}")
        time.sleep(0.05)
    until(lambda: all(map(has_ended, older)), within=40 + ADMISSIONS)
    until(lambda: set(ours.rows.values()) == {"done"}, within=40 + ADMISSIONS)
    assert stage.wrong == []
    assert len(stage.starts) == len(set(stage.starts)) == ADMISSIONS
    assert auditor.most == RULES.knobs.ceiling  # it was full, and never more than that
    note("interop: admissions, of older doors, revisions audited", f"{ADMISSIONS}, {len(older)}, {auditor.revisions}")


def test_an_older_search_that_is_trying_and_was_there_first_goes_first(stage: Stage, ours: OurDoor) -> None:
    """Its door sleeps most of the time; the line wakes at once, and gives way."""
    rules = replace(RULES, knobs=replace(RULES.knobs, ceiling=1))
    ours.rules = ours.seen.rules = rules
    other, cluster = naming.run_id("other"), stage.connect()
    cluster.create("jobs", body("finalizer", other, naming.finalizer(other)))
    for number in range(3):
        thread = older_search(stage, f"older-{number}", ceiling=1)
        time.sleep(1.1)  # creation times are whole seconds
        ours.take(f"ours-{number}")
        stage.end(stage.starts[-1] if stage.starts else other)
        until(partial(has_ended, thread))
        until(partial(ours.has_submitted, f"ours-{number}"))
    expected = [naming.run_id(f"{door}-{number}") for number in range(3) for door in ("older", "ours")]
    assert (stage.wrong, stage.starts) == ([], expected)


def test_an_older_search_that_nobody_tries_for_costs_the_first_of_ours_alone(stage: Stage, ours: OurDoor) -> None:
    OlderDoor(stage.connect(), SystemClock(), 2).announce(naming.run_id("stale"), "submitting")
    time.sleep(1.1)
    for number in range(5):
        ours.take(f"ours-{number}")
        until(partial(ours.has_submitted, f"ours-{number}"))
    assert ours.gave_way == {"ours-0"}
    assert (stage.wrong, len(stage.starts)) == ([], 5)
