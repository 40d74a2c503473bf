"""What the manifests of deploy/ let the gates do: exactly what an admission needs, and each missing verb is told."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pytest
import yaml

from coordui.onebox.cluster.access.credentials import Credentials, kubeconfig_text
from coordui.onebox.cluster.bodies import schema
from submits.cluster import ApiCluster, Connection, connect
from submits.cluster.power import POWER as ASKED
from submits.cluster.power import lacking
from submits.cluster.reflector import Heard
from submits.gates.ports import Forbidden, Listing
from submits.gates.verdicts import Outcome, Verdict
from submits.pulse import Pulse
from submits.states import Reason
from tests.gates.trying import Try
from tests.onebox.cluster.fixtures import CORE, LEASES, Client, RunningCluster
from tests.onebox.cluster.test_kubectl import Kubectl, kubectl
from tests.onebox.cluster.test_rbac import ACCOUNTS, RBAC, token_of
from tests.world import REPOSITORY

__all__ = ["kubectl"]
POWER = {
    ("coordination.k8s.io", "leases"): "get list watch create update patch delete",
    ("batch", "jobs"): "get list watch create patch delete",
    ("", "pods"): "get list",
    ("", "configmaps"): "get list watch create update patch",
}


@pytest.fixture(scope="module", autouse=True)
def models() -> None:
    """Read before the first write: an admission's times are scaled down, and it would wait for them."""
    schema.load()


def manifests() -> list[dict[str, Any]]:
    files = sorted((REPOSITORY / "deploy" / "rbac").glob("*.yaml"))
    return [body for file in files for body in yaml.safe_load_all(file.read_text()) if body]


def deployed(cluster: Client, namespace: str, kubeconfig: Path, without: str = "") -> ApiCluster:
    """The account of the manifests in a namespace of its own, without one "resource verb"; and the gates' client."""
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}).ok()
    resource, _, verb = without.partition(" ")
    for body in manifests():
        for given in body.get("rules", ()):
            if resource in given["resources"]:
                given["verbs"].remove(verb)
        path = f"{PATHS[body['kind']]}?fieldValidation=Strict".replace("default", namespace)
        cluster.call("POST", path, body).ok()
    token = token_of(cluster, "coordui", ACCOUNTS.replace("default", namespace))
    kubeconfig.write_text(kubeconfig_text(cluster.url, Credentials(cluster.ca, cluster.ca, token)))
    return connect(Connection(str(kubeconfig), namespace))


PATHS = {"ServiceAccount": ACCOUNTS, "Role": f"{RBAC}/roles", "RoleBinding": f"{RBAC}/rolebindings"}


def admitted(
    cluster: RunningCluster, namespace: str, kubeconfig: Path, without: str = "", *, gate: bool = False
) -> Verdict:
    """`gate`: it is there already, and free."""
    one = Try(deployed(cluster, namespace, kubeconfig, without))
    Try(connect(Connection(str(cluster.kubeconfig), namespace))).stand_in_line()
    if gate:
        lease = {"metadata": {"name": f"elb-blast-submit-{namespace}"}, "spec": {"holderIdentity": ""}}
        cluster.call("POST", LEASES.replace("default", namespace), lease).ok()
    return one.admit()


def test_an_admission_goes_through_with_it(cluster: RunningCluster, tmp_path: Path) -> None:
    assert admitted(cluster, "enough", tmp_path / "kubeconfig").outcome is Outcome.SUBMITTED


@pytest.mark.parametrize(
    "verb",
    ["leases get", "leases create", "leases update", "leases patch", "jobs list", "jobs create", "configmaps get"],
)
def test_a_verb_that_is_missing_is_named(cluster: RunningCluster, tmp_path: Path, verb: str) -> None:
    namespace = verb.replace(" ", "-")
    verdict = admitted(cluster, namespace, tmp_path / "kubeconfig", verb, gate=verb == "leases update")
    assert (verdict.outcome, verdict.reason) == (Outcome.REFUSED, Reason.GATE_FORBIDDEN)
    resource, word = verb.split()
    user = f'User "system:serviceaccount:{namespace}:coordui"'
    assert f'{user} cannot {word} resource "{resource}"' in verdict.detail


