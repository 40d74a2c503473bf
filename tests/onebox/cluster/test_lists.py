"""Selectors, the forms of an answer, discovery."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordui.onebox.cluster.storage import selectors
from coordui.onebox.cluster.storage.resources import CONFIGMAPS as RESOURCE
from coordui.onebox.cluster.storage.selectors import parse, terms_of
from coordui.onebox.cluster.storage.store import Store
from tests.onebox.cluster.fixtures import CONFIGMAPS, CORE, JOBS, LEASES, PODS, Client

LABELS = ({"app": "a", "tier": "x"}, {"app": "b", "tier": "x"}, {"app": "c"})


@pytest.fixture(scope="module")
def labelled(cluster: Client) -> Client:
    for index, labels in enumerate(LABELS):
        body = {"metadata": {"name": f"sel{index}", "labels": labels | {"run": "sel"}}, "data": {"a": "1"}}
        cluster.call("POST", CONFIGMAPS, body).ok()
    return cluster


def names(cluster: Client, path: str, **query: str) -> list[str]:
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
def test_label_selectors(labelled: Client, selector: str, found: str) -> None:
    wanted = [f"sel{digit}" for digit in found]
    assert names(labelled, CONFIGMAPS, labelSelector=f"run=sel,{selector}") == wanted


def test_field_selectors(labelled: Client) -> None:
    here = f"metadata.namespace={labelled.namespace}"
    assert names(labelled, CONFIGMAPS, fieldSelector="metadata.name=sel1") == ["sel1"]
    assert "sel1" not in names(labelled, CONFIGMAPS, fieldSelector=f"metadata.name!=sel1,{here}")
    assert names(labelled, "/api/v1/configmaps", fieldSelector=f"{here},metadata.name==sel2") == ["sel2"]
    assert names(labelled, "/api/v1/configmaps", fieldSelector="metadata.namespace=nowhere") == []
    assert names(labelled, CONFIGMAPS, fieldSelector="metadata.name=sel1", labelSelector="app!=b") == []
    assert names(labelled, "/api/v1/nodes", fieldSelector="spec.unschedulable=false")
    assert not names(labelled, "/api/v1/nodes", fieldSelector="spec.unschedulable=true")


BAD_VALUE = 'unable to parse requirement: values[0][a]: Invalid value: "-": a valid label must'


@pytest.mark.parametrize(
    ("path", "query", "message"),
    [
        (JOBS, "fieldSelector=spec.foo%3D1", 'field label "spec.foo" not supported for Job'),
        (PODS, "fieldSelector=spec.foo%3D1", "field label not supported: spec.foo"),
        (
            LEASES,
            "fieldSelector=a%3D1",
            '"a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        (JOBS, "fieldSelector=status.successful", "invalid selector: 'status.successful'; can't understand"),
        (JOBS, "labelSelector=a%20b", "unable to parse requirement: "),
        (JOBS, "labelSelector=a%20in%20b", "unable to parse requirement: "),
        (JOBS, "labelSelector=a%3D-", BAD_VALUE),
        (JOBS, "labelSelector=a/b/c", "unable to parse requirement: "),
    ],
)
def test_selectors_that_are_none(labelled: Client, path: str, query: str, message: str) -> None:
    reply = labelled.call("GET", f"{path}?{query}")
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    assert message in reply.body["message"]


def test_a_label_that_is_nobodys_selects_nobody(labelled: Client) -> None:
    assert names(labelled, CONFIGMAPS, labelSelector="app=nobody") == []
    assert names(labelled, CONFIGMAPS, labelSelector="run=sel,app in (,a)") == ["sel0"]
    assert names(labelled, CONFIGMAPS, labelSelector="run=sel,tier=") == []


def test_jobs_that_have_not_succeeded(cluster: Client) -> None:
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


def test_pods_by_phase(cluster: Client) -> None:
    cluster.job("phase", "true")
    cluster.job_condition("phase", "Complete")
    assert names(cluster, PODS, labelSelector="job-name=phase", fieldSelector="status.phase=Succeeded")
    assert not names(cluster, PODS, labelSelector="job-name=phase", fieldSelector="status.phase=Running")


def test_lists_look_like_the_real_ones(labelled: Client) -> None:
    found = labelled.call("GET", LEASES).ok()
    assert (found["kind"], found["apiVersion"]) == ("LeaseList", "coordination.k8s.io/v1")
    everywhere = names(labelled, "/api/v1/configmaps", labelSelector="run=sel")
    assert everywhere == ["sel0", "sel1", "sel2"]
    assert labelled.call("GET", f"{CORE}/nothing").code == 404


METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


def test_metadata_alone(labelled: Client) -> None:
    found = labelled.call("GET", f"{CONFIGMAPS}?labelSelector=run%3Dsel", accept=METADATA).ok()
    assert (found["kind"], found["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    full = labelled.call("GET", f"{CONFIGMAPS}?labelSelector=run%3Dsel").ok()
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    assert found["items"] == [{**kind, "metadata": item["metadata"]} for item in full["items"]]
    assert labelled.call("GET", f"{CONFIGMAPS}/sel0", accept=ONE).ok() == found["items"][0]
    (event,) = labelled.events(f"{CONFIGMAPS}?watch=1&labelSelector=app%3Da,run%3Dsel&timeoutSeconds=1", 1, accept=ONE)
    assert event == ("ADDED", found["items"][0])


def test_what_cannot_be_had_is_406(labelled: Client) -> None:
    reply = labelled.call("GET", CONFIGMAPS, accept="application/json;as=Poem;g=meta.k8s.io;v=v1")
    assert (reply.code, reply.body["reason"]) == (406, "NotAcceptable")
    assert labelled.call("GET", CONFIGMAPS, accept="text/plain, */*").ok()["kind"] == "ConfigMapList"


def test_a_table_in_a_watch(labelled: Client) -> None:
    """`kubectl get -w`: only the first has heads."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    url = f"{CONFIGMAPS}?watch=1&labelSelector=run%3Dsel&timeoutSeconds=1"
    first, second, _ = (table for _, table in labelled.events(url, 3, accept=accept))
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert not second["columnDefinitions"]
    assert [table["rows"][0]["cells"][:2] for table in (first, second)] == [["sel0", 1], ["sel1", 1]]


