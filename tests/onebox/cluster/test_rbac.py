"""Who may do what: roles, reviews, quotas."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from coordui.onebox.cluster.access.rbac import Action, account_user, grants, names_user, uncovered
from coordui.onebox.cluster.authors import User
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, LEASES, Client, Reply, RunningCluster, until

RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
ACCOUNTS = f"{CORE}/serviceaccounts"
REVIEWS = "/apis/authorization.k8s.io/v1"
COORDINATION = "coordination.k8s.io"
_names = (f"who{number}" for number in count(1))


def rule(group: str, resources: str, verbs: str, **more: Any) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


def token_of(cluster: Client, name: str, path: str = ACCOUNTS, **spec: Any) -> str:
    return str(cluster.call("POST", f"{path}/{name}/token", {"spec": spec}).ok()["status"]["token"])


def somebody(cluster: Client, *rules: dict[str, Any]) -> Client:
    """A ServiceAccount with these rules in the namespace `default`; its name is the client's `name`."""
    name = next(_names)
    cluster.call("POST", ACCOUNTS, {"metadata": {"name": name}}).ok()
    if rules:
        cluster.call("POST", f"{RBAC}/roles", {"metadata": {"name": name}, "rules": list(rules)}).ok()
        bind(cluster, name, "Role", name, {"kind": "ServiceAccount", "name": name})
    return as_user(cluster, token_of(cluster, name))


def bind(cluster: Client, name: str, kind: str, role: str, subject: dict[str, Any]) -> None:
    body = {"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": [subject]}
    path = (
        f"{RBAC}/rolebindings" if kind == "Role" else f"{RBAC.split('/namespaces', maxsplit=1)[0]}/clusterrolebindings"
    )
    cluster.call("POST", path, body).ok()


def as_user(cluster: Client, token: str) -> Client:
    return Client(cluster.url, token, cluster.ca)


def who(client: Client) -> str:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    return str(client.call("POST", path, {}).ok()["status"]["userInfo"]["username"])


def refusal(reply: Reply) -> str:
    assert (reply.code, reply.body["reason"], reply.body["kind"]) == (403, "Forbidden", "Status")
    return str(reply.body["message"])


# -- the decision


@pytest.mark.parametrize(
    ("given", "wanted", "answer"),
    [
        (rule("batch", "jobs", "get list"), Action("list", "batch", "jobs"), True),
        (rule("batch", "jobs", "get list"), Action("watch", "batch", "jobs"), False),
        (rule("batch", "jobs", "get"), Action("get", "", "jobs"), False),
        (rule("batch", "jobs", "get"), Action("get", "batch", "jobs/status"), False),
        (rule("batch", "jobs/status", "patch"), Action("patch", "batch", "jobs/status"), True),
        (rule("batch", "*/status", "patch"), Action("patch", "batch", "jobs/status"), True),
        (rule("batch", "*/status", "patch"), Action("patch", "batch", "jobs"), False),
        (rule("*", "*", "*"), Action("delete", "batch", "jobs/status"), True),
        (rule("", "pods", "*", resourceNames=["a"]), Action("get", "", "pods", name="a"), True),
        (rule("", "pods", "*", resourceNames=["a"]), Action("get", "", "pods", name="b"), False),
        (rule("", "pods", "*", resourceNames=["a"]), Action("list", "", "pods"), False),
        ({"nonResourceURLs": ["/api/*"], "verbs": ["get"]}, Action("get", path="/api/v1"), True),
        ({"nonResourceURLs": ["/api/*"], "verbs": ["get"]}, Action("get", path="/apis"), False),
        ({"nonResourceURLs": ["/api/*"], "verbs": ["get"]}, Action("put", path="/api/v1"), False),
        (rule("*", "*", "*"), Action("get", path="/api"), False),
    ],
)
def test_what_a_rule_grants(given: dict[str, Any], wanted: Action, answer: bool) -> None:
    assert grants(given, wanted) is answer


