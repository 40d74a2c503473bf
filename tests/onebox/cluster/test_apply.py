"""Server-side apply: who owns what, conflicts, and what goes with its last owner."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from coordui.onebox.cluster.authors import Author
from coordui.onebox.cluster.errors import ApiError
from coordui.onebox.cluster.storage.objects import clone, prune
from coordui.onebox.cluster.writes import managed
from coordui.onebox.cluster.writes.apply import apply_to
from tests.onebox.cluster import fixtures
from tests.onebox.cluster.fixtures import APPLY, CONFIGMAPS, LEASES, MERGE, Reply, RunningCluster

_names = (f"ssa{number}" for number in count(1))


class Applied:
    """One ConfigMap that several managers apply."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.cluster, self.url = cluster, f"{CONFIGMAPS}/{next(_names)}"

    def apply(self, manager: str, data: dict[str, str], query: str = "", **metadata: Any) -> Reply:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        return self.cluster.call("PATCH", f"{self.url}?fieldManager={manager}{query}", body, APPLY)

    def update(self, manager: str, data: dict[str, Any]) -> Any:
        return self.cluster.call("PATCH", f"{self.url}?fieldManager={manager}", {"data": data}, MERGE).ok()

    def data(self) -> dict[str, str]:
        found: dict[str, str] = self.cluster.call("GET", self.url).ok().get("data", {})
        return found

    def owners(self) -> dict[str, set[str]]:
        """The managers and their fields of `data`; an Update manager's name ends with an exclamation mark."""
        entries = self.cluster.call("GET", self.url).ok()["metadata"].get("managedFields", ())
        return {
            entry["manager"] + ("" if entry["operation"] == "Apply" else "!"): {
                name.removeprefix("f:") for name in entry["fieldsV1"].get("f:data", {})
            }
            for entry in entries
        }


@pytest.fixture
def thing(cluster: RunningCluster) -> Applied:
    return Applied(cluster)


def test_each_manager_owns_what_it_applies(thing: Applied) -> None:
    assert thing.apply("one", {"a": "1", "b": "1"}).code == 201
    assert thing.apply("two", {"a": "1", "c": "1"}).code == 200
    assert thing.owners() == {"one": {"a", "b"}, "two": {"a", "c"}}
    thing.apply("one", {"b": "1"}).ok()
    assert (thing.data(), thing.owners()) == ({"a": "1", "b": "1", "c": "1"}, {"one": {"b"}, "two": {"a", "c"}})
    thing.apply("two", {}).ok()
    assert (thing.data(), thing.owners()) == ({"b": "1"}, {"one": {"b"}})


def test_a_conflict_names_manager_and_field(thing: Applied) -> None:
    thing.apply("one", {"x": "1", "y": "1"}).ok()
    reply = thing.apply("two", {"x": "2"})
    assert (reply.code, reply.body["reason"]) == (409, "Conflict")
    assert reply.body["message"] == 'Apply failed with 1 conflict: conflict with "one": .data.x'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.x"}
    assert reply.body["details"] == {"causes": [cause]}
    thing.update("kubectl", {"x": "3"})
    reply = thing.apply("two", {"x": "2", "y": "2"})
    assert reply.body["message"] == (
        'Apply failed with 2 conflicts: conflicts with "kubectl" using v1:\n- .data.x\nconflicts with "one":\n- .data.y'
    )
    assert thing.data() == {"x": "3", "y": "1"}
    assert thing.apply("two", {"x": "3", "y": "1"}).code == 200, "to agree is no conflict"


def test_force_takes_fields_over(thing: Applied) -> None:
    thing.apply("one", {"x": "1", "y": "1"}).ok()
    thing.apply("two", {"x": "2"}, "&force=true").ok()
    assert (thing.data()["x"], thing.owners()) == ("2", {"one": {"y"}, "two": {"x"}})
    assert thing.apply("one", {"y": "1"}).code == 200
    assert thing.data() == {"x": "2", "y": "1"}, "what somebody else took over does not go"


def test_an_update_takes_ownership_without_asking(thing: Applied) -> None:
    thing.apply("one", {"x": "1", "y": "1"}).ok()
    thing.update("editor", {"x": "2"})
    assert thing.owners() == {"one": {"y"}, "editor!": {"x"}}
    thing.update("editor", {"x": None})
    assert thing.owners() == {"one": {"y"}}
    thing.apply("one", {"x": "1"}).ok()
    assert (thing.data(), thing.owners()) == ({"x": "1"}, {"one": {"x"}})


def test_the_same_again_changes_nothing(thing: Applied) -> None:
    first = thing.apply("one", {"x": "1"}).ok()
    thing.cluster.faults.clock.offset = 100
    try:
        assert thing.apply("one", {"x": "1"}).ok() == first
        second = thing.apply("one", {"x": "2"}).ok()
    finally:
        thing.cluster.faults.clear()
    (before,), (after,) = first["metadata"]["managedFields"], second["metadata"]["managedFields"]
    assert after["time"] > before["time"] and after["fieldsV1"] == before["fieldsV1"]


def test_a_revision_and_a_name_in_an_apply(thing: Applied) -> None:
    revision = thing.apply("one", {"x": "1"}).ok()["metadata"]["resourceVersion"]
    thing.apply("one", {"x": "2"}).ok()
    assert thing.apply("one", {"x": "3"}, resourceVersion=revision).code == 409
    assert thing.apply("one", {"x": "3"}, name="other").code == 400
    assert thing.apply("", {"x": "3"}).code == 422
    assert thing.apply("one", {"x": "3"}, "&dryRun=All").ok()["data"] == {"x": "3"}
    assert thing.data() == {"x": "2"}


