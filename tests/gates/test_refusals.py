"""Refusals, wherever they come: a permission that is missing, a full quota, a policy, a namespace that is not there.

Each ends in a verdict that carries the server's words, with nothing left behind that may be taken away.
"""

from __future__ import annotations

import pytest

from submits.cluster import ApiCluster
from submits.gates import naming
from submits.gates.verdicts import Outcome, Verdict
from submits.states import REASONS, Kind, Reason
from tests.gates.corpus.seeing import stand_in_line
from tests.gates.trying import FakeSubmit
from tests.gates.wire import Calm, Wire, wired
from tests.onebox.cluster.fixtures import RunningCluster
from tests.world import until

# Every request of an admission until its submit runs, and the verb and kind that a Role must allow for it.
BEFORE = {
    "GET leases": ("get", "leases"),
    "POST leases": ("create", "leases"),
    "PUT leases": ("update", "leases"),
    "POST jobs": ("create", "jobs"),
    r"GET jobs\?.*elb-job-id": ("list", "jobs"),
    "GET configmaps": ("get", "configmaps"),
    r"GET jobs\?.*app in": ("list", "jobs"),
    "PATCH leases": ("patch", "leases"),
}
AFTER = {"DELETE jobs": ("delete", "jobs"), "DELETE leases": ("delete", "leases"), "PATCH leases": ("patch", "leases")}
QUOTA = 'jobs.batch "elb-resv-1" is forbidden: exceeded quota: few, requested: count/jobs.batch=1, used: 5, limited: 5'
WEBHOOK = 'admission webhook "jobs.policy.example" denied the request: no Jobs on Sundays'


def missing(verb: str, kind: str) -> str:
    user = "system:serviceaccount:default:coordui"
    return (
        f'{kind} is forbidden: User "{user}" cannot {verb} resource "{kind}" in API group "" in the namespace "default"'
    )


@pytest.fixture
def one(cluster: ApiCluster) -> Calm:
    return Calm(cluster)


def refused(server: RunningCluster) -> tuple[Calm, Wire]:
    cluster, wire = wired(server)
    mine = Calm(cluster, beat=0.2)  # what is not answered is asked for again for so long
    stand_in_line(mine)
    wire.sent.clear()
    return mine, wire


def clean(one: Calm, mine: Calm) -> None:
    """Nothing was submitted, and nothing is left: no place, no hold, no ticket."""
    assert mine.submit.started == []
    assert one.jobs() == []
    assert not one.cluster.list("leases").items or one.holder() == ""
    assert not one.has_ticket()


@pytest.mark.parametrize("step", BEFORE)
def test_a_permission_that_is_missing_ends_it_before_anything_is_submitted(
    one: Calm, server: RunningCluster, step: str
) -> None:
    if step == "PUT leases":
        one.admit()
        one.cluster.delete("jobs", naming.finalizer(one.what.run_id))
    verb, kind = BEFORE[step]
    mine, wire = refused(server)
    wire.refuse(step, missing(verb, kind))
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.GATE_FORBIDDEN)
    for words in (f"cannot {verb}", f'"{kind}"', "system:serviceaccount:default:coordui", "in default"):
        assert words in verdict.detail
    assert REASONS[verdict.reason].kind is Kind.FINAL
    if step == "PATCH leases":  # the release's verb too: the takeover does it
        one.cluster.delete("leases", naming.gate("default"))
    one.cluster.delete("leases", naming.ticket("s1"))  # whoever is refused at S3 leaves it to its caller
    clean(one, mine)


@pytest.mark.parametrize("step", AFTER)
def test_a_permission_that_is_missing_afterwards_does_not_undo_what_was_submitted(
    one: Calm, server: RunningCluster, step: str
) -> None:
    """What cannot be taken away goes by its deadline, its end, or the takeover."""
    verb, kind = AFTER[step]
    mine, wire = refused(server)

    def work(run_id: str) -> None:
        one.finalizer(run_id)
        wire.refuse(step, missing(verb, kind))

    assert mine.admit(FakeSubmit(work)).outcome is Outcome.SUBMITTED
    assert naming.finalizer(mine.what.run_id) in one.jobs()


