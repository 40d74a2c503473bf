"""Thousands of finished Jobs cost a new one nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.authors import Write
from coordui.onebox.cluster.clock import Clock
from coordui.onebox.cluster.core import Core
from coordui.onebox.cluster.storage.objects import clone
from coordui.onebox.cluster.storage.resources import JOBS
from tests.onebox.cluster.fixtures import running_cluster, until
from tests.world import SCALE

FINISHED = 1000 * SCALE
STEP = 20  # of SQLite's virtual machine


async def fill(state: Path, count: int) -> None:
    """A cluster in which so many Jobs have ended, each to be removed in an hour."""
    place = state / "cluster"
    place.mkdir(parents=True)
    core = Core(place / "cluster.sqlite3", Clock())
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none", "command": ["true"]}]}
    now = core.clock.stamp()
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": now}
    body = {"metadata": {"name": "old"}, "spec": {"template": {"spec": pod}, "ttlSecondsAfterFinished": 3600}}
    job = core.registry.create(JOBS, "default", body, Write("tests", dry_run=True))
    job["status"] = {"succeeded": 1, "conditions": [ended]}
    with core.store.transaction():
        for index in range(count):
            job["metadata"] |= {"name": f"old-{index}", "uid": f"old-{index}"}
            core.store.add(JOBS, clone(job))
    core.close()


def test_a_new_job_costs_no_more_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the steps of the database: every look at all Jobs, or at all Pods, would show."""
    steps = 0
    connect = sqlite3.connect

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_progress_handler(step, STEP)
        return connection

    costs = []
    for count in (0, FINISHED):
        state = tmp_path / str(count)
        asyncio.run(fill(state, count))
        monkeypatch.setattr(sqlite3, "connect", counted)
        with running_cluster(state) as cluster:
            cluster.job("first", "true")  # what is read once after a start is read now
            cluster.job_condition("first", "Complete")
            before = steps
            cluster.job("new", "true", ttlSecondsAfterFinished=0)
            until(lambda: cluster.call("GET", "/apis/batch/v1/namespaces/default/jobs/new").code == 404)
            costs.append(steps - before)
        monkeypatch.undo()
    alone, among = costs
    assert alone > 10 and among < 3 * alone, costs
