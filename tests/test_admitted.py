"""One submission's story against the embedded cluster: prepared, led through, cancelled, told twice, and cut off."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

from submits import cancel, flow, scopes, stoppable, tasks
from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.ports import Object
from submits.models import Submission
from submits.scopes import store
from submits.states import Phase, Reason, Status
from submits.work import run_key
from tests.gates.trying import FakeSubmit, Try, body, take_gate
from tests.gates.wire import Wire, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_models import make
from tests.views import factory
from tests.world import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server(server: RunningCluster, cluster_is_warm: Callable[[RunningCluster], None]) -> RunningCluster:
    cluster_is_warm(server)
    return server


@pytest.fixture(scope="module")
def cluster_is_warm() -> Callable[[RunningCluster], None]:
    """The first Job loads the schema, for longer than a scaled heartbeat."""

    def warm(server: RunningCluster) -> None:
        api, _ = wired(server)
        api.create("jobs", body("none", None, "the-first"))
        api.delete("jobs", "the-first")

    return warm


@pytest.fixture
def wire(server: RunningCluster, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Wire:
    """What the flow asks the cluster."""
    settings.KUBECONFIG = str(server.kubeconfig)
    settings.COORDUI_PROTOCOL_SCALE = 0.05
    api, wire = wired(server)
    monkeypatch.setattr(flow, "connect", lambda scope: api)
    return wire


@pytest.fixture
def submits(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> FakeSubmit:
    """In place of the engine: it makes the finalizer, and keeps how often it was started."""

    def finalizer(run_id: str) -> None:
        cluster.create("jobs", body("finalizer", run_id, naming.finalizer(run_id)))

    made = FakeSubmit(finalizer)
    monkeypatch.setattr(flow, "leashed_submit", lambda scope: made)
    return made


def waiting(**values: Any) -> Submission:
    now = timezone.now()
    return make(status=Status.WAITING, phase=Phase.IN_LINE, ticket_at=now, moved_at=now, **values)


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


def in_a_thread(do: Callable[[], object]) -> None:
    do()
    connection.close()


def at_once(count: int, do: Callable[[], object]) -> None:
    start = threading.Barrier(count)

    def run() -> None:
        start.wait()
        in_a_thread(do)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def test_a_try_at_a_shut_gate_costs_two_requests_at_most_and_no_try(
    wire: Wire, submits: FakeSubmit, cluster: ApiCluster
) -> None:
    take_gate(Try(cluster))
    row = waiting()
    for _ in range(3):
        wire.sent.clear()
        flow.lead_through(row.pk)
        assert len(wire.sent) <= 2
    found = again(row)
    assert (found.status, found.reason) == (Status.WAITING, Reason.WAITING_FOR_SUBMIT_SLOT)
    assert (found.tries, found.outages, submits.started) == (0, 0, [])


def test_the_task_of_one_row_delivered_to_four_workers_at_once_submits_once(wire: Wire, submits: FakeSubmit) -> None:
    row = waiting()
    at_once(4, lambda: flow.lead_through(row.pk))
    assert submits.started == [row.run_id]
    flow.lead_through(row.pk)  # and once more, long after
    tasks.search(row.pk)
    assert (again(row).status, submits.started) == (Status.RUNNING, [row.run_id])
    assert row.events.filter(status="running").count() == 1


def test_prepared_by_four_workers_at_once_it_has_one_plan_and_one_ticket(wire: Wire, cluster: ApiCluster) -> None:
    row = make(status=Status.QUEUED, database=factory.database(), program="blastp")
    store().put(run_key(row.run_id, "query.fa"), b">a\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERM\n")
    at_once(4, lambda: flow.prepare(row.pk))
    assert again(row).status == Status.WAITING
    assert list(row.events.values_list("status", flat=True)) == ["preparing", "waiting"]
    tickets = cluster.list("leases", naming.TICKETS).items
    assert [ticket["metadata"]["name"] for ticket in tickets] == [naming.ticket(row.key)]


class Away:
    """A database that takes no writes of submissions while `away`; everything else is as ever."""

    def __init__(self) -> None:
        self.away, self.refused = False, 0

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if self.away and sql.startswith(("UPDATE", "INSERT")) and "submits_" in sql:
            self.refused += 1
            raise OperationalError("disk I/O error")
        return execute(sql, params, many, context)


def test_a_database_that_fails_while_the_gate_is_held_neither_stops_nor_repeats_the_submit(
    wire: Wire, submits: FakeSubmit, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, database = waiting(), Away()
    monkeypatch.setattr("submits.flow.time.sleep", lambda seconds: setattr(database, "away", False))
    wire.after("^PUT leases|^POST leases", lambda: setattr(database, "away", True))
    with ExitStack() as stack:
        stack.enter_context(connection.execute_wrapper(database))
        flow.lead_through(row.pk)
    assert database.refused >= 4
    assert submits.started == [row.run_id] and not submits.killed
    assert again(row).status == Status.RUNNING


@pytest.fixture
def engine(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submit that says who it is and then takes its time."""
    script = tmp_path / "engine"
    script.write_text(f"#!/bin/sh\necho submitting\necho $$ > {tmp_path}/pid\nexec sleep 300\n")
    script.chmod(0o700)
    monkeypatch.setattr(scopes, "PROGRAM", str(script))
    settings.COORDUI_STATE = tmp_path
    return tmp_path / "pid"


