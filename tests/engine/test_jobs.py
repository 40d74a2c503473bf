"""The bodies are golden: a change of policy is seen in a diff. `python -m tests.engine.test_jobs` writes them anew."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from submits.blast.facts import DatabaseFacts
from submits.engine import jobs
from submits.engine.settings import Settings

GOLDEN = Path(__file__).parent / "golden"
RUN = "job-0123456789abcdef0123456789abcdef"
WORK = Path("/srv/work/runs") / RUN
DB = DatabaseFacts("nt", "Evil: $(id)\n- x: y", "/srv/blastdb/nt", "nucl", 10**6, 4 * 2**30, "2026-01-01T00:00")
SETTINGS = Settings(work_url="/srv/work", image="example.org/coordui:1", service_account="elb-runner", threads=4)
BODIES = {
    "finalizer": jobs.finalizer(RUN, 12, SETTINGS, WORK),
    "submit": jobs.submit(RUN, 12, SETTINGS, WORK),
    "blast": jobs.blast(RUN, 7, DB, SETTINGS, WORK),
    "format": jobs.formatting(RUN, "tabular-0123456789ab", 2, DB, SETTINGS, WORK),
    "scan": jobs.scan(replace(SETTINGS, database_root="/srv/blastdb"), WORK.parent.parent / "databases"),
}


@pytest.mark.parametrize("app", BODIES)
def test_bodies_are_as_they_were_agreed(app: str) -> None:
    assert json.loads((GOLDEN / f"{app}.json").read_text()) == BODIES[app]


@pytest.mark.parametrize("app", BODIES)
def test_labels_stand_on_job_and_template(app: str) -> None:
    body = BODIES[app]
    # What no gate counts has no run's id, so that nobody takes it for a part of one.
    others = {"format": {"coordui/formats-of": RUN}, "scan": {}}
    labels = {"app": app, **others.get(app, {"elb-job-id": RUN})}
    assert body["metadata"]["labels"] == body["spec"]["template"]["metadata"]["labels"] == labels
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?", value) for value in labels.values())


@pytest.mark.parametrize("app", BODIES)
def test_every_policy_is_said(app: str) -> None:
    spec = BODIES[app]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert {"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"} <= set(spec)
    assert pod["restartPolicy"] == "Never" and container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["automountServiceAccountToken"] is (app not in ("blast", "format", "scan"))
    assert ("serviceAccountName" in pod) is (app not in ("blast", "format", "scan"))
    assert all(word.isascii() and "/" not in container["command"][0] for word in container["command"])
    for volume, mount in zip(pod["volumes"], container["volumeMounts"], strict=True):
        assert volume["hostPath"]["path"] == mount["mountPath"] and volume["name"] == mount["name"]
    assert "Evil" not in json.dumps(BODIES[app])


def made(settings: Settings, work: Path | None) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The Pod and its container of every kind."""
    bodies = (
        jobs.finalizer(RUN, 12, settings, work),
        jobs.submit(RUN, 12, settings, work),
        jobs.blast(RUN, 7, DB, settings, work),
        jobs.formatting(RUN, "tabular", 1, DB, settings, work),
    )
    pods = [body["spec"]["template"]["spec"] for body in bodies]
    return {pod["containers"][0]["name"]: (pod, pod["containers"][0]) for pod in pods}


def test_a_claim_is_mounted_where_the_directory_is_and_shows_one_run() -> None:
    settings = replace(SETTINGS, work_claim="work/of/ours", database_claim="blastdb", database_root="/srv")
    settings = replace(settings, work_secret="unused", work_account="unused")
    for app, (pod, container) in made(settings, WORK).items():
        assert "unused" not in json.dumps(pod), "a directory asks for no identity"
        volumes = {volume["name"]: volume["persistentVolumeClaim"] for volume in pod["volumes"]}
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        assert volumes["work"] == {"claimName": "work", "readOnly": False}
        assert mounts["work"]["subPath"] == f"of/ours/runs/{RUN}" and mounts["work"]["mountPath"] == str(WORK)
        assert ("database" in volumes) is (app in ("blast", "format"))
        if "database" in volumes:
            assert volumes["database"] == {"claimName": "blastdb", "readOnly": True}
            assert mounts["database"]["subPath"] == "blastdb" and mounts["database"]["readOnly"] is True
            assert mounts["database"]["mountPath"] == "/srv/blastdb"


def test_a_claim_of_databases_is_of_those_below_the_scanned_directory() -> None:
    (pod, container) = made(replace(SETTINGS, database_claim="b", database_root="/srv/blastdb"), WORK)["blast"]
    assert pod["volumes"][1]["persistentVolumeClaim"]["claimName"] == "b"
    assert "subPath" not in container["volumeMounts"][1], "its root is the directory itself"
    (pod, _) = made(replace(SETTINGS, database_claim="b", database_root="/srv/other"), WORK)["blast"]
    assert pod["volumes"][1]["hostPath"]["path"] == "/srv/blastdb"


