"""Single parts: patches, field ownership, protobuf, quantities, the store's transactions, the work queue."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordui.onebox.cluster.authors import Author
from coordui.onebox.cluster.bodies import protobuf
from coordui.onebox.cluster.errors import ApiError
from coordui.onebox.cluster.http import tables
from coordui.onebox.cluster.kinds.quantities import quantity
from coordui.onebox.cluster.runner.environment import expand
from coordui.onebox.cluster.runner.logs import tail
from coordui.onebox.cluster.storage.resources import CONFIGMAPS
from coordui.onebox.cluster.storage.store import Event, Store
from coordui.onebox.cluster.storage.workqueue import WorkQueue
from coordui.onebox.cluster.writes import managed, patches

_JSON = st.recursive(
    st.integers() | st.text(max_size=3), lambda part: st.dictionaries(st.sampled_from("abc"), part, max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), _JSON, max_size=3), st.dictionaries(st.sampled_from("abc"), _JSON))
def test_a_merge_is_idempotent_and_holds_what_it_sets(old: dict[str, Any], patch: dict[str, Any]) -> None:
    once = patches.merge(old, patch)
    assert patches.merge(once, patch) == once
    assert set(once) == set(old) | set(patch)


def test_ownership_moves_and_ends() -> None:
    def write(old: Any, new: Any, manager: str) -> Any:
        new = {"metadata": dict(new.pop("metadata", {})), **new}
        managed.stamp(old, new, Author(manager), api_version="v1", time=f"by {manager}")
        return new

    def owners(obj: Any) -> dict[str, Any]:
        return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}

    one = write(None, {"data": {"a": "1", "b": "1"}}, "one")
    assert owners(one) == {"one": {"f:data": {"f:a": {}, "f:b": {}}}}
    two = write(one, {"data": {"a": "2", "b": "1"}}, "two")
    assert owners(two) == {"one": {"f:data": {"f:b": {}}}, "two": {"f:data": {"f:a": {}}}}
    three = write(two, {"data": {"a": "2"}}, "three")
    assert owners(three) == {"two": {"f:data": {"f:a": {}}}}
    assert write(three, {"data": {"a": "2"}}, "two")["metadata"]["managedFields"][0]["time"] == "by two"


def test_ownership_inside_lists() -> None:
    spec = {"containers": [{"name": "c", "image": "i", "args": ["1"]}]}
    paths = managed.leaves({"metadata": {"uid": "u", "finalizers": ["x"]}, "spec": spec})
    tree = managed.encode(set(paths))
    assert tree == {
        "f:metadata": {"f:finalizers": {'v:"x"': {}}},
        "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:args": {}, "f:image": {}, "f:name": {}}}},
    }
    assert set(managed.decode(tree)) == set(paths)


@pytest.mark.parametrize("data", [b"", b"{}", b"k8s\0", b"k8s\0\x0a\x50", b"k8s\0\x0a\x06\x0a\x01a\x12\x01b"])
def test_protobuf_that_is_not_understood_is_a_415(data: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        protobuf.decode(data)
    assert caught.value.code == 415


@pytest.mark.parametrize(
    ("text", "value"), [("500m", "0.5"), ("2", "2"), ("1Gi", "1073741824"), ("1.5k", "1500"), ("1e3", "1000")]
)
def test_quantities(text: str, value: str) -> None:
    assert quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "much", "1Zi", "1 Gi", "--1"])
def test_no_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity(text)


def test_variables_in_commands() -> None:
    assert expand("$(A) $(B) $$(A) $$ $", {"A": "1"}) == "1 $(B) $(A) $ $"


def test_the_end_of_a_log() -> None:
    assert tail(b"1\n2\n3\n", 2, None) == b"2\n3\n"
    assert tail(b"1\n2\n", 0, None) == b"" and tail(b"1\n2\n", 9, 3) == b"1\n2"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (125, "2m5s"), (720, "12m"), (11000, "3h3m"), (90000, "25h"), (200000, "2d")],
)
def test_ages(seconds: int, text: str) -> None:
    from datetime import UTC, datetime, timedelta

    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert tables.age(start.isoformat(), start + timedelta(seconds=seconds)) == text


def entry(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name}}


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "db")
    heard: list[Event] = []
    store.listeners.append(heard.append)
    before = store.revision
    with pytest.raises(KeyError), store.transaction():
        store.add(CONFIGMAPS, entry("a"))
        with store.transaction():
            store.add(CONFIGMAPS, entry("b"))
        raise KeyError
    assert (store.revision, store.select(CONFIGMAPS), heard) == (before, [], [])
    store.add(CONFIGMAPS, entry("c"))
    assert [event.revision for event in heard] == [before + 1]
    store.close()
    store = Store(tmp_path / "db")
    assert (store.revision, [row.name for row in store.select(CONFIGMAPS)]) == (before + 1, ["c"])
    store.close()


def test_listeners_that_write_are_heard_in_order(tmp_path: Path) -> None:
    store = Store(tmp_path / "db")
    seen: list[int] = []

    def write(event: Event) -> None:
        if event.name in "ab":
            store.add(CONFIGMAPS, entry(event.name * 2))

    store.listeners += [write, lambda event: seen.append(event.revision)]
    with store.transaction():
        store.add(CONFIGMAPS, entry("a"))
        store.add(CONFIGMAPS, entry("b"))
    assert len(seen) == 4 and seen == sorted(seen)
    store.close()


def test_a_work_queue_does_a_key_once_and_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def work(key: str) -> None:
        done.append(key)
        if key == "bad":
            raise ValueError(key)

    async def run() -> None:
        queue = WorkQueue(work)
        for key in ("a", "bad", "a", "b"):
            queue.add(key)
        queue.add_after("later", 0.01)
        async with asyncio.timeout(5):
            while done.count("bad") < 2 or "later" not in done:
                await asyncio.sleep(0.01)
        queue.close()
        queue.add("a")
        await asyncio.sleep(0)

    asyncio.run(run())
    assert done[:3] == ["a", "bad", "b"] and done.count("a") == 1
    assert "work on bad failed" in caplog.text
