"""The three backends in a whole installation: one choice, no mixing, and what the gatekeeper does and shows of each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.utils import timezone

from coordui.celery import refuse
from submits import flow, scopes, starting
from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.backends import Backend, choose
from submits.gates.objects import reservation_body
from submits.gates.verdicts import Outcome
from submits.models import Submission
from submits.scopes import rules
from submits.states import Reason, Status
from submits.storekeeper import StoreKeeper, keeper
from tests.gates.trying import FakeSubmit, Try, take_gate
from tests.keyvalue import RunningStore, keys, store
from tests.onebox.cluster.fixtures import RunningCluster
from tests.test_gatekeeper import Turns
from tests.test_models import make

__all__ = ["keys", "store"]
pytestmark = pytest.mark.django_db
LOCK_KEY = "elb:blast:elastic-blast-submit:embedded:default"
REDIS = {"BLAST_COORD_BACKEND": "redis"}
SLOTS = {**REDIS, "BLAST_GATE_ENABLED": True, "BLAST_GATE_MAX_SLOTS_PER_CLUSTER": 2}


@pytest.fixture(autouse=True)
def installed(settings: Any, server: RunningCluster, store: RunningStore) -> Any:
    settings.REDIS_URL, settings.KUBECONFIG = store.url, str(server.kubeconfig)
    scopes.store_gate.cache_clear()
    return settings


def with_backend(settings: Any, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(settings, name, value)


def again(row: Submission) -> Submission:
    return Submission.objects.get(pk=row.pk)


def admitted(one: Try) -> Outcome:
    lead = scopes.admitter(scopes.configured_scope())
    one.submit = FakeSubmit(one.finalizer)
    return lead(one.what, one.means()).outcome


# One choice -----------------------------------------------------------------------------------------------------------


def connections(client: Any) -> int:
    return int(client.info("stats")["total_connections_received"])


def test_with_k8s_the_gates_never_ask_the_store(installed: Any, cluster: ApiCluster, store: RunningStore) -> None:
    """Whatever else is set: held lock and slots hinder nobody, and not one connection is made."""
    installed.BLAST_GATE_ENABLED = True
    client = store.client
    client.set(LOCK_KEY, "other-1")
    client.hset("elb:blast:slots:embedded", "other-1", "99999999999")
    before = connections(client)
    assert admitted(Try(cluster)) is Outcome.SUBMITTED
    take_gate_again(cluster, "openapi-1")
    assert admitted(Try(cluster, 2)) is Outcome.SHUT
    assert connections(client) == before


def take_gate_again(cluster: ApiCluster, holder: str) -> None:
    body = cluster.get("leases", "elb-blast-submit-default").object
    body["spec"]["holderIdentity"] = holder
    cluster.replace("leases", "elb-blast-submit-default", body)


@pytest.mark.parametrize("values", [REDIS, SLOTS], ids=["lock", "slots"])
def test_with_redis_the_gates_never_ask_for_the_lease(
    installed: Any, cluster: ApiCluster, store: RunningStore, values: dict[str, Any]
) -> None:
    with_backend(installed, values)
    take_gate(Try(cluster))
    assert admitted(Try(cluster)) is Outcome.SUBMITTED
    assert cluster.get("leases", "elb-blast-submit-default").object["spec"]["holderIdentity"] == "openapi-1"
    assert store.client.keys() == []


def test_with_redis_nobody_gets_a_ticket(installed: Any, cluster: ApiCluster) -> None:
    with_backend(installed, REDIS)
    row = make(status=Status.WAITING)
    flow.stand_in_line(cluster, row, timezone.now())
    assert cluster.list("leases", naming.TICKETS).items == ()


def test_the_same_store_and_cluster_are_the_same_key(installed: Any) -> None:
    installed.COORDUI_CLUSTER_NAME = "east"
    chosen = choose("redis", False)
    assert scopes.store_gate(chosen, "blast").key == "elb:blast:elastic-blast-submit:east:blast"
    assert scopes.store_gate(choose("redis", True), "blast").key == "elb:blast:slots:east"


# No mixing ------------------------------------------------------------------------------------------------------------


def test_where_nothing_is_held_it_begins(installed: Any, cluster: ApiCluster) -> None:
    for values in ({}, REDIS, SLOTS):
        with_backend(installed, values)
        starting.refuse_to_admit()


def test_a_lease_that_is_held_keeps_redis_from_beginning_and_says_for_how_long(
    installed: Any, cluster: ApiCluster
) -> None:
    take_gate(Try(cluster))
    starting.refuse_to_admit()  # k8s: it is its own
    with_backend(installed, REDIS)
    with pytest.raises(ImproperlyConfigured, match=r"the Lease by openapi-1, for at most 9[23]\d s.*at the latest"):
        starting.refuse_to_admit()


def test_a_place_that_is_announced_keeps_redis_from_beginning(installed: Any, cluster: ApiCluster) -> None:
    body = reservation_body(naming.run_id("s1"), "dashboard-1", 7, rules(), leashed=True)
    cluster.create("jobs", body)
    with_backend(installed, REDIS)
    with pytest.raises(ImproperlyConfigured, match=r"a place by elb-resv-\w+-7, for at most 7[45]\d s"):
        starting.refuse_to_admit()


@pytest.mark.parametrize(
    ("held", "values"),
    [(Backend.LOCK, {}), (Backend.SLOTS, {}), (Backend.LOCK, SLOTS), (Backend.SLOTS, REDIS)],
)
def test_a_gate_of_another_kind_in_the_store_keeps_one_from_beginning(
    installed: Any, cluster: ApiCluster, held: Backend, values: dict[str, Any]
) -> None:
    other = scopes.store_gate(choose("redis", held is Backend.SLOTS), "default")
    other.take("dashboard-9")
    with_backend(installed, values)
    with pytest.raises(ImproperlyConfigured, match=r"by dashboard-9, for at most (900|89\d) s"):
        starting.refuse_to_admit()
    other.release("dashboard-9")
    starting.refuse_to_admit()


def test_a_store_that_is_away_does_not_keep_k8s_from_beginning(installed: Any, cluster: ApiCluster) -> None:
    installed.REDIS_URL = "unix:///nowhere/s"
    starting.refuse_to_admit()


def test_gates_and_engine_are_compared_as_they_are_made(installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = scopes.configured_scope()
    assert starting.in_one_place(scope) == []
    made = scopes.leashed_submit(scope)
    made.environment["COORDUI_NAMESPACE"] = "elsewhere"
    monkeypatch.setattr(starting, "leashed_submit", lambda _: made)
    with pytest.raises(ImproperlyConfigured, match="submit's environment: elsewhere"):
        starting.refuse_to_admit()
    made.environment["COORDUI_NAMESPACE"] = "default"
    made.kubeconfig = made.kubeconfig.replace("https://127.0.0.1", "https://other")
    assert [rule.key for rule in starting.in_one_place(scope)] == ["E007"]


def test_the_gatekeeper_and_the_submit_workers_stop_on_it_and_others_do_not(
    installed: Any, cluster: ApiCluster
) -> None:
    take_gate(Try(cluster))
    with_backend(installed, REDIS)
    with pytest.raises(ImproperlyConfigured, match="Two kinds of gate do not see each other"):
        call_command("gatekeeper")
    with pytest.raises(SystemExit, match=r"coordui: .*Two kinds of gate do not see each other"):
        refuse(Consumer("submit"))
    refuse(Consumer("default"))


class Consumer:
    """As much of a worker as tells which queues it was started for."""

    def __init__(self, *queues: str) -> None:
        self.app = Celery("another")
        self.app.amqp.queues.select(list(queues))


# The gatekeeper of a gate in the store --------------------------------------------------------------------------------


@pytest.fixture
def turns(installed: Any, cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> Turns:
    return Turns(cluster, monkeypatch)


def changed(turns: Turns, installed: Any, values: dict[str, Any]) -> StoreKeeper:
    with_backend(installed, values)
    made = keeper(turns.scope, turns.cluster)
    assert isinstance(made, StoreKeeper)
    made.waker = turns.keeper.waker
    turns.keeper = made
    return made


def test_as_many_rows_are_woken_as_there_is_room_the_oldest_first(turns: Turns, installed: Any) -> None:
    now = timezone.now()
    rows = [turns.waiting(ticket=False, ticket_at=now - timedelta(minutes=3 - number)) for number in range(3)]
    made = changed(turns, installed, SLOTS)
    assert turns.turn() == [("search", rows[0].pk), ("search", rows[1].pk)]
    view = turns.view()
    assert (view["gate"], view["active"], view["ceiling"]) == ("open", 0, 2)
    assert [(place["submission"], place["position"]) for place in view["line"]] == [
        (row.key, number) for number, row in enumerate(rows, 1)
    ]
    made.gate.take("other-1")
    made.next_question = 0.0
    assert turns.turn() == [("search", rows[0].pk)]
    made.gate.take("other-2")
    made.next_question = 0.0
    assert turns.turn() == []
    view = turns.view()
    assert (view["gate"], view["active"], view["ceiling"]) == ("B_full", 2, 2)
    turns.turn()
    assert again(rows[0]).reason == Reason.WAITING_FOR_CAPACITY


def test_a_lock_that_is_held_is_door_a_and_its_holder_is_named(turns: Turns, installed: Any) -> None:
    row = turns.waiting(ticket=False)
    made = changed(turns, installed, REDIS)
    made.gate.take("dashboard-7")
    assert turns.turn() == []
    view = turns.view()
    assert view["gate"] == "A_busy"
    assert (view["lease"]["holder"], view["lease"]["source"]) == ("dashboard-7", "dashboard")
    assert view["lease"]["free_by"]
    assert "redis lock (BLAST_COORD_BACKEND=redis" in view["health"]["backend"]
    assert "no line between doors" in view["health"]["note"]
    turns.turn()
    assert again(row).reason == Reason.WAITING_FOR_SUBMIT_SLOT


def test_a_store_that_does_not_answer_is_said_and_nobody_is_woken(turns: Turns, installed: Any) -> None:
    row = turns.waiting(ticket=False)
    installed.REDIS_URL = "unix:///nowhere/s"
    changed(turns, installed, REDIS)
    assert turns.turn() == []
    assert turns.view()["gate"] == "unknown"
    turns.turn()
    assert again(row).reason == Reason.COORDINATION_UNAVAILABLE
    assert "does not answer" in again(row).detail


def test_a_search_past_its_end_ends_by_what_kept_it(turns: Turns, installed: Any) -> None:
    past = {"until": timezone.now() - timedelta(seconds=1)}
    row = turns.waiting(ticket=False, **past)
    changed(turns, installed, REDIS).gate.take("other-1")
    turns.turn()
    assert (again(row).status, again(row).reason) == (Status.FAILED, Reason.SUBMIT_SLOT_TIMEOUT)


def test_tickets_from_before_the_change_go_and_others_stay(turns: Turns, installed: Any, cluster: ApiCluster) -> None:
    turns.waiting()
    theirs = Try(cluster)
    body = {"metadata": {"name": "elb-ticket-theirs", "labels": {naming.KIND: "ticket"}}, "spec": {}}
    theirs.cluster.create("leases", body)
    changed(turns, installed, REDIS)
    turns.turn()
    assert turns.tickets() == {"elb-ticket-theirs"}


def test_a_run_without_the_lease_is_no_alarm_here(turns: Turns, installed: Any, cluster: ApiCluster) -> None:
    made = changed(turns, installed, REDIS)
    turns.turn()
    one = Try(cluster)
    one.finalizer(one.what.run_id)
    turns.turn()
    made.monitor.breach("ungated", timezone.now(), "x")
    assert turns.view()["breaches"] == [] and turns.view()["breach_counts"] == {}


def test_with_k8s_it_is_the_usual_one_and_says_so(turns: Turns) -> None:
    assert type(keeper(turns.scope, turns.cluster)) is type(turns.keeper)
    turns.turn()
    health = turns.view()["health"]
    assert health["backend"] == "k8s (BLAST_COORD_BACKEND=k8s)" and health["note"] == ""