def test_whom_a_subject_names() -> None:
    user = account_user("here", "me")
    account = {"kind": "ServiceAccount", "name": "me"}
    assert names_user(account, user, "here") and not names_user(account, user, "there")
    assert names_user({**account, "namespace": "here"}, user, "there")
    for group in ("system:serviceaccounts", "system:serviceaccounts:here", "system:authenticated"):
        assert names_user({"kind": "Group", "name": group}, user, "")
    assert not names_user({"kind": "Group", "name": "system:serviceaccounts:there"}, user, "")
    assert names_user({"kind": "User", "name": "a"}, User("a"), "") and not names_user(
        {"kind": "Group", "name": "a"}, User("a"), ""
    )


def test_what_is_more_than_one_has() -> None:
    have = [rule("batch", "jobs", "get list"), rule("", "pods", "*", resourceNames=["a"])]
    assert uncovered(have, [rule("batch", "jobs", "list"), rule("", "pods", "get", resourceNames=["a"])]) == []
    for more in (
        rule("batch", "jobs", "get delete"),
        rule("batch", "jobs", "*"),
        rule("batch", "*", "get"),
        rule("*", "jobs", "get"),
        rule("", "pods", "get"),
        {"nonResourceURLs": ["/"], "verbs": ["get"]},
    ):
        assert uncovered(have, [more]) == [more]
    assert uncovered([rule("*", "*", "*")], have) == []


# -- over the wire


def test_a_missing_verb_is_a_403_in_the_real_words(cluster: RunningCluster) -> None:
    client = somebody(cluster)
    here, everywhere = 'in the namespace "default"', "at the cluster scope"
    batch = f'API group "batch" {everywhere}'
    told = {
        ("GET", f"{LEASES}/x"): ('leases.C "x"', f'get resource "leases" in API group "C" {here}'),
        ("GET", LEASES): ("leases.C", f'list resource "leases" in API group "C" {here}'),
        ("GET", f"{LEASES}?watch=1"): ("leases.C", f'watch resource "leases" in API group "C" {here}'),
        ("POST", LEASES): ("leases.C", f'create resource "leases" in API group "C" {here}'),
        ("PUT", f"{LEASES}/x"): ('leases.C "x"', f'update resource "leases" in API group "C" {here}'),
        ("PATCH", f"{LEASES}/x"): ('leases.C "x"', f'patch resource "leases" in API group "C" {here}'),
        ("DELETE", f"{LEASES}/x"): ('leases.C "x"', f'delete resource "leases" in API group "C" {here}'),
        ("DELETE", LEASES): ("leases.C", f'deletecollection resource "leases" in API group "C" {here}'),
        ("GET", "/api/v1/nodes"): ("nodes", f'list resource "nodes" in API group "" {everywhere}'),
        ("GET", "/apis/batch/v1/jobs"): ("jobs.batch", f'list resource "jobs" in {batch}'),
        ("GET", f"{CORE}/pods/p/log"): ('pods "p"', f'get resource "pods/log" in API group "" {here}'),
        ("GET", "/"): ("", 'get path "/"'),
    }
    for (method, path), (what, cannot) in told.items():
        words = f'{what}{" is " if what else ""}forbidden: User "{who(client)}" cannot {cannot}'
        body = {"metadata": {"name": "x"}} if method in ("POST", "PUT") else None
        assert refusal(client.call(method, path, body)) == words.replace("C", COORDINATION, 2 if "C" in what else 0)
    details = client.call("GET", f"{LEASES}/x").body["details"]
    assert details == {"name": "x", "group": COORDINATION, "kind": "leases"}
    for path in ("/version", "/api", "/apis/batch/v1", "/openapi/v3"):
        assert client.call("GET", path).code == 200


