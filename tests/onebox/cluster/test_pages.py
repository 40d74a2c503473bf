"""A LIST in pages is one snapshot, and a LIST is of the revision that it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordui.onebox.cluster.inprocess import LocalCluster
from tests.onebox.cluster.fixtures import CONFIGMAPS, MERGE, Client, Reply, running_cluster

JSON_MERGE = {"content-type": MERGE}


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


def test_writes_between_pages_do_not_appear(cluster: Client) -> None:
    for name in "bdfh":
        cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"p": "1"}}, "data": {"a": "old"}}).ok()
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "c"}}).ok()
    url = f"{CONFIGMAPS}?labelSelector=p%3D1&limit=1"
    page = cluster.call("GET", url).ok()
    found, revision = page["items"], page["metadata"]["resourceVersion"]
    assert "remainingItemCount" not in page["metadata"]  # nobody counts what a selector would have to look at
    changed = {"data": {"a": "new"}}
    cluster.call("PATCH", f"{CONFIGMAPS}/d", changed, MERGE).ok()
    cluster.call("PATCH", f"{CONFIGMAPS}/d", {"metadata": {"labels": {"p": None}}}, MERGE).ok()
    cluster.call("PATCH", f"{CONFIGMAPS}/c", {"metadata": {"labels": {"p": "1"}}}, MERGE).ok()
    cluster.call("DELETE", f"{CONFIGMAPS}/f").ok()
    for name in "eg":
        cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"p": "1"}}, **changed}).ok()
    cluster.call("DELETE", f"{CONFIGMAPS}/g").ok()
    while token := page["metadata"].get("continue"):
        page = cluster.call("GET", f"{url}&continue={token}").ok()
        assert page["metadata"]["resourceVersion"] == revision
        found += page["items"]
    assert [(item["metadata"]["name"], item["data"]["a"]) for item in found] == [(name, "old") for name in "bdfh"]
    assert names(cluster.call("GET", f"{CONFIGMAPS}?labelSelector=p%3D1").ok()) == ["b", "c", "e", "h"]
    exact = cluster.call(
        "GET", f"{CONFIGMAPS}?labelSelector=p%3D1&resourceVersion={revision}&resourceVersionMatch=Exact"
    )
    assert exact.ok()["items"] == found


def refusal(reply: Reply) -> tuple[int, str, str]:
    return reply.code, reply.body["reason"], reply.body["message"]


def test_revisions_of_a_list(cluster: Client) -> None:
    old = cluster.call("GET", CONFIGMAPS).ok()["metadata"]["resourceVersion"]
    cluster.call("POST", CONFIGMAPS, {"metadata": {"name": "rv"}}).ok()

    def listed(query: str) -> Any:
        return cluster.call("GET", f"{CONFIGMAPS}?{query}").ok()

    assert "rv" not in names(listed(f"resourceVersion={old}&resourceVersionMatch=Exact"))
    assert "rv" not in names(listed(f"resourceVersion={old}&limit=500"))
    for query in (f"resourceVersion={old}", f"resourceVersion={old}&resourceVersionMatch=NotOlderThan"):
        found = listed(query)
        assert "rv" in names(found) and int(found["metadata"]["resourceVersion"]) > int(old)
    assert "rv" in names(listed("resourceVersion=0&resourceVersionMatch=NotOlderThan"))


@pytest.mark.parametrize("path", [CONFIGMAPS, f"{CONFIGMAPS}/any"])
def test_a_revision_of_the_future_may_be_asked_for_again(cluster: Client, path: str) -> None:
    reply = cluster.call("GET", f"{path}?resourceVersion=9999999999")
    assert refusal(reply)[:2] == (504, "Timeout")
    assert reply.body["message"].startswith("Timeout: Too large resource version: 9999999999, current: ")
    assert reply.body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert (reply.body["details"]["retryAfterSeconds"], reply.headers["retry-after"]) == (1, "1")


NEEDS = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
NO_ZERO = 'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'


@pytest.mark.parametrize(
    ("query", "code", "words"),
    [
        ("resourceVersionMatch=Exact", 422, NEEDS),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422, NO_ZERO),
        (
            "resourceVersionMatch=Newest&resourceVersion=5",
            422,
            'Unsupported value: "Newest": supported values: "Exact"',
        ),
        ("sendInitialEvents=true", 422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        ("resourceVersion=5&continue=x", 400, "specifying resource version is not allowed when using continue"),
        ("resourceVersion=new", 400, "invalid resource version: "),
        ("continue=nonsense", 400, "continue key is not valid"),
        ("limit=many", 400, 'strconv.ParseInt: parsing "many": invalid syntax'),
    ],
)
def test_options_that_contradict_each_other(cluster: Client, query: str, code: int, words: str) -> None:
    reply = cluster.call("GET", f"{CONFIGMAPS}?{query}")
    assert reply.code == code
    assert words in reply.body["message"]


@pytest.fixture
def local() -> Iterator[LocalCluster]:
    cluster = LocalCluster()
    yield cluster
    cluster.close()


def made(local: LocalCluster, name: str) -> None:
    assert local.call("POST", CONFIGMAPS, body={"metadata": {"name": name}}).status == 201


def test_a_page_of_a_forgotten_list_is_410_and_can_go_on_all_the_same(local: LocalCluster) -> None:
    for name in "abd":
        made(local, name)
    first = local.call("GET", CONFIGMAPS, {"limit": "1"}).json()["metadata"]
    made(local, "c")
    local.core.store.compact(local.core.store.revision)
    late = local.call("GET", CONFIGMAPS, {"limit": "2", "continue": first["continue"]})
    assert (late.status, late.json()["reason"]) == (410, "Expired")
    assert late.json()["message"].startswith("The provided continue parameter is too old to display a consistent list")
    page = local.call("GET", CONFIGMAPS, {"limit": "2", "continue": late.json()["metadata"]["continue"]}).json()
    assert names(page) == ["b", "c"]
    assert page["metadata"]["remainingItemCount"] == 1
    assert int(page["metadata"]["resourceVersion"]) > int(first["resourceVersion"])
    exact = {"resourceVersion": first["resourceVersion"], "resourceVersionMatch": "Exact"}
    gone = local.call("GET", CONFIGMAPS, exact)
    assert (gone.status, gone.json()["message"]) == (410, "The resourceVersion for the provided list is too old.")


def test_what_is_left_is_counted_as_it_was(local: LocalCluster) -> None:
    for name in "adeg":
        made(local, name)
    page = local.call("GET", CONFIGMAPS, {"limit": "1"}).json()["metadata"]
    for name in "bcfh":
        made(local, name)
    local.call("DELETE", f"{CONFIGMAPS}/g")
    left = []
    while "continue" in page:
        left.append(page["remainingItemCount"])
        page = local.call("GET", CONFIGMAPS, {"limit": "1", "continue": page["continue"]}).json()["metadata"]
    assert left == [3, 2, 1]


def test_pages_go_on_after_a_restart(tmp_path: Path) -> None:
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        for name in "abc":
            cluster.call("POST", CONFIGMAPS, {"metadata": {"name": name}}).ok()
        token = cluster.call("GET", f"{CONFIGMAPS}?limit=1").ok()["metadata"]["continue"]
        cluster.call("DELETE", f"{CONFIGMAPS}/b").ok()
    with running_cluster(tmp_path, run_jobs=False) as cluster:
        assert names(cluster.call("GET", f"{CONFIGMAPS}?continue={token}").ok()) == ["b", "c"]


_STEPS = st.lists(st.tuples(st.sampled_from(["make", "change", "delete"]), st.sampled_from("abcdef")), max_size=12)
_LABELS = st.sampled_from(["", "k=1", "k!=1", "k"])


def take(local: LocalCluster, step: str, name: str, number: int) -> None:
    body = {"metadata": {"name": name, "labels": {"k": str(number % 2)} if number % 3 else {}}}
    if step == "make":
        local.call("POST", CONFIGMAPS, body=body)
    elif step == "change":
        label = {"metadata": {"labels": {"k": str(number % 2) if number % 3 else None}}, "data": {"n": str(number)}}
        local.call("PATCH", f"{CONFIGMAPS}/{name}", headers=JSON_MERGE, body=label)
    else:
        local.call("DELETE", f"{CONFIGMAPS}/{name}")


@settings(max_examples=25, deadline=None)
@given(_STEPS, _STEPS, _LABELS, st.integers(1, 3))
def test_any_writes_between_any_pages(
    before: list[tuple[str, str]], between: list[tuple[str, str]], labels: str, limit: int
) -> None:
    """The pages put together are the list as it was, and each tells how many are left of it."""
    local = LocalCluster()
    for number, (step, name) in enumerate(before):
        take(local, step, name, number)
    query = {"labelSelector": labels} if labels else {}
    wanted = local.call("GET", CONFIGMAPS, query).json()["items"]
    found: list[Any] = []
    steps = list(enumerate(between))
    more: dict[str, str] = {}
    while True:
        page = local.call("GET", CONFIGMAPS, {**query, **more, "limit": str(limit)}).json()
        found += page["items"]
        if "continue" not in page["metadata"]:
            break
        if not labels:
            assert page["metadata"]["remainingItemCount"] == len(wanted) - len(found)
        more = {"continue": page["metadata"]["continue"]}
        for number, (step, name) in steps[:3]:
            take(local, step, name, number + 7)
        steps = steps[3:]
    local.close()
    assert found == wanted
