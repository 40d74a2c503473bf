"""Bodies that are no JSON or YAML, or too much of it; what is said twice in one; and warnings about it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from coordui.onebox.cluster.http.responses import WARNINGS, warnings
from coordui.onebox.cluster.inprocess import LocalCluster
from tests.onebox.cluster.fixtures import APPLY, CONFIGMAPS, JSON, MERGE, Cluster
from tests.onebox.cluster.test_odd_requests import ask

YAML = "application/yaml"


@pytest.fixture(scope="module")
def local() -> Iterator[LocalCluster]:
    found = LocalCluster(seed=1)
    yield found
    found.close()


@pytest.mark.parametrize(
    "body",
    [b'{"metadata":{"name":NaN}}', b'{"metadata":{"name":"x"},"data":{"a":1e999}}', b"[" * 100_000, b'{"a":' * 900],
)
def test_json_that_is_none(local: LocalCluster, body: bytes) -> None:
    assert ask(local, "POST", CONFIGMAPS, body).status == 400


@pytest.mark.parametrize("kind", [JSON, YAML])
def test_half_a_character_becomes_a_whole_one(local: LocalCluster, kind: str) -> None:
    name = f"half-{kind.rpartition('/')[2]}"
    body = b'{"metadata":{"name":"%s"},"data":{"a":"\\ud800|\\ud83d\\ude00|\xff"}}' % name.encode()
    assert ask(local, "POST", CONFIGMAPS, body, kind).status == 201
    assert ask(local, "GET", f"{CONFIGMAPS}/{name}").json()["data"]["a"] == "\ufffd|\U0001f600|\ufffd"


def test_yaml_has_what_json_has(local: LocalCluster) -> None:
    """A date is a string, an alias what it stands for, a merge what it merges."""
    body = b"""
metadata: {name: yaml, labels: &same {day: 2026-01-01x}}
data:
  when: 2026-01-01
  at: 2026-01-01T10:00:00Z
"""
    found = ask(local, "POST", CONFIGMAPS, body, YAML)
    assert found.status == 201, found.body
    assert found.json()["data"] == {"when": "2026-01-01", "at": "2026-01-01T10:00:00Z"}
    body = b"metadata: {name: alias, labels: &same {a: b}, annotations: *same}\ndata: {<<: *same, c: d}\n"
    made = ask(local, "POST", CONFIGMAPS, body, YAML).json()
    assert made["metadata"]["annotations"] == {"a": "b"} and made["data"] == {"a": "b", "c": "d"}
    twice = b"metadata: {name: shared, labels: &a {x: y}}\nspec: &b {more: 1}\nstatus: *b\n"
    assert ask(local, "POST", CONFIGMAPS, twice, YAML).status == 201


BOMB = "a: &a [" + ",".join(["x"] * 9) + "]\n"
BOMB += "".join(
    f"{new}: &{new} [" + ",".join([f"*{old}"] * 9) + "]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "[" * 50_000,
        "- " * 50_000 + "x",
        "a: &a {b: *a}",
        "a: *nothing",
        "when: !!timestamp 2026-01-01",
        "data: !!binary aGVsbG8=",
        "data: !!set {a, b}",
        "a: .nan",
        "? [a, b]\n: c",
        "a: b\n---\na: c",
        "{a: " + "[x]," * 60_000,
        "\x00",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_yaml_that_is_refused(local: LocalCluster, text: str) -> None:
    """Without being made first: nine to the eighth of anything does not fit."""
    for method, path, kind in (("POST", CONFIGMAPS, YAML), ("PATCH", f"{CONFIGMAPS}/x?fieldManager=me", APPLY)):
        assert ask(local, method, path, ("# a comment\n" + text).encode(), kind).status == 400


# -- what is said twice, and warnings


def test_a_key_that_is_there_twice(local: LocalCluster) -> None:
    body = b'{"metadata":{"name":"twice","name":"twice"},"data":{"a":"1","b":"2","a":"3"}}'
    told = ['duplicate field "metadata.name"', 'duplicate field "data.a"']
    strict = ask(local, "POST", f"{CONFIGMAPS}?fieldValidation=Strict", body)
    assert (strict.status, strict.json()["message"].endswith(f"strict decoding error: {', '.join(told)}")) == (
        400,
        True,
    )
    warned = ask(local, "POST", CONFIGMAPS, body)
    assert warned.json()["data"] == {"a": "3", "b": "2"}
    assert warned.headers["warning"] == '299 - "duplicate field \\"data.a\\""'  # the last of the two headers
    patch = b'{"data":{"c":"1","c":"2"}}'
    assert ask(local, "PATCH", f"{CONFIGMAPS}/twice?fieldValidation=Strict", patch, MERGE).status == 422
    assert "warning" not in ask(local, "PATCH", f"{CONFIGMAPS}/twice?fieldValidation=Ignore", patch, MERGE).headers
    yaml = b"metadata: {name: yaml-twice}\ndata:\n  a: 1x\n  a: 2x\n"
    found = ask(local, "POST", f"{CONFIGMAPS}?fieldValidation=Strict", yaml, YAML)
    assert (found.status, 'line 4: key "a" already set in map' in found.json()["message"]) == (400, True)


@pytest.mark.parametrize("name", ["\u540d\u524d", "a\r\nSet-Cookie: x", "\x00\x7f\x85", '"\\', "\u2028"])
def test_a_warning_can_hold_any_name(cluster: Cluster, name: str) -> None:
    body = {"metadata": {"generateName": "warned-"}, name: 1}
    reply = cluster.call("POST", CONFIGMAPS, body)
    assert reply.code == 201 and "set-cookie" not in reply.headers
    assert reply.headers["warning"].startswith('299 - "unknown field ')


def test_warnings_have_an_end(local: LocalCluster) -> None:
    found = warnings([f"{number}: {'x' * 1000}" for number in range(100)])
    assert len(found) == 16 and all(len(text) <= 256 + len('299 - ""') for text in found)
    assert warnings(["x" * 1000]) == [f'299 - "{"x" * 1000}"']
    assert warnings(["\u540d"])[0].encode("latin-1").decode() == '299 - "\u540d"'
    body = {"metadata": {"name": "many"}, **{f"field{number}": 1 for number in range(5000)}}
    reply = local.call("POST", CONFIGMAPS, headers={"content-type": JSON}, body=json.dumps(body).encode())
    assert reply.status == 201 and len(str(reply.headers)) < WARNINGS