def test_a_quota_is_a_wait(cluster: RunningCluster, tmp_path: Path) -> None:
    namespaced = CORE.replace("default", "full")
    one = deployed(cluster, "full", tmp_path / "kubeconfig")
    hard = {"spec": {"hard": {"count/jobs.batch": "0"}}, "metadata": {"name": "no-jobs"}}
    cluster.call("POST", f"{namespaced}/resourcequotas", hard).ok()
    verdict = Try(one).admit()
    assert (verdict.outcome, verdict.reason) == (Outcome.BACK, Reason.QUOTA_FULL)
    assert "exceeded quota: no-jobs, requested: count/jobs.batch=1, used: count/jobs.batch=0" in verdict.detail


def test_kubectl_applies_the_manifests(kubectl: Kubectl, cluster: RunningCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "applied"}}).ok()
    account, files = "--as=system:serviceaccount:applied:coordui", REPOSITORY / "deploy"
    for directory, made in (("rbac", 3), ("engine", 3)):
        told = kubectl("apply", "-n", "applied", "--validate=strict", "-f", str(files / directory))
        assert [line.split()[1] for line in told.splitlines()] == ["created"] * made
    assert kubectl("auth", "can-i", "get", "pods", "--subresource=log", "-n", "applied", account, code=1) == "no\n"
    kubectl("apply", "-n", "applied", "--validate=strict", "-f", str(files / "logs"))
    assert kubectl("auth", "can-i", "get", "pods", "--subresource=log", "-n", "applied", account) == "yes\n"
    assert kubectl("auth", "can-i", "patch", "leases", "-n", "applied", account) == "yes\n"
    assert kubectl("auth", "can-i", "update", "jobs", "-n", "applied", account, code=1) == "no\n"
    assert kubectl("auth", "can-i", "get", "secrets", "-n", "applied", account, code=1) == "no\n"


# Asking what we may do ------------------------------------------------------------------------------------------------


def test_what_is_asked_for_is_what_the_manifests_give_and_what_the_gates_need() -> None:
    given = {
        (group, resource): tuple(rule["verbs"])
        for body in manifests()
        if body["kind"] == "Role"
        for rule in body["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert ASKED == given == {what: tuple(verbs.split()) for what, verbs in POWER.items()}


def test_nothing_is_lacking_with_them(cluster: RunningCluster, tmp_path: Path) -> None:
    assert lacking(deployed(cluster, "whole", tmp_path / "kubeconfig")) == []


@pytest.mark.parametrize(
    "verb", [f"{resource} {verb}" for (_, resource), verbs in POWER.items() for verb in verbs.split()]
)
def test_each_verb_that_is_missing_is_told_to_the_operator(cluster: RunningCluster, tmp_path: Path, verb: str) -> None:
    namespace = f"asked-{verb.replace(' ', '-')}"
    (told,) = lacking(deployed(cluster, namespace, tmp_path / "kubeconfig", verb))
    assert (told.resource, told.verb) == tuple(verb.split())
    sentence = str(told)
    assert f"may not {told.verb} {told.resource}" in sentence
    assert f"in namespace {namespace}: kubectl apply -n {namespace} -f deploy/rbac/" in sentence


def test_who_may_not_even_ask_is_an_error_and_not_without_power(cluster: RunningCluster, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(kubeconfig_text(cluster.url, Credentials(cluster.ca, cluster.ca, "nobody")))
    with pytest.raises(Forbidden, match="not accepted"):
        lacking(connect(Connection(str(kubeconfig), "default")))


def test_the_pulse_goes_on_asking_and_hears_of_a_change(
    cluster: RunningCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = deployed(cluster, "pulse", tmp_path / "kubeconfig", "jobs delete")
    heard: queue.Queue[Heard] = queue.Queue()
    pulse = Pulse(one, heard)
    assert pulse.power is None
    assert isinstance(pulse.ask(), Listing)
    pulse.ask_power()
    assert pulse.power is not None and ["may not delete jobs" in sentence for sentence in pulse.power] == [True]
    role = f"{RBAC}/roles/coordui".replace("default", "pulse")
    (body,) = (body for body in manifests() if body["kind"] == "Role")
    cluster.call("PUT", role, body).ok()
    pulse.ask_power()
    assert len(pulse.power) == 1  # not before a minute has passed
    pulse.power_due = 0.0
    pulse.ask_power()
    assert pulse.power == []
