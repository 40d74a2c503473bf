"""What the gates and the engine need to be allowed in the namespace, and asking the cluster whether they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from submits.cluster.errors import status_of, translate
from submits.cluster.verbs import ApiCluster
from submits.gates.ports import ClusterError

# PROTOCOL, 4: Power needed. By API group and resource; the Role in deploy/rbac/ gives exactly these.
POWER: dict[tuple[str, str], tuple[str, ...]] = {
    ("coordination.k8s.io", "leases"): ("get", "list", "watch", "create", "update", "patch", "delete"),
    ("batch", "jobs"): ("get", "list", "watch", "create", "patch", "delete"),
    ("", "pods"): ("get", "list"),
    ("", "configmaps"): ("get", "list", "watch", "create", "update", "patch"),
}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True)
class Lacking:
    """One thing that is needed and not allowed."""

    group: str
    resource: str
    verb: str
    namespace: str

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        return (
            f"the account of this dashboard may not {self.verb} {what} in namespace {self.namespace}: "
            f"kubectl apply -n {self.namespace} -f deploy/rbac/ gives it what it needs"
        )


def lacking(cluster: ApiCluster) -> list[Lacking]:
    """Every verb that the cluster would refuse us, by one SelfSubjectAccessReview each. Raises ClusterError."""
    return [one for one in needed(cluster.namespace) if not allowed(cluster, one)]


def needed(namespace: str) -> Iterator[Lacking]:
    for (group, resource), verbs in POWER.items():
        for verb in verbs:
            yield Lacking(group, resource, verb, namespace)


def allowed(cluster: ApiCluster, one: Lacking) -> bool:
    asked = {"namespace": one.namespace, "group": one.group, "resource": one.resource, "verb": one.verb}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }
    response = cluster.transport.request("POST", REVIEWS, {}, body, "application/json")
    if response.status >= 400:
        raise translate(response, "POST", "selfsubjectaccessreviews", one.namespace, "")
    status = status_of(response.body).get("status")
    if not isinstance(status, dict) or "allowed" not in status:
        raise ClusterError(f"POST selfsubjectaccessreviews in {one.namespace}: the answer is no review")
    return bool(status["allowed"])
