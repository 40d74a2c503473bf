"""Bodies against the client's own models: unknown fields, wrong types, missing and invalid values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from coordui.onebox.cluster.bodies import schema
from coordui.onebox.cluster.bodies.decoding import Undecodable, examine
from coordui.onebox.cluster.storage.resources import ALL, JOBS, PODS
from tests.onebox.cluster import fixtures
from tests.onebox.cluster.fixtures import APPLY, CONFIGMAPS, CORE, JSON_PATCH, LEASES, MERGE, STRATEGIC, RunningCluster
from tests.world import REPOSITORY

JOBS_URL = fixtures.JOBS


def job(name: str, **pod: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "none", "command": ["true"]}
    spec = {"restartPolicy": "Never", "containers": [container], **pod}
    return {"metadata": {"name": name}, "spec": {"parallelism": 0, "template": {"spec": spec}}}


def causes(cluster: RunningCluster, path: str, body: Any) -> set[tuple[str, str]]:
    """(field, reason) of each thing that a 422 names."""
    reply = cluster.call("POST", path, body)
    assert (reply.code, reply.body["reason"]) == (422, "Invalid"), reply.body
    assert all(cause["message"] in reply.body["message"] for cause in reply.body["details"]["causes"])
    return {(cause["field"], cause["reason"]) for cause in reply.body["details"]["causes"]}


def misspelt(name: str) -> dict[str, Any]:
    """Unknown fields at the top, in spec, in a list; and two that are one in Python but not on the wire."""
    body = job(name) | {"colour": "red"}
    body["spec"] |= {"backofLimit": 3, "backoff_limit": 3}
    body["spec"]["template"]["spec"]["containers"][0]["comand"] = ["true"]
    body["metadata"]["labels"] = {"not_a_field": "but-a-label"}
    return body


UNKNOWN = ["spec.backofLimit", "spec.backoff_limit", "spec.template.spec.containers[0].comand", "colour"]


def test_unknown_fields_are_an_error_if_asked(cluster: RunningCluster) -> None:
    reply = cluster.call("POST", f"{JOBS_URL}?fieldValidation=Strict", misspelt("strict"))
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    start = 'Job in version "v1" cannot be handled as a Job: strict decoding error: '
    assert reply.body["message"].startswith(start)
    told = set(reply.body["message"].removeprefix(start).split(", "))
    assert told == {f'unknown field "{path}"' for path in UNKNOWN}
    assert cluster.call("GET", f"{JOBS_URL}/strict").code == 404


@pytest.mark.parametrize(
    ("query", "told"), [("", UNKNOWN), ("?fieldValidation=Warn", UNKNOWN), ("?fieldValidation=Ignore", [])]
)
def test_unknown_fields_are_dropped(cluster: RunningCluster, query: str, told: list[str]) -> None:
    name = f"drop-{query[-4:].lower().strip('?')}x"
    reply = cluster.call("POST", JOBS_URL + query, misspelt(name))
    spec = reply.ok()["spec"]
    assert "backofLimit" not in spec and spec["backoffLimit"] == 6
    assert "comand" not in spec["template"]["spec"]["containers"][0] and "colour" not in reply.body
    assert reply.body["metadata"]["labels"] == {"not_a_field": "but-a-label"}
    warnings = set(filter(None, reply.headers.get("warning", "").split(", ")))
    assert warnings == {f'299 - "unknown field \\"{path}\\""' for path in told}


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, JSON_PATCH])
def test_the_result_of_a_patch_is_checked(cluster: RunningCluster, kind: str) -> None:
    name = "patch-" + {MERGE: "merge", STRATEGIC: "strategic", JSON_PATCH: "json"}[kind]
    url = f"{LEASES}/{name}"
    cluster.call("POST", LEASES, {"metadata": {"name": name}, "spec": {}}).ok()

    def patch(field: str, value: Any, query: str = "") -> Any:
        body: Any = {"spec": {field: value}}
        if kind == JSON_PATCH:
            body = [{"op": "add", "path": f"/spec/{field}", "value": value}]
        return cluster.call("PATCH", url + query, body, kind)

    assert patch("holder", "x").headers["warning"] == '299 - "unknown field \\"spec.holder\\""'
    for reply in (patch("holder", "x", "?fieldValidation=Strict"), patch("leaseDurationSeconds", "9")):
        assert (reply.code, reply.body["reason"]) == (422, "Invalid")
        assert reply.body["message"].startswith(' "" is invalid: patch: Invalid value: "')
    assert reply.body["message"].endswith("LeaseSpec.spec.leaseDurationSeconds of type int32")
    assert patch("leaseDurationSeconds", 0).body["details"]["causes"][0]["field"] == "spec.leaseDurationSeconds"
    assert cluster.call("GET", url).ok()["spec"] == {}


def test_a_replace_is_checked(cluster: RunningCluster) -> None:
    old = cluster.call("POST", JOBS_URL, job("replaced")).ok()
    del old["metadata"]["resourceVersion"]  # the Job's status moves meanwhile
    url = f"{JOBS_URL}/replaced"
    strict = cluster.call("PUT", f"{url}?fieldValidation=Strict", old | {"spec": old["spec"] | {"x": 1}})
    assert 'unknown field "spec.x"' in strict.body["message"]
    assert cluster.call("PUT", url, old | {"spec": old["spec"] | {"suspend": "no"}}).code == 400
    assert cluster.call("PUT", url, old | {"metadata": old["metadata"] | {"labels": {"a": "b c"}}}).code == 422


def test_an_apply_of_what_no_schema_has(cluster: RunningCluster) -> None:
    reply = cluster.call("PATCH", f"{CONFIGMAPS}/typo?fieldManager=me", {"kind": "ConfigMap", "dat": {"a": "1"}}, APPLY)
    assert reply.code == 500
    what = f"{cluster.namespace}/typo; v1, Kind=ConfigMap"
    words = f"failed to create typed patch object ({what}): .dat: field not declared in schema"
    assert reply.body["message"] == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parallelism": "3"}, "cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32"),
        ({"parallelism": 2**31}, "cannot unmarshal number 2147483648 into Go struct field JobSpec.spec.parallelism of"),
        ({"parallelism": True}, "cannot unmarshal bool into Go struct field JobSpec.spec.parallelism of type int32"),
        (
            {"activeDeadlineSeconds": 1.5},
            "number 1.5 into Go struct field JobSpec.spec.activeDeadlineSeconds of type int64",
        ),
        ({"suspend": 1}, "cannot unmarshal number into Go struct field JobSpec.spec.suspend of type bool"),
        (
            {"template": []},
            "cannot unmarshal array into Go struct field JobSpec.spec.template of type v1.PodTemplateSpec",
        ),
    ],
)
def test_values_that_go_could_not_hold(cluster: RunningCluster, change: dict[str, Any], words: str) -> None:
    body = job("typed")
    body["spec"] |= change
    reply = cluster.call("POST", f"{JOBS_URL}?fieldValidation=Ignore", body)
    assert (reply.code, reply.body["reason"]) == (400, "BadRequest")
    assert reply.body["message"].startswith('Job in version "v1" cannot be handled as a Job: json: ')
    assert words in reply.body["message"]


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ({"containers": {"name": "c"}}, "object into Go struct field PodSpec.containers of type []v1.Container"),
        ({"containers": [{"name": 3}]}, "number into Go struct field Container.containers.name of type string"),
        ({"containers": ["c"]}, "string into Go struct field PodSpec.containers of type v1.Container"),
        (
            {"containers": [{"command": "sh"}]},
            "string into Go struct field Container.containers.command of type []string",
        ),
        (
            {"containers": [{"resources": {"limits": {"memory": "much"}}}]},
            "quantities must match the regular expression",
        ),
        ({"nodeSelector": {"a": 1}}, "number into Go struct field PodSpec.nodeSelector of type string"),
        ({"tolerations": [{"tolerationSeconds": "9"}]}, "tolerations.tolerationSeconds of type int64"),
    ],
)
def test_the_words_for_a_wrong_type(pod: dict[str, Any], words: str) -> None:
    with pytest.raises(Undecodable) as caught:
        examine(schema.struct_of(PODS), {"metadata": {}, "spec": pod})
    assert words.replace("PodSpec.", "PodSpec.spec.").replace("Container.", "Container.spec.") in str(caught.value)


def test_wire_forms() -> None:
    amounts = {"limits": {"cpu": 2, "memory": "1Gi"}}
    spec = {"containers": [{"resources": amounts, "args": [None]}, None]}
    pod: dict[str, Any] = {"spec": spec, "status": {"startTime": "2026-01-01T02:00:00.9+02:00"}}
    examine(schema.struct_of(PODS), pod)
    assert pod["spec"]["containers"] == [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}, "args": [""]}, {}]
    assert pod["status"]["startTime"] == "2026-01-01T00:00:00Z"
    with pytest.raises(Undecodable, match='parsing time "soon" as "2006-01-02T15:04:05Z07:00"'):
        examine(schema.struct_of(PODS), {"status": {"startTime": "soon"}})


def test_what_has_to_be_there(cluster: RunningCluster) -> None:
    template = "spec.template.spec"
    assert causes(cluster, JOBS_URL, {"metadata": {"name": "x"}}) == {
        (f"{template}.containers", "FieldValueRequired"),
        (f"{template}.restartPolicy", "FieldValueRequired"),
    }
    pod = {"containers": [{"env": [{"value": "1"}]}], "volumes": [{"emptyDir": {}}]}
    assert causes(cluster, JOBS_URL, job("x", **pod)) == {
        (f"{template}.containers[0].name", "FieldValueRequired"),
        (f"{template}.containers[0].image", "FieldValueRequired"),
        (f"{template}.containers[0].env[0].name", "FieldValueRequired"),
        (f"{template}.volumes[0].name", "FieldValueRequired"),
    }
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}
    body = {"metadata": {"name": "x", "ownerReferences": [owner]}}
    assert causes(cluster, CONFIGMAPS, body) == {("metadata.ownerReferences[0].uid", "FieldValueRequired")}


def _container(**more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "none", **more}


@pytest.mark.parametrize(
    ("pod", "field", "reason"),
    [
        ({"restartPolicy": "Always"}, "restartPolicy", "FieldValueNotSupported"),
        ({"containers": [_container(), _container()]}, "containers[1].name", "FieldValueDuplicate"),
        ({"containers": [_container(name="C_C")]}, "containers[0].name", "FieldValueInvalid"),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, "volumes[1].name", "FieldValueDuplicate"),
        (
            {"containers": [_container(volumeMounts=[{"name": "v", "mountPath": "/v"}])]},
            "containers[0].volumeMounts[0].name",
            "FieldValueNotFound",
        ),
        ({"terminationGracePeriodSeconds": -1}, "terminationGracePeriodSeconds", "FieldValueInvalid"),
        (
            {"containers": [_container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "1500m"}})]},
            "containers[0].resources.requests",
            "FieldValueInvalid",
        ),
        (
            {"containers": [_container(resources={"limits": {"memory": "-1Gi"}})]},
            "containers[0].resources.limits[memory]",
            "FieldValueInvalid",
        ),
    ],
)
def test_what_a_jobs_pod_may_not_be(cluster: RunningCluster, pod: dict[str, Any], field: str, reason: str) -> None:
    assert causes(cluster, JOBS_URL, job("x", **pod)) == {(f"spec.template.spec.{field}", reason)}


def _owner(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"a": "b c"}}, "metadata.labels"),
        ({"labels": {"a": "b" * 64}}, "metadata.labels"),
        ({"labels": {"-a": "b"}}, "metadata.labels"),
        ({"labels": {"UPPER.example/a": "b"}}, "metadata.labels"),
        ({"labels": {"/a": "b"}}, "metadata.labels"),
        ({"annotations": {"a b": ""}}, "metadata.annotations"),
        ({"annotations": {"a": "b" * 262144}}, "metadata.annotations"),
        ({"finalizers": ["a b"]}, "metadata.finalizers"),
        (
            {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "ab"
                ]
            },
            "metadata.ownerReferences",
        ),
    ],
)
def test_what_metadata_may_not_be(cluster: RunningCluster, metadata: dict[str, Any], field: str) -> None:
    assert {found for found, _ in causes(cluster, CONFIGMAPS, {"metadata": {"name": "x", **metadata}})} == {field}


def test_labels_that_are_right(cluster: RunningCluster) -> None:
    labels = {"a": "", "b.example/c_d.e": "F" * 63, "coordui/kind": "ticket"}
    meta = {"name": "labels", "labels": labels, "annotations": {"Any.Case/x": "any value"}}
    assert cluster.call("POST", CONFIGMAPS, {"metadata": meta}).ok()["metadata"]["labels"] == labels
    template = job("labelled")
    template["spec"]["template"]["metadata"] = {"labels": {"a": "b c"}}
    assert causes(cluster, JOBS_URL, template) == {("spec.template.labels", "FieldValueInvalid")}


def test_secrets_tell_bytes_and_take_text(cluster: RunningCluster) -> None:
    url = f"{CORE}/secrets"
    body = {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}}
    secret = cluster.call("POST", url, body).ok()
    assert (secret["type"], secret["data"]) == ("Opaque", {"a": "Yg==", "c": "ZA=="}) and "stringData" not in secret
    assert (
        "illegal base64" in cluster.call("POST", url, {"metadata": {"name": "t"}, "data": {"a": "?"}}).body["message"]
    )
    assert cluster.call("PATCH", f"{url}/s", {"type": "other"}, MERGE).code == 422


def test_every_kind_has_a_schema() -> None:
    """And no field in them is of a type that nobody has thought of."""

    def walk(struct: schema.Struct, seen: set[str]) -> None:
        if struct.name not in seen:
            seen.add(struct.name)
            for field in struct.fields.values():
                assert (field.struct is None) != (field.scalar is None) and field.go
                if field.struct:
                    walk(field.struct, seen)

    for resource in ALL:
        seen: set[str] = set()
        walk(schema.struct_of(resource), seen)
        assert {resource.kind, "ObjectMeta"} <= seen
    fields = schema.struct_of(JOBS).fields["spec"].struct
    assert fields is not None and {"ttlSecondsAfterFinished", "template"} <= fields.fields.keys()
    assert fields.required == ("template",)


WAIT_FOR_WRITE = """
import asyncio, sys
from pathlib import Path
from coordui.onebox.cluster.server import ClusterServer, Settings
from tests.onebox.cluster.fixtures import Client

async def main():
    server = ClusterServer(Settings(Path(sys.argv[1]), run_jobs=False))
    await server.start()
    client = Client(server.url, server.credentials.token, server.credentials.ca)
    lease = {"metadata": {"name": "a"}}
    told = []
    for call in (("GET", sys.argv[2]), ("POST", sys.argv[2], lease)):
        told.append((await asyncio.to_thread(client.call, *call)).code)
        told.append("kubernetes.client" in sys.modules)
    await server.stop()
    print(told)

asyncio.run(main())
"""


def test_the_clients_models_wait_for_the_first_write(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAIT_FOR_WRITE, str(tmp_path), LEASES]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[200, False, 201, True]"