def test_a_full_quota_is_waited_for_at_the_back_of_the_line(one: Calm, server: RunningCluster) -> None:
    mine, wire = refused(server)
    wire.refuse("POST jobs", QUOTA)
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.QUOTA_FULL)
    assert "limited: 5" in verdict.detail
    assert REASONS[verdict.reason].kind is Kind.WAIT
    clean(one, mine)


def test_a_quota_that_leaves_no_room_for_the_gate_itself_is_a_wait_too(one: Calm, server: RunningCluster) -> None:
    mine, wire = refused(server)
    wire.refuse("POST leases", QUOTA)
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, Reason.QUOTA_FULL)
    assert one.has_ticket()
    assert mine.submit.started == []


@pytest.mark.parametrize(
    "words",
    [
        WEBHOOK,
        "ValidatingAdmissionPolicy 'few' with binding 'all' denied request: this id was revoked",
        'pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
        'admission webhook "jobs.policy.example" denied the request: you cannot run Jobs on Sundays',
    ],
)
def test_a_policys_refusal_is_final_and_keeps_its_words(one: Calm, server: RunningCluster, words: str) -> None:
    mine, wire = refused(server)
    wire.refuse("POST jobs", words)
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.POLICY_DENIED)
    assert words in verdict.detail
    clean(one, mine)


@pytest.mark.parametrize("step", ["POST leases", "POST jobs"])
def test_an_object_that_is_refused_for_its_shape_is_final(one: Calm, server: RunningCluster, step: str) -> None:
    mine, wire = refused(server)
    wire.refuse(step, 'Job.batch "x" is invalid: spec.suspend: Invalid value', code=422, reason="Invalid")
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.POLICY_DENIED)
    assert "spec.suspend" in verdict.detail
    one.cluster.delete("leases", naming.ticket("s1"))
    clean(one, mine)


@pytest.mark.parametrize("step", [step for step in BEFORE if step != "PUT leases"])
@pytest.mark.parametrize("code", [429, 500, 504])
def test_no_answer_is_never_a_refusal_and_never_busy(one: Calm, server: RunningCluster, step: str, code: int) -> None:
    mine, wire = refused(server)
    wire.refuse(step, "etcdserver: request timed out", code=code, reason="Timeout", retry_after="0")
    verdict = mine.admit()
    assert verdict.outcome in (Outcome.UNKNOWN, Outcome.BACK)
    assert verdict.reason in (Reason.COORDINATION_UNAVAILABLE, Reason.CAPACITY_COUNT_ERROR)
    assert "request timed out" in verdict.detail
    assert mine.submit.started == []
    assert one.jobs() == []


def admitted_in(server: RunningCluster, namespace: str) -> Verdict:
    return Calm(wired(server, namespace)[0]).admit()


def test_a_namespace_that_does_not_exist_is_named(server: RunningCluster) -> None:
    verdict = admitted_in(server, "nowhere")
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.NAMESPACE_MISSING)
    assert 'namespaces "nowhere" not found' in verdict.detail


def test_a_namespace_that_is_being_deleted_takes_nothing_new_and_says_so(server: RunningCluster) -> None:
    """It stays while something in it is held by a finalizer."""
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "going"}}).ok()
    held = {"metadata": {"name": "held", "finalizers": ["example.org/later"]}}
    server.call("POST", "/api/v1/namespaces/going/configmaps", held).ok()
    server.call("DELETE", "/api/v1/namespaces/going")
    verdict = admitted_in(server, "going")
    assert verdict.outcome is Outcome.REFUSED
    assert "because it is being terminated" in verdict.detail


def test_a_namespace_that_goes_while_one_is_inside_is_the_end_of_it(server: RunningCluster) -> None:
    server.call("POST", "/api/v1/namespaces", {"metadata": {"name": "brief"}}).ok()
    inside, wire = wired(server, "brief")

    def delete() -> None:
        server.call("DELETE", "/api/v1/namespaces/brief")
        until(lambda: server.call("GET", "/api/v1/namespaces/brief").code == 404)

    wire.before("GET configmaps", delete)
    mine = Calm(inside)
    verdict = mine.admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.SHUT, Reason.GATE_LOST)
    assert mine.submit.started == []