def test_a_cancel_kills_the_submit_and_then_says_so(
    wire: Wire, engine: Path, cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stoppable, "ASK_EVERY", 0.05)
    row = waiting()
    worker = threading.Thread(target=in_a_thread, args=[lambda: flow.lead_through(row.pk)])
    worker.start()
    until(lambda: engine.exists() and engine.read_text().strip())
    assert cancel.ask(row.key, "ada")
    waits = again(row)
    cancel.attempt(waits, cluster)
    assert waits.reason == Reason.CANCEL_WAITS_FOR_SUBMIT
    worker.join(30)
    with pytest.raises(ProcessLookupError):
        os.kill(int(engine.read_text()), 0)
    assert again(row).worker == ""
    until(lambda: cancelled(row, cluster))
    assert cluster.list("jobs").items == ()
    assert store().get(run_key(row.run_id, "log.txt")).startswith(b"submitting\n")


def cancelled(row: Submission, cluster: ApiCluster) -> bool:
    found = again(row)
    if not found.ended:
        cancel.attempt(found, cluster)
    return found.status == Status.CANCELLED


def test_a_cancel_before_the_submit_stops_the_admission(wire: Wire, submits: FakeSubmit, cluster: ApiCluster) -> None:
    row = waiting()
    wire.after("^POST jobs$", lambda: cancel.ask(row.key, "ada"))  # its place has just been announced
    flow.lead_through(row.pk)
    assert submits.started == []
    assert (again(row).status, again(row).worker) == (Status.CANCELLING, "")
    assert cluster.list("jobs").items == ()
    assert cluster.get("leases", naming.gate("default")).object["spec"]["holderIdentity"] == ""
    until(lambda: cancelled(row, cluster))


def test_a_preparation_that_was_cancelled_leaves_no_ticket(wire: Wire, cluster: ApiCluster) -> None:
    row = make(status=Status.QUEUED, database=factory.database(), program="blastp")
    store().put(run_key(row.run_id, "query.fa"), b">a\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERM\n")
    wire.before("^POST leases$", lambda: cancel.ask(row.key, "ada"))
    flow.prepare(row.pk)
    assert again(row).status == Status.CANCELLING
    assert cluster.list("leases", naming.TICKETS).items == ()


def test_a_cluster_that_was_put_back_is_alarmed_and_looked_at_again(
    wire: Wire, submits: FakeSubmit, caplog: pytest.LogCaptureFixture
) -> None:
    row = waiting(token=10**9)
    flow.lead_through(row.pk)
    found = again(row)
    assert (found.status, found.reason, found.token) == (Status.WAITING, Reason.CLUSTER_RESTORED, 0)
    assert submits.started == []
    assert "cluster_restored" in caplog.text
    Submission.objects.filter(pk=row.pk).update(next_try_at=None)
    flow.lead_through(row.pk)
    assert again(row).status == Status.RUNNING


def test_a_broker_that_refuses_is_not_a_failed_search(wire: Wire, settings: Settings) -> None:
    row = make(status=Status.QUEUED)
    assert tasks.send(tasks.prepare, row.pk) is False  # no store runs here
    assert again(row).status == Status.QUEUED


@pytest.fixture(autouse=True)
def emptied(cluster: ApiCluster) -> Iterator[None]:
    yield
    jobs: tuple[Object, ...] = cluster.list("jobs").items
    for job in jobs:
        cluster.delete("jobs", job["metadata"]["name"])