def test_required_fields_are_asked_of_the_result(cluster: RunningCluster) -> None:
    cluster.job("ssa-job", "true", parallelism=0)
    url = f"{fixtures.JOBS}/ssa-job?fieldManager=me"
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": True}}
    assert cluster.call("PATCH", url, job | {"status": {"failed": 9}}, APPLY).code == 409
    found = cluster.call("PATCH", f"{url}&force=true", job | {"status": {"failed": 9}}, APPLY).ok()
    assert found["spec"]["suspend"] and found["spec"]["template"] and "failed" not in found["status"]
    reply = cluster.call("PATCH", f"{fixtures.JOBS}/ssa-new?fieldManager=me", job, APPLY)
    assert (reply.code, reply.body["reason"]) == (422, "Invalid")


def test_a_leases_times_are_owned_one_by_one(cluster: RunningCluster) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "me"}}
    cluster.call("PATCH", f"{LEASES}/ssa?fieldManager=me", lease, APPLY).ok()
    beat = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
    found = cluster.call("PATCH", f"{LEASES}/ssa?fieldManager=beat", beat, MERGE).ok()
    owned = {entry["manager"]: entry["fieldsV1"] for entry in found["metadata"]["managedFields"]}
    assert owned == {"me": {"f:spec": {"f:holderIdentity": {}}}, "beat": {"f:spec": {"f:renewTime": {}}}}


# -- lists, without a server


def container(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def applied_in_turn(*turns: tuple[str, dict[str, Any]], force: bool = False) -> dict[str, Any]:
    """The spec after each manager has applied its own in turn."""
    obj: dict[str, Any] | None = None
    for manager, spec in turns:
        wanted = {"metadata": {}, "spec": spec}
        author = Author(manager, "Apply")
        new = clone(wanted) if obj is None else prune(apply_to(obj, wanted, author, force=force))
        managed.stamp(obj, new, author, api_version="v1", time="now", applied=wanted)
        obj = new
    assert obj is not None
    return obj


def test_keyed_lists_are_merged_by_item() -> None:
    one = {"containers": [container("a", image="1"), container("b", image="1")]}
    two = {"containers": [container("a", env=[{"name": "e", "value": "1"}]), container("c", image="1")]}
    obj = applied_in_turn(("one", one), ("two", two))
    env = [{"name": "e", "value": "1"}]
    assert obj["spec"]["containers"] == [
        container("a", image="1", env=env),
        *one["containers"][1:],
        container("c", image="1"),
    ]
    owned = obj["metadata"]["managedFields"][1]["fieldsV1"]["f:spec"]["f:containers"]
    item = owned['k:{"name":"a"}']
    assert set(item) == {".", "f:name", "f:env"} and set(item["f:env"]) == {'k:{"name":"e"}'}
    obj = applied_in_turn(("one", one), ("two", two), ("two", {"containers": [container("c", image="1")]}))
    assert obj["spec"]["containers"] == [*one["containers"], container("c", image="1")]
    obj = applied_in_turn(("one", one), ("two", two), ("one", {"containers": [container("b", image="1")]}))
    assert obj["spec"]["containers"][0] == container("a", env=env), "the item stays for its other owner, the image goes"
    obj = applied_in_turn(("one", one), ("one", {"containers": one["containers"][1:]}))
    assert obj["spec"]["containers"] == one["containers"][1:]


def test_an_item_stays_for_who_has_changed_a_field_of_it() -> None:
    obj = applied_in_turn(("one", {"containers": [container("a", image="1", args=["x"])]}))
    edited = clone(obj)
    edited["spec"]["containers"][0]["image"] = "2"
    managed.stamp(obj, edited, Author("editor"), api_version="v1", time="now")
    left = apply_to(edited, {"metadata": {}, "spec": {}}, Author("one", "Apply"), force=False)
    assert left["spec"]["containers"] == [container("a", image="2")]


def test_ports_have_two_keys() -> None:
    tcp, udp = {"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}
    obj = applied_in_turn(("one", {"ports": [tcp]}), ("two", {"ports": [udp]}), ("two", {"ports": [udp, tcp]}))
    assert obj["spec"]["ports"] == [tcp, udp]
    owned = obj["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:ports"]
    assert list(owned) == ['k:{"containerPort":80,"protocol":"TCP"}']


def test_sets_are_united_and_a_word_goes_with_its_last_owner() -> None:
    turns = [("one", {"finalizers": ["a", "b"]}), ("two", {"finalizers": ["b", "c"]})]
    assert applied_in_turn(*turns)["spec"]["finalizers"] == ["a", "b", "c"]
    assert applied_in_turn(*turns, ("one", {}))["spec"]["finalizers"] == ["b", "c"]


def test_other_lists_and_some_maps_belong_to_one_manager() -> None:
    for part in ({"args": ["1"]}, {"nodeSelector": {"a": "1"}}):
        (name,) = part
        other: Any = ["2"] if name == "args" else {"b": "2"}
        with pytest.raises(ApiError, match=f"\\.spec\\.{name}"):
            applied_in_turn(("one", part), ("two", {name: other}))
        assert applied_in_turn(("one", part), ("two", {name: other}), force=True)["spec"] == {name: other}


def test_a_conflict_inside_a_list() -> None:
    one = {"containers": [container("a", image="1", ports=[{"containerPort": 80, "name": "x"}])]}
    two = {"containers": [container("a", ports=[{"containerPort": 80, "name": "y"}])]}
    with pytest.raises(ApiError) as caught:
        applied_in_turn(("one", one), ("two", two))
    path = '.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].name'
    assert caught.value.details["causes"][0]["field"] == path
