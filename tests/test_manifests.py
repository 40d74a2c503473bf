"""Every manifest of deploy/ and every body that is built is one that an API server takes, with strict validation.

`TEST_KUBECONFIG=FILE` asks that cluster, in a namespace of its own that is removed at the end; else it is the embedded
one, and the kinds that it does not serve are held against the official client's models.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from coordui import env, settings
from coordui.onebox.cluster.bodies.decoding import examine
from coordui.onebox.cluster.bodies.schema import named
from coordui.onebox.supervisor import specs
from submits.engine import jobs
from submits.engine.settings import Settings
from submits.gates import naming
from submits.gates.objects import Gate, gate_body, guard_body, pin_body, reservation_body, ticket_body
from submits.gates.ports import Knobs, Rules, Times
from tests.engine.test_jobs import BODIES, DB, RUN, WORK
from tests.onebox.cluster.conftest import chosen_cluster
from tests.onebox.cluster.fixtures import Cluster
from tests.world import REPOSITORY

Body = dict[str, Any]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PLURALS = {
    "ConfigMap": "configmaps", "Deployment": "deployments", "Job": "jobs", "Lease": "leases",
    "PersistentVolumeClaim": "persistentvolumeclaims", "Role": "roles", "RoleBinding": "rolebindings",
    "Service": "services", "ServiceAccount": "serviceaccounts",
}  # fmt: skip
# What a program outside of this repository reads.
FOREIGN = {"REMAP_SIGTERM", "CELERY_SKIP_CHECKS"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with chosen_cluster(tmp_path_factory.mktemp("cluster")) as chosen:
        yield chosen


@cache
def manifests(directory: str = "") -> dict[str, Body]:
    """By "file kind name"; not to be changed."""
    top = REPOSITORY / "deploy"
    files = sorted((top / directory).rglob("*.yaml"))
    bodies = [(file, body) for file in files for body in yaml.safe_load_all(file.read_text())]
    return {f"{file.relative_to(top)} {body['kind']} {body['metadata']['name']}": body for file, body in bodies}


def built(namespace: str) -> dict[str, Body]:
    """One of each that the gates and the engine make."""
    rules, owner = (
        Rules(Knobs(), Times()),
        {"metadata": {"name": "made", "uid": "9a0c2f6e-0000-4000-8000-000000000001"}},
    )
    gate = Gate.read({"metadata": {"name": naming.gate(namespace)}, "spec": {}})
    return BODIES | {
        "ticket": ticket_body("abcdefghijklmnop", RUN, "dashboard", NOW),
        "gate": gate_body(namespace, gate, "dashboard-1", RUN, NOW, rules, leashed=True),
        "reservation": reservation_body(RUN, "dashboard-1", 7, rules, leashed=True, keep="marker_missing"),
        "guard": guard_body(RUN, owner),
        "pin": pin_body(RUN, owner),
    }


def refusal(cluster: Cluster, body: Body) -> str:
    """Why a server would not take it, "" if it would."""
    group = body["apiVersion"]
    prefix = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    plural = PLURALS[body["kind"]]
    served = cluster.call("GET", prefix)
    if served.code == 404 or plural not in {resource["name"] for resource in served.ok()["resources"]}:
        found = examine(named(f"V1{body['kind']}"), deepcopy(body))
        return ", ".join(place.path for place in [*found.unknown, *found.missing])
    asked = f"{prefix}/namespaces/default/{plural}?dryRun=All&fieldValidation=Strict"
    reply = cluster.call("POST", asked, body)
    return "" if reply.code == 201 and "warning" not in reply.headers else f"{reply.code} {reply.body} {reply.headers}"


@pytest.mark.parametrize("name", manifests())
def test_a_manifest_is_accepted(cluster: Cluster, name: str) -> None:
    assert refusal(cluster, manifests()[name]) == ""


@pytest.mark.parametrize("name", built("default"))
def test_a_body_is_accepted_and_a_dry_run_leaves_nothing(cluster: Cluster, name: str) -> None:
    body = built(cluster.namespace)[name]
    assert refusal(cluster, body) == ""
    prefix = f"/apis/{body['apiVersion']}/namespaces/default/{PLURALS[body['kind']]}"
    assert cluster.call("GET", prefix).ok()["items"] == []


@pytest.mark.parametrize("kind", PLURALS)
def test_a_misspelt_field_is_refused(cluster: Cluster, kind: str) -> None:
    """So that an acceptance says something, for every kind."""
    everything = [*manifests().values(), *built(cluster.namespace).values()]
    wrong = deepcopy(next(body for body in everything if body["kind"] == kind))
    wrong["metadata"]["lables"] = {}
    assert "lables" in refusal(cluster, wrong)


# What the manifests say, beside what the product says -------------------------------------------------------------


def deployments() -> dict[str, Body]:
    found = [body for body in manifests("dashboard").values() if body["kind"] == "Deployment"]
    return {body["metadata"]["name"].removeprefix("coordui-"): body["spec"]["template"]["spec"] for body in found}


def containers() -> list[Body]:
    return [each for pod in deployments().values() for each in [*pod.get("initContainers", ()), *pod["containers"]]]


def configuration() -> dict[str, str]:
    found: dict[str, str] = manifests("dashboard")["dashboard/configuration.yaml ConfigMap coordui"]["data"]
    return found


def plain(argv: Sequence[str]) -> list[str]:
    """As it is said in an image, where programs are on PATH and the product is where one stands."""
    return [{sys.executable: "python", str(REPOSITORY / "manage.py"): "manage.py"}.get(word, word) for word in argv]


def test_a_deployment_runs_what_up_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "COORDUI_LISTEN", "0.0.0.0")
    monkeypatch.setattr(settings, "LOG_LEVEL", "INFO")
    started = {process.name: process for process in specs.processes(set(deployments()), 8000)}
    for name, pod in deployments().items():
        (container,) = pod["containers"]
        assert container["command"] == plain(started[name].argv)
        given = {each["name"]: each.get("value") for each in container["env"] if each["name"] != "COORDUI_NAMESPACE"}
        # Its ready mark lies somewhere else: where the Pod's probe looks.
        expected = {**started[name].env} | ({"COORDUI_READY_FILE": "/tmp/ready"} if started[name].marker else {})
        assert given == expected
        if started[name].marker:
            assert container["readinessProbe"]["exec"]["command"][-1] == given["COORDUI_READY_FILE"]


def test_no_pod_may_more_than_it_needs() -> None:
    for name, pod in deployments().items():
        security = pod["securityContext"]
        assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
        if name == "web":
            assert pod["automountServiceAccountToken"] is False and "serviceAccountName" not in pod
        else:
            assert pod["serviceAccountName"] == "coordui"
    for container in containers():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip


def test_all_are_of_one_image_and_the_pods_of_searches_too() -> None:
    assert {container["image"] for container in containers()} == {configuration()["COORDUI_BLAST_IMAGE"]}
    assert Settings().image == settings.COORDUI_BLAST_IMAGE == configuration()["COORDUI_BLAST_IMAGE"]


def test_the_engines_account_is_the_one_its_role_is_bound_to() -> None:
    account = configuration()["COORDUI_ENGINE_ACCOUNT"]
    assert Settings().service_account == settings.COORDUI_ENGINE_ACCOUNT == account
    engine = manifests("engine").values()
    (binding,) = (body for body in engine if body["kind"] == "RoleBinding")
    (made,) = (body for body in engine if body["kind"] == "ServiceAccount")
    assert [subject["name"] for subject in binding["subjects"]] == [made["metadata"]["name"]] == [account]
    for body in (jobs.finalizer(RUN, 1, Settings(), WORK), jobs.submit(RUN, 1, Settings(), WORK)):
        assert body["spec"]["template"]["spec"]["serviceAccountName"] == account


def test_every_pod_of_a_search_is_of_the_image_that_is_configured() -> None:
    """Search, merge and format alike: two builds of BLAST+ differ in bytes and in options."""
    chosen = Settings(image="example.org/coordui:blast-2.16")
    bodies = [
        jobs.submit(RUN, 1, chosen, WORK),
        jobs.blast(RUN, 1, DB, chosen, WORK),
        jobs.finalizer(RUN, 1, chosen, WORK),
        jobs.formatting(RUN, "xml", 1, DB, chosen, WORK),
    ]
    pods = [body["spec"]["template"]["spec"] for body in bodies]
    every = [each["image"] for pod in pods for each in [*pod.get("initContainers", ()), *pod["containers"]]]
    assert every == [chosen.image] * len(bodies)


def test_what_is_set_is_known_and_what_is_mounted_is_there() -> None:
    given = {each["name"] for container in containers() for each in container["env"]}
    assert given | set(configuration()) <= env.READ | FOREIGN
    claims = {body["metadata"]["name"] for body in manifests().values() if body["kind"] == "PersistentVolumeClaim"}
    assert [configuration()[f"COORDUI_{name}_CLAIM"] for name in ("WORK", "BLASTDB")] == sorted(claims, reverse=True)
    places = {"state": "COORDUI_STATE", "work": "COORDUI_WORK_URL", "blastdb": "COORDUI_BLASTDB"}
    for pod in deployments().values():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {v["persistentVolumeClaim"]["claimName"] for v in volumes.values() if "emptyDir" not in v} <= claims
        for container in [*pod["initContainers"], *pod["containers"]]:
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            assert mounted.keys() == volumes.keys() and mounted.pop("tmp") == "/tmp"
            assert mounted == {name: configuration()[places[name]] for name in mounted}
            assert container["envFrom"] == [{"configMapRef": {"name": "coordui"}}, {"secretRef": {"name": "coordui"}}]


def test_no_secret_is_among_them() -> None:
    assert {body["kind"] for body in manifests().values()} == set(PLURALS) - {"Job", "Lease"}
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL"} & set(configuration())


def test_the_users_number_is_the_images() -> None:
    (user,) = [
        line.split()[1] for line in Path(REPOSITORY, "Dockerfile").read_text().splitlines() if line[:5] == "USER "
    ]
    for pod in deployments().values():
        security = pod["securityContext"]
        assert (
            f"{security['runAsUser']}:{security['runAsGroup']}" == user
            and security["fsGroup"] == security["runAsGroup"]
        )
