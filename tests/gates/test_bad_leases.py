"""A gate Lease that somebody else wrote, in every shape an API server keeps, changed and deleted at every moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from submits.cluster import ApiCluster, Connection
from submits.cluster.clock import SystemClock
from submits.cluster.transport import HttpTransport, Response
from submits.gates import naming
from submits.gates.admission import admit
from submits.gates.objects import Unchanged
from submits.gates.verdicts import Means, Outcome, Verdict
from submits.states import Reason
from tests.gates.trying import FakeSubmit, take_gate
from tests.gates.wire import Calm, later, wired
from tests.onebox.cluster.fixtures import RunningCluster

GATE = naming.gate("default")
NEVER = 40_000_000  # seconds: more than a year
OURS = {naming.HOLDER: "dashboard-1", naming.FAST_TTL: "60", naming.FOR: "job-1"}


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def held(**spec: Any) -> dict[str, Any]:
    return {"spec": {"holderIdentity": "someone-1", **spec}}


def noted(notes: Any, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"annotations": notes}, **held(**spec)}


# A Lease as it was written, and the age in seconds, by the server's clock, from which on it is open.
SHAPES: dict[str, tuple[dict[str, Any], float]] = {
    "no spec": ({}, 0),
    "spec null": ({"spec": None}, 0),
    "spec empty": ({"spec": {}}, 0),
    "holder null": ({"spec": {"holderIdentity": None, "leaseDurationSeconds": 900}}, 0),
    "holder empty": ({"spec": {"holderIdentity": "", "leaseDurationSeconds": 900}}, 0),
    "free, with our annotations left": ({"metadata": {"annotations": OURS}, "spec": {"holderIdentity": ""}}, 0),
    "holder is a space": ({"spec": {"holderIdentity": " "}}, 930),
    "holder without a party": ({"spec": {"holderIdentity": "x"}}, 930),
    "holder of many letters": ({"spec": {"holderIdentity": "ü-" * 2000}}, 930),
    "no duration": (held(), 930),
    "duration null": (held(leaseDurationSeconds=None), 930),
    "a short duration": (held(leaseDurationSeconds=1), 31),
    "a huge duration": (held(leaseDurationSeconds=2**31 - 1), NEVER),
    "no times": (held(leaseDurationSeconds=900), 930),
    "times null": (held(leaseDurationSeconds=900, renewTime=None, acquireTime=None), 930),
    "long renewed": (held(leaseDurationSeconds=900, renewTime="1970-01-01T00:00:00.000000Z"), 930),
    "renewed in years": (held(leaseDurationSeconds=900, renewTime="2999-01-01T00:00:00.999999Z"), 930),
    "renewed elsewhere": (held(leaseDurationSeconds=900, renewTime="2026-01-01T00:00:00.000001+14:00"), 930),
    "many transitions": (held(leaseDurationSeconds=900, leaseTransitions=2**31 - 1), 930),
    "annotations null": (noted(None), 930),
    "foreign annotations": (noted({"kubectl.kubernetes.io/last-applied-configuration": "{"}), 930),
    "our annotations, their holder": (noted(OURS), 930),
    "our annotations, our holder": (noted(OURS, holderIdentity="dashboard-1", leaseDurationSeconds=900), 65),
    "another fast TTL": (noted({**OURS, naming.FAST_TTL: "0"}, holderIdentity="dashboard-1"), 930),
    "a fast TTL alone": (noted({naming.FAST_TTL: "60"}), 930),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lease_in_any_shape_is_open_from_its_age_on_and_not_before(
    one: Calm, server: RunningCluster, shape: str
) -> None:
    fields, opens = SHAPES[shape]
    metadata = {"name": GATE, **fields.get("metadata", {})}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **fields, "metadata": metadata}
    one.cluster.create("leases", lease)
    if opens:
        later(server, opens - 3)
        shut = one.admit()
        assert (shut.outcome, shut.reason) == (Outcome.SHUT, Reason.WAITING_FOR_SUBMIT_SLOT)
    if opens == NEVER:
        return
    later(server, 5)
    assert one.admit().outcome is Outcome.SUBMITTED
    assert one.holder() == ""


class Stripped(HttpTransport):
    """A proxy in between that takes managedFields away."""

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str) -> Response:
        answer = super().request(method, path, query, body, content_type)
        told = json.loads(answer.body)
        for obj in [told, *told.get("items", ())]:
            obj.get("metadata", {}).pop("managedFields", None)
        return Response(answer.status, answer.headers, json.dumps(told).encode())


def test_without_managed_fields_only_how_long_it_was_seen_unchanged_opens_it(one: Calm, server: RunningCluster) -> None:
    take_gate(one, "openapi-1")
    version = one.gate()["metadata"]["resourceVersion"]
    later(server, 5000)
    stripped = ApiCluster(Stripped(Connection(str(server.kubeconfig), "default")), "default")

    def attempt(unchanged: Unchanged) -> Verdict:
        submit = FakeSubmit(one.finalizer)
        return admit(one.what, Means(stripped, SystemClock(), submit, one.rules, one.report, unchanged))

    for seen in (Unchanged(), Unchanged(version, 929), Unchanged("another", 5000)):
        assert attempt(seen).outcome is Outcome.SHUT
    assert attempt(Unchanged(version, 931)).outcome is Outcome.SUBMITTED


def deleted(one: Calm) -> None:
    one.cluster.delete("leases", GATE)


def replaced(one: Calm) -> None:
    one.cluster.delete("leases", GATE)
    take_gate(one, "openapi-9")


def made_anew_and_free(one: Calm) -> None:
    one.cluster.delete("leases", GATE)
    take_gate(one, "")


def edited(one: Calm) -> None:
    if one.cluster.list("leases").items:
        noted = [{"op": "add", "path": "/metadata/annotations", "value": {"someone": "else"}}]
        one.cluster.patch("leases", GATE, noted)


def emptied(one: Calm) -> None:
    """Somebody clears the holder by hand: `kubectl edit`."""
    if one.cluster.list("leases").items:
        one.cluster.patch("leases", GATE, [{"op": "add", "path": "/spec", "value": {}}])


DOINGS: list[Callable[[Calm], None]] = [deleted, replaced, made_anew_and_free, edited, emptied]


def steps(one: Calm, server: RunningCluster) -> Iterator[tuple[int, str]]:
    counted, wire = wired(server)
    Calm(counted, 99).admit(FakeSubmit(one.finalizer))
    one.cluster.delete("jobs", naming.finalizer(naming.run_id("s99")))
    yield from enumerate(wire.log())


@pytest.mark.parametrize("do", DOINGS, ids=lambda do: do.__name__)
def test_whatever_becomes_of_the_gate_at_any_step_the_try_ends_in_a_verdict(
    one: Calm, server: RunningCluster, do: Callable[[Calm], None]
) -> None:
    """Nothing is submitted by who has lost the gate before S7, nothing is left behind, and nobody else's hold ends."""
    log = list(steps(one, server))
    taken = next(n for n, words in log if words.startswith(("PUT leases", "POST leases")))
    proved = next(n for n, words in log if words.startswith("PATCH leases"))
    for number, words in log:
        if one.cluster.list("leases").items:
            deleted(one)
        disturbed, wire = wired(server)
        mine = Calm(disturbed, number)
        wire.before("", lambda: do(one), skip=number)
        verdict = mine.admit(FakeSubmit(one.finalizer))
        told = (number, words, verdict)
        survived = do is edited or number > proved or number <= taken - (do is not deleted)
        if survived and do is not replaced:
            assert verdict.outcome is Outcome.SUBMITTED, told
        assert verdict.outcome in (Outcome.SUBMITTED, Outcome.SHUT), told
        assert (verdict.outcome is Outcome.SUBMITTED) is bool(mine.submit.started), told
        if taken < number <= proved and do is not edited:
            assert verdict.reason is Reason.GATE_LOST, told
        assert one.jobs() == [naming.finalizer(run) for run in mine.submit.started], told
        if do is replaced:
            assert one.holder() == "openapi-9", told
        for name in one.jobs():
            one.cluster.delete("jobs", name)
