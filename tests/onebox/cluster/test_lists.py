"""Selectors, pages, tables, discovery."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordui.onebox.cluster.resources import CONFIGMAPS as RESOURCE
from coordui.onebox.cluster.selectors import parse, terms_of
from coordui.onebox.cluster.store import Store
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, JOBS, LEASES, MERGE, PODS, RunningCluster, running_cluster

LABELS = ({"app": "a", "tier": "x"}, {"app": "b", "tier": "x"}, {"app": "c"})


@pytest.fixture(scope="module")
def labelled(cluster: RunningCluster) -> RunningCluster:
    for index, labels in enumerate(LABELS):
        body = {"metadata": {"name": f"sel{index}", "labels": labels | {"run": "sel"}}, "data": {"a": "1"}}
        cluster.call("POST", CONFIGMAPS, body).ok()
    return cluster


def names(cluster: RunningCluster, path: str, **query: str) -> list[str]:
    words = "&".join(f"{key}={quote(value)}" for key, value in query.items())
    return [item["metadata"]["name"] for item in cluster.call("GET", f"{path}?{words}").ok()["items"]]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=a", "0"),
        ("app==a", "0"),
        ("app!=a", "12"),
        ("app in (a, b)", "01"),
        ("app notin (a,b)", "2"),
        ("tier", "01"),
        ("!tier", "2"),
        ("tier=x,app=b", "1"),
        ("app in (a),tier notin (y),!other", "0"),
    ],
)
def test_label_selectors(labelled: RunningCluster, selector: str, found: str) -> None:
    wanted = [f"sel{digit}" for digit in found]
    assert names(labelled, CONFIGMAPS, labelSelector=f"run=sel,{selector}") == wanted


def test_field_selectors(labelled: RunningCluster) -> None:
    assert names(labelled, CONFIGMAPS, fieldSelector="metadata.name=sel1") == ["sel1"]
    assert "sel1" not in names(labelled, CONFIGMAPS, fieldSelector="metadata.name!=sel1,metadata.namespace=default")
    assert names(labelled, "/api/v1/configmaps", fieldSelector="metadata.namespace=kube-system") == []
    reply = labelled.call("GET", f"{JOBS}?fieldSelector=spec.foo%3D1")
    assert (reply.code, reply.body["message"]) == (400, 'field label "spec.foo" not supported for Job')
    assert labelled.call("GET", f"{JOBS}?labelSelector=a%20b").code == 400


def test_jobs_that_have_not_succeeded(cluster: RunningCluster) -> None:
    """The gates' own LIST: exact, also while some still run."""
    cluster.job("done", "true", labels={"app": "submit"})
    cluster.job("fails", "false", labels={"app": "submit"}, backoffLimit=0)
    cluster.job("parked", "true", labels={"app": "finalizer"}, parallelism=0)
    cluster.job("other", "true", labels={"app": "else"}, parallelism=0)
    cluster.job_condition("done", "Complete")
    cluster.job_condition("fails", "Failed")
    selector = "app in (finalizer,submit,blast)"
    assert names(cluster, JOBS, labelSelector=selector, fieldSelector="status.successful=0") == ["fails", "parked"]
    assert names(cluster, JOBS, labelSelector=selector, fieldSelector="status.successful!=0") == ["done"]


def test_pods_by_phase(cluster: RunningCluster) -> None:
    cluster.job("phase", "true")
    cluster.job_condition("phase", "Complete")
    assert names(cluster, PODS, labelSelector="job-name=phase", fieldSelector="status.phase=Succeeded")
    assert not names(cluster, PODS, labelSelector="job-name=phase", fieldSelector="status.phase=Running")


def test_pages(labelled: RunningCluster) -> None:
    url = f"{CONFIGMAPS}?labelSelector=run%3Dsel&limit=2"
    first = labelled.call("GET", url).ok()
    labelled.call("PATCH", f"{CONFIGMAPS}/sel0", {"data": {"moves": "the revision"}}, MERGE).ok()
    second = labelled.call("GET", f"{url}&continue={first['metadata']['continue']}").ok()
    assert [item["metadata"]["name"] for item in first["items"] + second["items"]] == ["sel0", "sel1", "sel2"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}
    assert labelled.call("GET", f"{url}&continue=nonsense").code == 400


