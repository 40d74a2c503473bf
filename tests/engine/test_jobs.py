"""The bodies are golden: a change of policy is seen in a diff. `python -m tests.engine.test_jobs` writes them anew."""

from __future__ import annotations

import json
import re
from pathlib import Path

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
}


@pytest.mark.parametrize("app", BODIES)
def test_bodies_are_as_they_were_agreed(app: str) -> None:
    assert json.loads((GOLDEN / f"{app}.json").read_text()) == BODIES[app]


@pytest.mark.parametrize("app", BODIES)
def test_labels_stand_on_job_and_template(app: str) -> None:
    body = BODIES[app]
    # What no gate counts has no run's id, so that nobody takes it for a part of one.
    labels = {"app": app, "coordui/formats-of" if app == "format" else "elb-job-id": RUN}
    assert body["metadata"]["labels"] == body["spec"]["template"]["metadata"]["labels"] == labels
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?", value) for value in labels.values())


@pytest.mark.parametrize("app", BODIES)
def test_every_policy_is_said(app: str) -> None:
    spec = BODIES[app]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert {"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"} <= set(spec)
    assert pod["restartPolicy"] == "Never" and container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["automountServiceAccountToken"] is (app not in ("blast", "format"))
    assert ("serviceAccountName" in pod) is (app not in ("blast", "format"))
    assert all(word.isascii() and "/" not in container["command"][0] for word in container["command"])
    for volume, mount in zip(pod["volumes"], container["volumeMounts"], strict=True):
        assert volume["hostPath"]["path"] == mount["mountPath"] and volume["name"] == mount["name"]
    assert "Evil" not in json.dumps(BODIES[app])


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


if __name__ == "__main__":
    for name, written in BODIES.items():
        (GOLDEN / f"{name}.json").write_text(json.dumps(written, indent=1) + "\n")
