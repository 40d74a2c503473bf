"""Strategic merge patches and their directives."""

from __future__ import annotations

from typing import Any

import pytest

from coordui.onebox.cluster.errors import ApiError
from coordui.onebox.cluster.storage.objects import clone
from coordui.onebox.cluster.writes.strategic import strategic
from tests.onebox.cluster import fixtures
from tests.onebox.cluster.fixtures import CONFIGMAPS, STRATEGIC, RunningCluster


def names(items: list[dict[str, Any]], key: str = "name") -> str:
    return "".join(item[key] for item in items)


def named(text: str) -> list[dict[str, Any]]:
    return [{"name": letter} for letter in text]


def test_lists_are_merged_by_their_key_as_sets_or_replaced() -> None:
    old: dict[str, Any] = {
        "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}],
        "finalizers": ["x"],
        "args": ["1", "2"],
        "tolerations": [{"key": "a"}],
    }
    before = clone(old)
    new = {
        "containers": [{"name": "b", "image": "2", "env": [{"name": "e", "value": None}]}, {"name": "c"}],
        "finalizers": ["x", "y"],
        "args": ["3"],
        "tolerations": [{"key": "b"}],
    }
    assert strategic(old, new) == {
        "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2", "env": [{"name": "e"}]}, {"name": "c"}],
        "finalizers": ["x", "y"],
        "args": ["3"],
        "tolerations": [{"key": "b"}],
    }
    assert old == before


def test_ports_by_their_own_key() -> None:
    old = {"ports": [{"containerPort": 80, "name": "a"}]}
    assert strategic(old, {"ports": [{"containerPort": 80, "name": "b"}]}) == {
        "ports": [{"containerPort": 80, "name": "b"}]
    }
    old = {"ports": [{"port": 80, "targetPort": 1}]}
    assert strategic(old, {"ports": [{"port": 81}]})["ports"] == [{"port": 80, "targetPort": 1}, {"port": 81}]


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ({"a": {"$patch": "replace", "d": 3}}, {"a": {"d": 3}, "containers": named("xy")}),
        ({"a": {"$patch": "merge", "d": 3}}, {"a": {"b": 1, "c": 2, "d": 3}, "containers": named("xy")}),
        ({"a": {"$patch": "delete"}}, {"containers": named("xy")}),
        ({"a": None}, {"containers": named("xy")}),
        ({"$patch": "replace", "e": 1}, {"e": 1}),
        ({"a": {"$retainKeys": ["b", "d"], "d": 3}}, {"a": {"b": 1, "d": 3}, "containers": named("xy")}),
        ({"containers": [{"$patch": "replace"}, {"name": "z"}]}, {"a": {"b": 1, "c": 2}, "containers": named("z")}),
        ({"containers": [{"$patch": "replace"}]}, {"a": {"b": 1, "c": 2}, "containers": []}),
        ({"containers": [{"$patch": "delete", "name": "x"}]}, {"a": {"b": 1, "c": 2}, "containers": named("y")}),
        ({"containers": [{"$patch": "delete", "name": "?"}]}, {"a": {"b": 1, "c": 2}, "containers": named("xy")}),
    ],
)
def test_patch_directives(patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert strategic({"a": {"b": 1, "c": 2}, "containers": named("xy")}, patch) == result


def test_items_of_lists_of_words_are_deleted_by_value() -> None:
    old = {"finalizers": ["a", "b", "c"]}
    patch = {"$deleteFromPrimitiveList/finalizers": ["b", "?"], "finalizers": ["d"]}
    assert strategic(old, patch) == {"finalizers": ["a", "c", "d"]}


@pytest.mark.parametrize(
    ("old", "patched", "order", "result"),
    [
        ("abc", "", "cba", "cba"),
        ("abc", "d", "dabc", "dabc"),
        ("ab", "c", "cb", "acb"),  # a stood in front of b, and c is new
        ("abc", "", "ca", "bca"),
        ("xab", "", "ba", "xba"),
        ("abx", "", "ba", "bax"),
    ],
)
def test_the_order_of_a_list(old: str, patched: str, order: str, result: str) -> None:
    patch = {"containers": named(patched), "$setElementOrder/containers": named(order)}
    assert names(strategic({"containers": named(old)}, patch)["containers"]) == result


def test_the_order_of_a_list_of_words() -> None:
    patch = {"finalizers": ["c"], "$setElementOrder/finalizers": ["c", "b"]}
    assert strategic({"finalizers": ["a", "b"]}, patch)["finalizers"] == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"containers": [{"image": "1"}]}, "does not contain declared merge key: name"),
        ({"a": {"$patch": "explode"}}, "Unknown patch type found: explode"),
        ({"a": {"$retainKeys": ["b"], "d": 3}}, "must contain all the fields in the patch"),
        (
            {"containers": named("z"), "$setElementOrder/containers": named("x")},
            "doesn't match .setElementOrder list",
        ),
    ],
)
def test_directives_that_make_no_sense(patch: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError, match=words) as caught:
        strategic({}, patch)
    assert caught.value.code == 400


def test_over_the_wire(cluster: RunningCluster) -> None:
    cluster.job("strategic", "sleep", parallelism=0)
    url = f"{fixtures.JOBS}/strategic"
    patch = {"metadata": {"labels": {"a": "1"}}, "spec": {"$retainKeys": ["suspend"], "suspend": True}}
    assert cluster.call("PATCH", url, patch, STRATEGIC).code == 422, "a Job's template stays"
    patch["spec"] = {"suspend": True}
    found = cluster.call("PATCH", url, patch, STRATEGIC).ok()
    assert (found["metadata"]["labels"], found["spec"]["suspend"]) == ({"a": "1"}, True)
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "default"}
    uid = cluster.call("GET", "/api/v1/namespaces/default").ok()["metadata"]["uid"]
    meta = {"name": "strategic", "ownerReferences": [{**owner, "uid": uid}], "finalizers": ["x/a", "x/b"]}
    cluster.call("POST", CONFIGMAPS, {"metadata": meta}).ok()
    drop = {"ownerReferences": [{"$patch": "delete", "uid": uid}], "$deleteFromPrimitiveList/finalizers": ["x/a"]}
    found = cluster.call("PATCH", f"{CONFIGMAPS}/strategic", {"metadata": drop}, STRATEGIC).ok()["metadata"]
    assert "ownerReferences" not in found and found["finalizers"] == ["x/b"]
