"""What the manifests of deploy/ let the gates do: exactly what an admission needs, and each missing verb is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from coordui.onebox.cluster.access.credentials import Credentials, kubeconfig_text
from coordui.onebox.cluster.bodies import schema
from submits.cluster import ApiCluster, Connection, connect
from submits.gates.verdicts import Outcome, Verdict
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
    files = sorted((REPOSITORY / "deploy").glob("*.yaml"))
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
    told = kubectl("apply", "-n", "applied", "--validate=strict", "-f", str(REPOSITORY / "deploy" / "rbac.yaml"))
    assert [line.split()[1] for line in told.splitlines()] == ["created"] * 3
    account = "--as=system:serviceaccount:applied:coordui"
    assert kubectl("auth", "can-i", "patch", "leases", "-n", "applied", account) == "yes\n"
    assert kubectl("auth", "can-i", "update", "jobs", "-n", "applied", account, code=1) == "no\n"
    assert kubectl("auth", "can-i", "get", "secrets", "-n", "applied", account, code=1) == "no\n"
