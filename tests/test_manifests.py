"""Every manifest of deploy/ and every body that is built is one that an API server takes, with strict validation.

`TEST_KUBECONFIG=FILE` asks that cluster, in a namespace of its own that is removed at the end; else it is the embedded
one, and the kinds that it does not serve are held against the official client's models.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
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
from submits import tasks
from submits.engine import jobs
from submits.engine.settings import Settings
from submits.gates import naming
from submits.gates.objects import Gate, gate_body, guard_body, pin_body, reservation_body, ticket_body
from submits.gates.ports import Knobs, Rules, Times
from tests.engine.test_jobs import BODIES, DB, RUN, WORK, made
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


class Strict(yaml.SafeLoader):
    """PyYAML takes the last of two equal keys; an API server that validates strictly takes neither."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(set(keys)) == len(keys), f"a key twice among {keys}{node.start_mark}"
        return super().construct_mapping(node, deep)


@cache
def manifests(directory: str = "") -> dict[str, Body]:
    """By "file kind name"; not to be changed."""
    top = REPOSITORY / "deploy"
    files = sorted((top / directory).rglob("*.yaml"))
    bodies = [(file, body) for file in files for body in yaml.load_all(file.read_text(), Strict)]
    return {f"{file.relative_to(top)} {body['kind']} {body['metadata']['name']}": body for file, body in bodies}


def built(namespace: str) -> dict[str, Body]:
    """One of each that the gates and the engine make."""
    rules, owner = (
        Rules(Knobs(), Times()),
        {"metadata": {"name": "made", "uid": "9a0c2f6e-0000-4000-8000-000000000001"}},
    )
    gate = Gate.read({"metadata": {"name": naming.gate(namespace)}, "spec": {}})
    stored = replace(DB, path="s3://bucket/db/nt")
    return BODIES | {
        "blast that fetches": jobs.blast(RUN, 1, stored, Settings(work_url="s3://bucket/work"), None),
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


def test_a_key_that_stands_twice_is_refused() -> None:
    assert yaml.load("a: {b: 1, c: 2}", Strict) == {"a": {"b": 1, "c": 2}}
    with pytest.raises(AssertionError, match="twice"):
        yaml.load("a: {b: 1, b: 1}", Strict)


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


def engine_pods(settings: Settings, work: Path | None) -> list[Body]:
    return [pod for pod, _ in made(settings, work).values()]


def linked(service: Body) -> set[str]:
    """The variables by which a kubelet tells the Pods of a namespace of a Service in it, unless their links are off."""
    name = service["metadata"]["name"].upper().replace("-", "_")
    found = {f"{name}_SERVICE_HOST", f"{name}_SERVICE_PORT", f"{name}_PORT"}
    for port in service["spec"]["ports"]:
        found.add(f"{name}_SERVICE_PORT_{port['name'].upper().replace('-', '_')}")
        one = f"{name}_PORT_{port['port']}_{port.get('protocol', 'TCP')}"
        found |= {one, f"{one}_PROTO", f"{one}_PORT", f"{one}_ADDR"}
    return found


def test_no_service_sets_a_variable_that_is_read() -> None:
    """COORDUI_PORT would be tcp://…, which stops every process; and whoever owns the namespace may add Services."""
    services = [body for body in manifests().values() if body["kind"] == "Service"]
    assert "COORDUI_PORT" in set().union(*map(linked, services)) & env.READ
    pods = [*deployments().values(), *engine_pods(Settings(), WORK), *engine_pods(Settings(work_url="s3://b"), None)]
    assert [pod for pod in pods if pod.get("enableServiceLinks", True)] == []


# The level `restricted` of the Pod Security Standards.
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def unrestricted(pod: Body) -> set[str]:
    """What a namespace of that level would refuse in a Pod."""
    found = {kind for volume in pod["volumes"] for kind in volume.keys() - {"name"} - VOLUMES}
    found |= {name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)}
    for container in [*pod.get("initContainers", ()), *pod["containers"]]:
        security = pod["securityContext"] | container["securityContext"]
        right = {
            "runAsNonRoot": security.get("runAsNonRoot") is True and security.get("runAsUser") != 0,
            "seccompProfile": security.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"),
            "allowPrivilegeEscalation": security.get("allowPrivilegeEscalation") is False,
            "capabilities": security.get("capabilities") == {"drop": ["ALL"]},
        }
        found |= {name for name, well in right.items() if not well}
    return found


def test_a_restricted_namespace_takes_every_pod_that_has_no_directory_of_its_node() -> None:
    claims = Settings(work_url="/srv/work", work_claim="work", database_claim="blastdb", database_root="/srv/blastdb")
    stored = replace(claims, work_url="s3://bucket", work_claim="", work_secret="known")
    pods = [*deployments().values(), *engine_pods(claims, WORK), *engine_pods(stored, None)]
    assert len(pods) == 12 and [unrestricted(pod) for pod in pods] == [set()] * len(pods)
    # A directory of the node belongs to who made it, who may be root; its Pods need a namespace that lets them.
    for pod in engine_pods(Settings(work_url="/srv/work"), WORK):
        assert unrestricted(pod) == {"hostPath", "runAsNonRoot"}


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
        assert volumes["tmp"]["emptyDir"] == {}, "an upload goes through it, which is no memory"
        for container in [*pod["initContainers"], *pod["containers"]]:
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            assert mounted.keys() == volumes.keys() and mounted.pop("tmp") == "/tmp"
            assert mounted == {name: configuration()[places[name]] for name in mounted}
            assert container["envFrom"] == [{"configMapRef": {"name": "coordui"}}, {"secretRef": {"name": "coordui"}}]


def test_who_looks_into_the_databases_has_them() -> None:
    """The start in the web's Pod, then the queue of a worker whom the gatekeeper sends."""
    mounted = {name for name, pod in deployments().items() if any(v["name"] == "blastdb" for v in pod["volumes"])}
    assert tasks.look_for_databases.name not in settings.CELERY_TASK_ROUTES
    queues = {name: pod["containers"][0]["command"] for name, pod in deployments().items()}
    asked = {name for name, argv in queues.items() if settings.CELERY_TASK_DEFAULT_QUEUE in argv}
    assert asked == {"worker"} and mounted == asked | {"web"}


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