def test_a_page_of_a_forgotten_list_is_410(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        for name in "abc":
            cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name}}).ok()
        first = cluster.call("GET", f"{CONFIGMAPS}?limit=1").ok()
        assert first["metadata"]["remainingItemCount"] == 2
    store = Store(tmp_path / "cluster" / "cluster.sqlite3")
    store.compact(store.revision + 1)
    store.close()
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        reply = cluster.call("GET", f"{CONFIGMAPS}?limit=1&continue={first['metadata']['continue']}")
        assert (reply.code, reply.body["reason"]) == (410, "Expired")


def test_lists_look_like_the_real_ones(labelled: RunningCluster) -> None:
    found = labelled.call("GET", LEASES).ok()
    assert (found["kind"], found["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    everywhere = names(labelled, "/api/v1/configmaps", labelSelector="run=sel")
    assert everywhere == ["sel0", "sel1", "sel2"]
    assert labelled.call("GET", f"{CORE}/nothing").code == 404
    assert labelled.call("GET", f"{CONFIGMAPS}?resourceVersion=99999999").code == 504


def table(cluster: RunningCluster, path: str) -> dict[str, dict[str, Any]]:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    found = cluster.call("GET", path, accept=accept).ok()
    assert found["kind"] == "Table"
    heads = [column["name"] for column in found["columnDefinitions"]]
    return {row["object"]["metadata"]["name"]: dict(zip(heads, row["cells"], strict=True)) for row in found["rows"]}


def test_tables(cluster: RunningCluster) -> None:
    cluster.job("shown", "true")
    cluster.job_condition("shown", "Complete")
    cluster.call("POST", LEASES, {"metadata": {"name": "shown"}, "spec": {"holderIdentity": "me"}}).ok()
    job = table(cluster, JOBS)["shown"]
    assert (job["Status"], job["Completions"]) == ("Complete", "1/1")
    assert table(cluster, f"{LEASES}/shown")["shown"]["Holder"] == "me"
    (pod,) = table(cluster, f"{PODS}?labelSelector=job-name%3Dshown").values()
    assert (pod["Status"], pod["Ready"]) == ("Completed", "0/1")
    assert table(cluster, "/api/v1/nodes")["onebox"]["Status"] == "Ready"


@pytest.mark.parametrize("slash", ["", "/"])
def test_discovery(cluster: RunningCluster, slash: str) -> None:
    def get(path: str) -> Any:
        return cluster.call("GET", path + slash).ok()

    assert get("/version")["major"] == "1"
    assert {group["name"] for group in get("/apis")["groups"]} >= {"batch", "coordination.k8s.io"}
    assert get("/apis/batch")["preferredVersion"]["groupVersion"] == "batch/v1"
    core = get("/api/v1")
    assert core["groupVersion"] == "v1"
    assert {"pods", "pods/log", "pods/status"} <= {item["name"] for item in core["resources"]}
    path = get("/openapi/v3/apis/batch/v1")["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]
    assert path["patch"]["parameters"][0]["name"] == "fieldValidation"


_SELECTORS = st.lists(
    st.sampled_from(["a=1", "a!=1", "a in (1,2)", "a notin (1,2)", "a", "!a", "b=1", "b!=2", "b", "!b", "b notin (1)"]),
    max_size=3,
).map(",".join)
_OBJECTS = st.lists(st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", ""])), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None)
@given(_SELECTORS, _OBJECTS)
def test_lists_and_watches_select_alike(selector: str, labels: list[dict[str, str]]) -> None:
    store = Store(Path(":memory:"))
    try:
        objects = [
            store.add(RESOURCE, {"metadata": {"name": f"n{index}", "uid": f"u{index}", "labels": found}})
            for index, found in enumerate(labels)
        ]
        wanted = parse(RESOURCE, selector, "")
        listed = [row.name for row in store.select(RESOURCE, None, wanted)]
        watched = [
            obj["metadata"]["name"]
            for obj in objects
            if wanted.matches("", obj["metadata"]["name"], terms_of(RESOURCE, obj))
        ]
    finally:
        store.close()
    assert listed == watched