def table(cluster: Client, path: str) -> dict[str, dict[str, Any]]:
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    found = cluster.call("GET", path, accept=accept).ok()
    assert found["kind"] == "Table"
    heads = [column["name"] for column in found["columnDefinitions"]]
    return {row["object"]["metadata"]["name"]: dict(zip(heads, row["cells"], strict=True)) for row in found["rows"]}


def test_tables(cluster: Client) -> None:
    cluster.job("shown", "true")
    cluster.job_condition("shown", "Complete")
    cluster.call("POST", LEASES, {"metadata": {"name": "shown"}, "spec": {"holderIdentity": "me"}}).ok()
    job = table(cluster, JOBS)["shown"]
    assert (job["Status"], job["Completions"]) == ("Complete", "1/1")
    assert table(cluster, f"{LEASES}/shown")["shown"]["Holder"] == "me"
    (pod,) = table(cluster, f"{PODS}?labelSelector=job-name%3Dshown").values()
    assert (pod["Status"], pod["Ready"]) == ("Completed", "0/1")
    assert "Ready" in [row["Status"] for row in table(cluster, "/api/v1/nodes").values()]


@pytest.mark.parametrize("slash", ["", "/"])
def test_discovery(cluster: Client, slash: str) -> None:
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


@pytest.mark.parametrize("many", [0, selectors.MANY])
@settings(max_examples=40, deadline=None)
@given(selector=_SELECTORS, labels=_OBJECTS)
def test_lists_and_watches_select_alike(many: int, selector: str, labels: list[dict[str, str]]) -> None:
    """Whether a list begins with the index, or looks at every object."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selectors, "MANY", many)
        _select_alike(selector, labels)


def _select_alike(selector: str, labels: list[dict[str, str]]) -> None:
    store = Store(":memory:")
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