def test_a_role_grants_in_its_namespace_and_ends_with_its_binding(cluster: RunningCluster) -> None:
    client = somebody(cluster, rule("", "configmaps", "get create"), rule("", "pods", "get"))
    name = who(client).rpartition(":")[2]
    client.call("POST", CONFIGMAPS, {"metadata": {"name": name}}).ok()
    client.call("GET", f"{CONFIGMAPS}/{name}").ok()
    refusal(client.call("GET", f"{CONFIGMAPS.replace('default', 'kube-system')}/{name}"))
    refusal(client.call("GET", f"{CORE}/pods/{name}/log"))
    refusal(client.call("DELETE", f"{CONFIGMAPS}/{name}"))
    cluster.call("DELETE", f"{RBAC}/roles/{name}").ok()
    words = refusal(client.call("GET", f"{CONFIGMAPS}/{name}"))
    assert words.endswith(f'in the namespace "default": RBAC: role.rbac.authorization.k8s.io "{name}" not found')
    cluster.call("DELETE", f"{RBAC}/rolebindings/{name}").ok()
    assert "RBAC" not in refusal(client.call("GET", f"{CONFIGMAPS}/{name}"))


def test_a_cluster_role_grants_where_it_is_bound(cluster: RunningCluster) -> None:
    client = somebody(cluster)
    subject = {"kind": "User", "name": who(client)}
    body = {"metadata": {"name": "viewer"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [subject]}
    cluster.call("POST", f"{RBAC}/rolebindings", body).ok()
    client.call("GET", CONFIGMAPS).ok()
    refusal(client.call("GET", "/api/v1/configmaps"))
    refusal(client.call("GET", f"{CORE}/secrets"))
    bind(cluster, "viewer", "ClusterRole", "view", subject)
    client.call("GET", "/api/v1/configmaps").ok()


def test_names_by_name_and_by_field_selector(cluster: RunningCluster) -> None:
    client = somebody(cluster, rule("", "configmaps", "get list watch", resourceNames=["this"]))
    assert client.call("GET", f"{CONFIGMAPS}/this").code == 404
    refusal(client.call("GET", f"{CONFIGMAPS}/that"))
    refusal(client.call("GET", CONFIGMAPS))
    client.call("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%3Dthis").ok()
    refusal(client.call("GET", f"{CONFIGMAPS}?fieldSelector=metadata.name%21%3Dthis"))


def test_a_replace_that_creates_needs_both_verbs(cluster: RunningCluster) -> None:
    client = somebody(cluster, rule(COORDINATION, "leases", "update patch"))
    lease = {"apiVersion": f"{COORDINATION}/v1", "kind": "Lease", "metadata": {"name": "upsert"}}
    assert 'cannot create resource "leases"' in refusal(client.call("PUT", f"{LEASES}/upsert", lease))
    apply = client.call("PATCH", f"{LEASES}/upsert?fieldManager=me", lease, "application/apply-patch+yaml")
    assert 'cannot create resource "leases"' in refusal(apply)
    there = cluster.call("PUT", f"{LEASES}/upsert", lease).ok()
    client.call("PUT", f"{LEASES}/upsert", there).ok()


# -- granting


def test_nobody_grants_what_he_has_not(cluster: RunningCluster) -> None:
    mine = rule("", "configmaps", "get")
    client = somebody(cluster, mine, rule("rbac.authorization.k8s.io", "roles rolebindings", "create update"))
    client.call("POST", f"{RBAC}/roles", {"metadata": {"name": "small"}, "rules": [mine]}).ok()
    words = refusal(
        client.call("POST", f"{RBAC}/roles", {"metadata": {"name": "big"}, "rules": [rule("", "secrets", "get")]})
    )
    assert "is attempting to grant RBAC permissions not currently held" in words
    assert words.endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')
    subject = {"kind": "User", "name": "friend"}
    for role, code in (("view", 403), ("cluster-admin", 403), ("small", 201)):
        kind = "Role" if role == "small" else "ClusterRole"
        body = {"metadata": {"name": f"to-{role}"}, "roleRef": {"kind": kind, "name": role}, "subjects": [subject]}
        assert client.call("POST", f"{RBAC}/rolebindings", body).code == code, role
    cluster.call("POST", f"{RBAC}/roles", {"metadata": {"name": "binder"}, "rules": [
        rule("rbac.authorization.k8s.io", "clusterroles", "bind", resourceNames=["view"])]}).ok()  # fmt: skip
    bind(cluster, "binder", "Role", "binder", {"kind": "User", "name": who(client)})
    body = {"metadata": {"name": "to-view"}, "roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [subject]}
    client.call("POST", f"{RBAC}/rolebindings", body).ok()


def test_nobody_binds_to_a_role_that_somebody_else_may_yet_make(cluster: RunningCluster) -> None:
    """But who may `bind` it, and the administrator."""
    client = somebody(cluster, rule("rbac.authorization.k8s.io", "roles rolebindings", "create get"))
    body = {"metadata": {"name": "ahead"}, "roleRef": {"kind": "Role", "name": "yet-to-come"}}
    reply = client.call("POST", f"{RBAC}/rolebindings", body)
    assert (reply.code, reply.body["reason"]) == (404, "NotFound")
    assert reply.body["message"] == 'roles.rbac.authorization.k8s.io "yet-to-come" not found'
    binder = somebody(
        cluster,
        rule("rbac.authorization.k8s.io", "rolebindings", "create"),
        rule("rbac.authorization.k8s.io", "roles", "bind", resourceNames=["yet-to-come"]),
    )
    binder.call("POST", f"{RBAC}/rolebindings", body).ok()
    cluster.call("POST", f"{RBAC}/rolebindings", {**body, "metadata": {"name": "ahead-too"}}).ok()


def test_roles_and_bindings_that_are_wrong(cluster: RunningCluster) -> None:
    def fields(path: str, body: dict[str, Any]) -> set[str]:
        reply = cluster.call("POST", f"{RBAC}/{path}", {"metadata": {"name": "wrong"}, **body})
        assert reply.code == 422, reply.body
        return {cause["field"] for cause in reply.body["details"]["causes"]}

    assert fields("roles", {"rules": [{"verbs": ["get"]}]}) == {"rules[0].apiGroups", "rules[0].resources"}
    assert fields("roles", {"rules": [rule("", "pods", "")]}) == {"rules[0].verbs"}
    assert fields("roles", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/"]}]}) == {"rules[0].nonResourceURLs"}
    assert fields("rolebindings", {"roleRef": {"kind": "Pod", "name": "x"}}) == {"roleRef.kind"}
    subjects = [{"kind": "Robot", "name": "x"}]
    assert fields("rolebindings", {"roleRef": {"kind": "Role", "name": "x"}, "subjects": subjects}) == {
        "subjects[0].kind"
    }
    bind(cluster, "fixed", "Role", "one", {"kind": "User", "name": "a"})
    body = {"metadata": {"name": "fixed"}, "roleRef": {"kind": "Role", "name": "two"}}
    assert "cannot change roleRef" in cluster.call("PUT", f"{RBAC}/rolebindings/fixed", body).body["message"]
    cluster.call("POST", f"{RBAC}/roles", {"metadata": {"name": "with:colon"}}).ok()


# -- asking


def asked(client: Client, kind: str = "selfsubjectaccessreviews", path: str = REVIEWS, **spec: Any) -> Any:
    return client.call("POST", f"{path}/{kind}", {"spec": spec}).ok()["status"]


def test_reviews_answer_what_a_request_would_meet(cluster: RunningCluster) -> None:
    client = somebody(cluster, rule("batch", "jobs/status", "patch"))
    about = {"group": "batch", "resource": "jobs", "subresource": "status", "verb": "patch", "namespace": "default"}
    assert asked(client, resourceAttributes=about) == {"allowed": True}
    for change in ({"verb": "get"}, {"subresource": ""}, {"namespace": ""}, {"namespace": "kube-system"}):
        assert asked(client, resourceAttributes=about | change) == {"allowed": False}
        assert asked(cluster, resourceAttributes=about | change) == {"allowed": True}
    assert asked(client, nonResourceAttributes={"path": "/apis/batch", "verb": "get"})["allowed"]
    assert not asked(client, nonResourceAttributes={"path": "/", "verb": "get"})["allowed"]
    user: Any = {"user": who(client), "resourceAttributes": about}
    assert asked(cluster, "subjectaccessreviews", **user)["allowed"]
    local = f"{REVIEWS}/namespaces/default"
    assert asked(cluster, "localsubjectaccessreviews", local, **user)["allowed"]
    refusal(client.call("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": user}))
    rules = asked(client, "selfsubjectrulesreviews", namespace="default")["resourceRules"]
    assert rule("batch", "jobs/status", "patch") in rules
    assert not any(
        "batch" in found["apiGroups"]
        for found in asked(client, "selfsubjectrulesreviews", namespace="x")["resourceRules"]
    )
    assert cluster.call("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {}}).code == 400


def test_acting_for_somebody_else(cluster: RunningCluster) -> None:
    client = somebody(cluster, rule("", "configmaps", "list"))
    acting: Any = {"Impersonate-User": who(client)}
    as_master, as_root = acting | {"Impersonate-Group": "system:masters"}, acting | {"Impersonate-User": "root"}
    assert cluster.call("GET", CONFIGMAPS, **acting).code == 200
    assert refusal(cluster.call("GET", LEASES, **acting)).count(who(client)) == 1
    assert cluster.call("GET", LEASES, **as_master).code == 200
    assert "impersonate" in refusal(client.call("GET", CONFIGMAPS, **as_root))
    actor = somebody(cluster, rule("", "serviceaccounts", "impersonate"))
    assert actor.call("GET", CONFIGMAPS, **acting).code == 200
    assert 'impersonate resource "groups"' in refusal(actor.call("GET", CONFIGMAPS, **as_master))


# -- quota


def test_a_quota_is_enforced_and_told(cluster: RunningCluster) -> None:
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "small"}}).ok()
    quotas, leases = "/api/v1/namespaces/small/resourcequotas", LEASES.replace("default", "small")
    hard = {"count/leases.coordination.k8s.io": "2", "configmaps": "0"}
    cluster.call("POST", quotas, {"metadata": {"name": "few"}, "spec": {"hard": hard}}).ok()
    for name in ("a", "b"):
        cluster.call("POST", leases, {"metadata": {"name": name}}).ok()
    what = "count/leases.coordination.k8s.io"
    assert refusal(cluster.call("POST", leases, {"metadata": {"name": "c"}})) == (
        f'leases.coordination.k8s.io "c" is forbidden: exceeded quota: few, requested: {what}=1, used: {what}=2, '
        f"limited: {what}=2"
    )
    status = cluster.call("GET", f"{quotas}/few").ok()["status"]
    assert status == {"hard": hard, "used": {what: "2", "configmaps": "0"}}
    refusal(cluster.call("POST", CONFIGMAPS.replace("default", "small"), {"metadata": {"name": "c"}}))
    cluster.call("DELETE", f"{leases}/a").ok()
    assert cluster.call("GET", f"{quotas}/few").ok()["status"]["used"][what] == "1"
    cluster.call("POST", leases, {"metadata": {"name": "c"}}).ok()
    assert cluster.call("GET", f"{quotas}/few").ok()["status"]["used"][what] == "2"
    cluster.call("POST", LEASES, {"metadata": {"name": "elsewhere"}}).ok()


def test_a_quota_stops_clients_and_pods_but_not_what_else_the_server_makes(cluster: RunningCluster) -> None:
    quota = {"metadata": {"name": "no-events"}, "spec": {"hard": {"events": "0"}}}
    cluster.call("POST", f"{CORE}/resourcequotas", quota).ok()
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}}
    assert "exceeded quota: no-events" in refusal(cluster.call("POST", f"{CORE}/events", event))
    cluster.job("told", "true")
    cluster.job_condition("told", "Complete")

    def told() -> bool:
        used = cluster.call("GET", f"{CORE}/resourcequotas/no-events").ok()["status"]["used"]["events"]
        return 0 < int(used) == len(cluster.call("GET", f"{CORE}/events").ok()["items"])

    until(told)
