"""The Pods' words of real Pods, copied into the work store: bounded, not twice, and why there are none."""

from __future__ import annotations

from typing import Any

import pytest

from submits import podlogs
from submits.cluster import ApiCluster
from submits.gates import naming
from submits.models import new_key
from submits.scopes import store
from submits.states import Reason, Status
from submits.work import run_key
from tests.gates.trying import body
from tests.gates.wire import Wire, wired
from tests.objectstore import silent
from tests.onebox.cluster.fixtures import PODS, RunningCluster
from tests.test_models import make
from tests.world import until

pytestmark = pytest.mark.django_db


def pod(server: RunningCluster, cluster: ApiCluster, run_id: str, app: str, script: str) -> str:
    name = f"{app}-{run_id[4:14]}"
    made = body(app, run_id, name)
    del made["spec"]["parallelism"]
    container = {"name": "c", "image": server.image, "command": ["sh", "-c", script]}
    made["spec"] |= {"backoffLimit": 0}
    made["spec"]["template"]["spec"]["containers"] = [container]
    cluster.create("jobs", made)
    found = until(lambda: cluster.list("pods", f"job-name={name}").items)
    return str(found[0]["metadata"]["name"])


def kept(run_id: str) -> dict[str, bytes]:
    return {key.rpartition("/")[2]: store().get(key) for key in store().names(run_key(run_id, "logs"))}


@pytest.fixture
def asked(server: RunningCluster) -> tuple[ApiCluster, Wire]:
    return wired(server)


def test_what_pods_say_is_kept_while_they_run_and_after_they_have_ended(
    server: RunningCluster, cluster: ApiCluster, asked: tuple[ApiCluster, Wire]
) -> None:
    api, wire = asked
    row = make(status=Status.RUNNING)
    ended = pod(server, cluster, row.run_id, "blast", "echo no such database >&2; exit 3")
    lives = pod(server, cluster, row.run_id, "finalizer", "echo merging; sleep 300")
    copier = podlogs.Copier(row.scope)
    copier.follow(podlogs.followed(row.scope))
    assert row.run_id in copier.runs

    def both() -> bool:
        copier.look(api)
        return len(kept(row.run_id)) == 2 and len(copier.done) == 1

    until(both)
    assert kept(row.run_id) == {f"{ended}.txt": b"no such database\n", f"{lives}.txt": b"merging\n"}
    wire.sent.clear()
    copier.look(api)
    assert [words for words in wire.log() if "/log" in words] == [f"GET pods/{lives}/log?500&65536"]
    copier.follow([])
    copier.look(api)  # once more, for the last words
    wire.sent.clear()
    copier.look(api)
    assert wire.sent == []


def test_a_refusal_is_written_where_people_look_and_goes_when_it_is_over(
    cluster: ApiCluster, asked: tuple[ApiCluster, Wire]
) -> None:
    api, wire = asked
    run_id = naming.run_id(new_key())
    copier = podlogs.Copier(make().scope)
    copier.follow([run_id])
    wire.refuse("^GET pods", 'User "coordui" cannot list resource "pods"')
    copier.look(api)
    assert b'cannot list resource "pods"' in kept(run_id)[podlogs.NOTE]
    wire.refusals.clear()
    copier.look(api)
    assert kept(run_id) == {podlogs.NOTE: b""}


def test_of_many_pods_the_telling_ones_are_chosen() -> None:
    def made(name: str, app: str, phase: str = "Running") -> dict[str, Any]:
        return {"metadata": {"name": name, "labels": {"app": app}}, "status": {"phase": phase}}

    blast = [made(f"b{number:02d}", "blast") for number in range(30)]
    found = podlogs.chosen([*blast, made("b99", "blast", "Failed"), made("f", "finalizer"), made("../x", "submit")])
    names = [one["metadata"]["name"] for one in found]
    assert names[:3] == ["f", "b99", "b00"] and len(names) == podlogs.PODS


def test_a_log_that_cannot_be_kept_keeps_no_other_and_no_note_waiting(
    cluster: ApiCluster, asked: tuple[ApiCluster, Wire]
) -> None:
    api, wire = asked
    first, second = sorted(naming.run_id(new_key()) for _ in range(2))
    copier = podlogs.Copier(make().scope)
    copier.follow([first, second])
    store().put(run_key(first, "logs", podlogs.NOTE), b"before")
    path = store().directory(run_key(first, "logs", podlogs.NOTE))
    assert path is not None
    path.unlink()
    path.mkdir()  # where a file is to be written
    wire.refuse("^GET pods", "closed", 503)
    copier.look(api)
    assert b"closed" in kept(second)[podlogs.NOTE] and copier.known == {}
    wire.refusals.clear()
    copier.look(api)
    assert copier.known == {first: None, second: None} and kept(second) == {podlogs.NOTE: b""}


def test_while_the_work_store_is_away_what_holds_a_search_up_is_seen_all_the_same(
    cluster: ApiCluster, asked: tuple[ApiCluster, Wire]
) -> None:
    api, _ = asked
    runs = [naming.run_id(new_key()) for _ in range(3)]
    copier = podlogs.Copier(make().scope)
    copier.follow(runs)
    with silent() as connections:
        copier.look(api)
    assert copier.known == dict.fromkeys(runs) and len(connections) == 1


def test_a_pod_that_is_long_being_started_holds_its_search_up_and_costs_no_request_more(
    server: RunningCluster, asked: tuple[ApiCluster, Wire]
) -> None:
    """No node of a test has a volume that cannot be mounted: its kubelet's words are written into the Pod's status."""
    api, wire = asked
    run_id = naming.run_id(new_key())
    container = {"name": "c", "image": "none", "command": ["true"], "resources": {"requests": {"memory": "9Ti"}}}
    labels = naming.of_run(run_id).partition("=")
    metadata = {"name": f"late-{run_id[4:12]}", "labels": {labels[0]: labels[2]}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
    server.call("POST", PODS, pod).ok()
    long_ago = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [
        {"type": "PodReadyToStartContainers", "status": "False", **long_ago},
        {"type": "PodScheduled", "status": "True", **long_ago},
    ]
    waits = {"name": "c", "image": "none", "imageID": "", "ready": False, "restartCount": 0}
    waits["state"] = {"waiting": {"reason": "ContainerCreating"}}
    copier = podlogs.Copier(make().scope)
    copier.follow([run_id])

    def told() -> bool:
        made = server.call("GET", f"{PODS}/{metadata['name']}").ok()
        made["status"] = {"phase": "Pending", "conditions": conditions, "containerStatuses": [waits]}
        server.call("PUT", f"{PODS}/{metadata['name']}/status", made)  # a conflict is tried again
        wire.sent.clear()
        copier.look(api)
        held = copier.known[run_id]
        return held is not None and held.reason is Reason.START_DELAYED and "volumes are not mounted" in held.words

    until(told, 20)
    assert len(wire.sent) == 1
    server.call("DELETE", f"{PODS}/{metadata['name']}").ok()
