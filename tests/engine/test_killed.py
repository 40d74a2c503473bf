"""Pods that die at random: the search ends with the very bytes of an undisturbed run, or, cancelled, with nothing."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest
from django.utils import timezone

from submits import cancel, demo
from submits.blast.facts import DatabaseFacts
from submits.engine.following import follow
from submits.engine.jobs import Names
from submits.engine.outcome import read_outcome
from submits.engine.prepare import read_plan
from submits.gates.ports import NotFound
from submits.models import Submission
from submits.scopes import store as configured_store
from submits.states import Status
from submits.work import run_key
from tests.engine.direct import direct
from tests.engine.story import Stage
from tests.onebox.cluster.fixtures import RunningCluster, until
from tests.test_models import make
from tests.world import SCALE

SEED = int(os.environ.get("SEED", "20261129"))
QUERIES, BATCHES = (500, 25) if SCALE > 1 else (40, 5)


@dataclass
class Killer:
    """Ends Pods of one run at random, by a signal to all their processes or by the API; each Job's at most twice, since
    its retries are counted."""

    stage: Stage
    run_id: str
    chance: random.Random
    most: int = 2
    killed: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        pods = self.stage.api.list("pods", labels=f"elb-job-id={self.run_id}").items
        living = [pod for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]
        open_to = [pod for pod in living if self.killed[pod["metadata"]["labels"]["job-name"]] < self.most]
        if not open_to:
            return
        chosen = self.chance.choice(open_to)["metadata"]
        # The one that was used less, since a signal finds nothing where the Pod's program has not begun.
        way = min((self.by_signal, self.by_the_api), key=lambda way: self.ways[way.__name__])
        if way(chosen["labels"]["job-name"], chosen["name"]):
            self.killed[chosen["labels"]["job-name"]] += 1
            self.ways[way.__name__] += 1

    def by_signal(self, job: str, pod: str) -> bool:
        """A container leads a process group of its own."""
        pids = self.stage.processes(*self.words(job))
        for pid in pids:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        return bool(pids)

    def by_the_api(self, job: str, pod: str) -> bool:
        try:
            self.stage.api.delete("pods", pod)
        except NotFound:
            return False
        return True

    def words(self, job: str) -> list[str]:
        """What the command line of a Job's program holds."""
        names = Names(self.run_id)
        known = {names.finalizer: ["finalize"], names.submit: ["launch"]}
        return [self.run_id, *(known.get(job) or ["batch", "--batch", str(int(job.rpartition("-")[2]))])]


def test_pods_die_at_random_and_the_merge_is_that_of_a_direct_run(
    stage: Stage, made: dict[str, DatabaseFacts], tmp_path: Path, note: Callable[[str, object], None]
) -> None:
    records = demo.windows("globins", 60, 8).split(">")[1 : QUERIES + 1]
    text = "".join(f">{record}" for record in records)
    run_id = stage.prepared(text, made["globins"], letters=60 * QUERIES // BATCHES, evalue="1000")
    plan = read_plan(stage.store, run_id)
    assert (len(plan.queries), plan.batches) == (QUERIES, BATCHES)
    assert stage.submit(run_id).returncode == 0
    killer = Killer(stage, run_id, random.Random(SEED))
    end = time.monotonic() + 100 * SCALE**2
    while (outcome := read_outcome(stage.store, run_id)) is None:
        killer.strike()
        assert time.monotonic() < end, (SEED, killer.killed)
        time.sleep(killer.chance.uniform(0, 0.3))
    assert (outcome.status, outcome.queries, outcome.batches) == ("succeeded", QUERIES, BATCHES), (SEED, outcome)
    assert stage.store.get(run_key(run_id, "hits.tsv")) == direct(stage.store, run_id, tmp_path), SEED
    assert len(killer.ways) == 2 and len(killer.killed) > BATCHES // 3, (SEED, killer)
    note(f"{QUERIES} queries in {BATCHES} batches: Pods killed", dict(killer.ways))
    stage.finalizer(run_id, "Complete")


# Cancelled at any moment ----------------------------------------------------------------------------------------------


def of_run(run_id: str) -> list[str]:
    """Every process of this machine whose command line names the run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                said = (entry / "cmdline").read_bytes()
                if run_id.encode() in said:
                    found.append(said.decode().replace("\0", " "))
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(SEED, SEED + (2 if SCALE == 1 else 10 * SCALE)))
def test_cancelled_at_a_random_moment_nothing_of_it_is_left(
    cluster: RunningCluster, made: dict[str, DatabaseFacts], tmp_path: Path, seed: int
) -> None:
    stage = Stage(cluster, configured_store(), tmp_path)
    run_id = stage.prepared(demo.windows("globins", 60, 12), made["globins"], letters=2_000, evalue="1000")
    row = make(status=Status.RUNNING, submitted_at=timezone.now(), batches=read_plan(stage.store, run_id).batches)
    Submission.objects.filter(pk=row.pk).update(run_id=run_id)
    assert stage.submit(run_id).returncode == 0
    # A moment is told by how often the run's Jobs have changed by then.
    for _ in islice(follow(stage.api, run_id), random.Random(seed).randint(0, 40)):
        pass
    assert cancel.ask(row.key, row.owner.get_username())

    def over() -> Submission | None:
        found = Submission.objects.get(pk=row.pk)
        if not found.ended:
            cancel.attempt(found, stage.api)
        return found if found.ended else None

    ended = until(over, 30)
    assert ended is not None and ended.status == Status.CANCELLED, (seed, ended)
    assert [*cancel.jobs_of(ended, stage.api), *cancel.markers_of(ended, stage.api)] == []
    assert cancel.pods_of(ended, stage.api) == [] and of_run(run_id) == [], seed
    stage.clear()
