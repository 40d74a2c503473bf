"""What an admission costs the API server: counted on the wire, below the product's own client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.transport import HttpTransport, Response
from submits.gates import naming
from submits.gates.objects import ticket_body
from submits.gates.verdicts import Outcome
from tests.gates.made import NOW
from tests.gates.trying import FakeSubmit, Try, body
from tests.onebox.cluster.fixtures import RunningCluster

MOST = 12


class Counting(HttpTransport):
    """Every request that is sent, but heartbeats, as `VERB kind/name` or `LIST kind selector`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.sent: list[str] = []

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        kind, _, name = path.partition("/namespaces/default/")[2].partition("/")
        selector = " ".join(query.get(part, "") for part in ("labelSelector", "fieldSelector"))
        listed = method == "GET" and not name
        self.sent.append(f"LIST {kind} {selector}".strip() if listed else f"{method} {kind}/{name}".rstrip("/"))
        return super().request(method, path, query, body, content_type)

    def stream(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator[Response | bytes]:
        raise AssertionError("an admission watches nothing")


@pytest.fixture
def wire(cluster: ApiCluster, server: RunningCluster) -> Counting:
    return Counting(Connection(str(server.kubeconfig), "default"))


def patient(one: Try) -> Try:
    """No heartbeat is due within the test, whatever the machine is doing."""
    times = one.rules.times
    one.rules = type(one.rules)(one.rules.knobs, type(times)(**{**vars(times), "heartbeat": 60, "leash": 240}))
    return one


def admitted(wire: Counting, cluster: ApiCluster, **submit: Any) -> list[str]:
    """Ticket and admission over the counted wire; the submit's own requests are not the gates'."""
    one = patient(Try(ApiCluster(wire, "default")))
    one.cluster.create("leases", ticket_body(one.what.submission, one.what.run_id, "dashboard", NOW))
    finalizer = body("finalizer", one.what.run_id, naming.finalizer(one.what.run_id))
    verdict = one.admit(FakeSubmit(lambda run: cluster.create("jobs", finalizer), **submit))
    assert verdict.outcome is Outcome.SUBMITTED
    return wire.sent


def test_twelve_requests_lead_a_search_through_in_this_order(wire: Counting, cluster: ApiCluster) -> None:
    Try(cluster, 9).admit()
    run, gate = naming.run_id("s1"), "leases/elb-blast-submit-default"
    sent = admitted(wire, cluster)
    named = [re.sub(r"elb-resv-[0-9a-f]+-\d+", "reservation", one) for one in sent]
    assert named == [
        "POST leases", f"GET {gate}", f"PUT {gate}", "POST jobs",
        f"LIST jobs elb-job-id={run}", f"GET configmaps/{naming.CONTROLS}",
        f"LIST jobs {naming.COUNTED} {naming.NOT_SUCCEEDED}", f"PATCH {gate}",
        f"GET jobs/{naming.finalizer(run)}", "DELETE jobs/reservation",
        f"DELETE leases/{naming.ticket('s1')}", f"PATCH {gate}",
    ]  # fmt: skip
    assert len(sent) <= MOST


def test_it_costs_the_same_whoever_else_waits_or_runs(wire: Counting, cluster: ApiCluster) -> None:
    Try(cluster, 9, ceiling=50).admit()
    for number in range(20, 40):
        Try(cluster, number).stand_in_line()
    idle = body("finalizer", naming.run_id("idle"), "elb-finalizer-idle")
    cluster.create("jobs", idle)
    assert len(admitted(wire, cluster)) <= MOST


def test_many_phantoms_are_asked_about_at_once(wire: Counting, cluster: ApiCluster) -> None:
    """They stay until an operator removes them: one request each would make every count too slow to be relied on."""
    for number in range(60):
        cluster.create("jobs", body("finalizer", naming.run_id(f"idle{number}"), f"elb-finalizer-idle{number}"))
    one = patient(Try(ApiCluster(wire, "default"), finalizer_grace=-10))
    assert one.admit().outcome is Outcome.SUBMITTED
    asked = [sent for sent in wire.sent if sent.startswith(f"LIST jobs {naming.ELB_JOB_ID} in (")]
    assert [len(one.split(",")) for one in asked] == [50, 10]


def test_a_first_admission_makes_the_gate_and_costs_no_more(wire: Counting, cluster: ApiCluster) -> None:
    assert len(admitted(wire, cluster)) <= MOST


def test_a_try_that_finds_the_gate_shut_costs_one(wire: Counting, cluster: ApiCluster, server: RunningCluster) -> None:
    one = patient(Try(ApiCluster(wire, "default")))

    def meanwhile(run_id: str) -> None:
        assert patient(Try(ApiCluster(wire, "default"), 2)).admit().outcome is Outcome.SHUT
        one.finalizer(run_id)

    Try(connect(Connection(str(server.kubeconfig), "default"))).admit(FakeSubmit(meanwhile))
    assert wire.sent[0] == "GET leases/elb-blast-submit-default"
    assert [sent for sent in wire.sent if not sent.startswith("POST jobs")] == wire.sent[:1]