def test_a_look_at_a_claim_sees_all_of_its_databases_and_writes_in_one_directory() -> None:
    settings = replace(SETTINGS, work_claim="work/ours", database_claim="blastdb/here", database_root="/srv/blastdb")
    spec = jobs.scan(settings, Path("/srv/work/databases"))["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume["persistentVolumeClaim"] for volume in spec["volumes"]}
    assert volumes == {
        "work": {"claimName": "work", "readOnly": False}, "database": {"claimName": "blastdb", "readOnly": True},
    }  # fmt: skip
    (container,) = spec["containers"]
    assert [(mount["mountPath"], mount["subPath"]) for mount in container["volumeMounts"]] == [
        ("/srv/work/databases", "ours/databases"), ("/srv/blastdb", "here"),
    ]  # fmt: skip
    others = (replace(settings, work_url="/srv/other"), replace(settings, database_root="/srv/other"))
    names = {
        jobs.scan(each, None)["metadata"]["name"] for each in (settings, replace(settings, image="other"), *others)
    }
    assert len(names) == 3, "one for each place and store"


def test_from_an_object_store_a_pod_has_a_directory_of_its_own_and_an_identity_by_name_alone() -> None:
    settings = replace(SETTINGS, work_url="s3://bucket/work", work_secret="blast-work", work_account="blast-work")
    places = set()
    for app, (pod, container) in made(settings, None).items():
        assert pod["volumes"][0] == {"name": "scratch", "emptyDir": {}}
        place = container["volumeMounts"][0]["mountPath"]
        assert container["env"] == [{"name": "TMPDIR", "value": place}]
        assert container["envFrom"] == [{"secretRef": {"name": "blast-work"}}]
        assert pod["serviceAccountName"] == ("blast-work" if app in ("blast", "format") else "elb-runner")
        assert pod["automountServiceAccountToken"] is (app not in ("blast", "format"))
        assert "s3://bucket/work" in container["command"]
        places.add(place)
    assert len(places) == 4, "two Pods of one machine do not meet"


def test_of_a_database_in_an_object_store_the_pods_that_need_it_fetch_it_into_an_empty_directory() -> None:
    stored = replace(DB, path="s3://bucket/db/nt")
    settings = replace(SETTINGS, work_secret="blast-work", work_account="reader")
    places = set()
    for body in (jobs.blast(RUN, 7, stored, settings, WORK), jobs.formatting(RUN, "xml", 1, stored, settings, WORK)):
        pod = body["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        place = container["command"][container["command"].index("--fetch") + 1]
        assert pod["volumes"][1] == {"name": "database", "emptyDir": {}}
        assert container["volumeMounts"][1] == {"name": "database", "mountPath": place, "readOnly": False}
        assert container["envFrom"] == [{"secretRef": {"name": "blast-work"}}] and "env" not in container
        assert pod["serviceAccountName"] == "reader" and pod["automountServiceAccountToken"] is False
        places.add(place)
    assert len(places) == 2, "two Pods of one machine do not meet"
    assert "--fetch" not in BODIES["blast"]["spec"]["template"]["spec"]["containers"][0]["command"]


def test_names_are_short_unique_and_as_the_gates_expect_them() -> None:
    names = jobs.Names(RUN)
    assert names.finalizer == "elb-finalizer-89abcdef"
    every = [
        names.finalizer,
        names.submit,
        names.formatting("xml", 1),
        names.formatting("xml", 2),
        *(names.blast(n) for n in (1, 2, 9999, 10000)),
    ]
    assert len(set(every)) == len(every)
    assert all(len(name) <= 63 and re.fullmatch(r"[a-z0-9-]+", name) for name in every)
    assert jobs.Names(RUN[:-1] + "0").submit != names.submit


def test_memory_grows_with_the_database_and_a_batch_outlives_the_finalizer() -> None:
    assert jobs.memory_mib(DB, SETTINGS) == 256 + round(1024 * 1.1)
    assert SETTINGS.blast_ttl > SETTINGS.deadline > SETTINGS.blast_deadline


def test_every_processor_has_a_batch_beside_what_leads_the_runs() -> None:
    """A small node of two, with as many runs as the gates let through, each of which still has its submit Job."""

    def asked(body: jobs.Body) -> int:
        (container,) = body["spec"]["template"]["spec"]["containers"]
        return int(container["resources"]["requests"]["cpu"].removesuffix("m"))

    one = Settings(threads=1)
    leading = 3 * asked(jobs.finalizer(RUN, 1, one, WORK)) + asked(jobs.submit(RUN, 1, one, WORK))
    assert leading + 2 * asked(jobs.blast(RUN, 1, DB, one, WORK)) <= 2_000


if __name__ == "__main__":
    for name, written in BODIES.items():
        (GOLDEN / f"{name}.json").write_text(json.dumps(written, indent=1) + "\n")
