"""The contract with the real elastic-blast of the package index: it runs, and the cloud's programs are stand-ins."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from submits.blast.facts import DatabaseFacts
from submits.engine.errors import Exit
from submits.engine.external.capabilities import probe
from submits.engine.external.exits import meaning
from submits.engine.external.running import run
from submits.gates import naming
from submits.work import run_key
from tests.engine.external.driving import HERE, Driver, driven, program
from tests.engine.external.test_fork import three
from tests.engine.story import BIN, Stage
from tests.world import REPOSITORY, SCALE

REAL = REPOSITORY / ".venv-elastic-blast/bin/elastic-blast"
pytestmark = pytest.mark.skipif(not REAL.exists(), reason="the real elastic-blast is not installed: make elastic-blast")
CLOUDS = ("gcloud", "gsutil", "kubectl", "gke-gcloud-auth-plugin")
GIVEN = "[cloud-provider]\ngcp-project = ours\n[cluster]\nmachine-type = n1-highmem-32\n[blast]\nmem-limit = 1G\n"


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    """A cloud with one bucket and one database in it; its programs are in `bin`."""
    at = tmp_path / "cloud"
    for folder in ("bin", "bucket/db", "bucket/results", "blast-db"):
        (at / folder).mkdir(parents=True)
    (at / "bucket/db/globins.pin").touch()
    (at / "blast-db/latest-dir").write_text("2026-01-01\n")
    for name in CLOUDS:
        program(at / "bin", name, HERE / "cloud.py", name)
    return at


def calls(cloud: Path) -> list[list[str]]:
    return [json.loads(line) for line in (cloud / "calls").read_text().splitlines()]


@pytest.fixture
def driver(stage: Stage, cloud: Path, tmp_path: Path) -> Driver:
    (tmp_path / "given.ini").write_text(GIVEN)
    passed = {"PATH": f"{cloud / 'bin'}:{BIN}:{os.environ['PATH']}", "CLOUD": str(cloud)}
    return driven(stage, REAL, cloud / "bucket/results", passed)


def submit(driver: Driver, run_id: str) -> int:
    return driver.submit(
        run_id,
        markers="ours",
        config=str(driver.stage.directory / "given.ini"),
        results="gs://bucket/results",
        database="gs://bucket/db/{key}",
        cut_off=120,
    )


def test_what_it_can_do_is_what_it_says_itself() -> None:
    able = probe(str(REAL), {"PATH": os.environ["PATH"]})
    assert able.version == "1.5.0"
    assert (able.keeps_id, able.says_json, able.carries_quotes) == (False, False, True)
    assert str(able) == "elastic-blast 1.5.0 takes no id and makes no finalizer, so no gate can see its searches"


def test_a_whole_search_with_a_marker_of_ours(
    driver: Driver, stage: Stage, cloud: Path, made: dict[str, DatabaseFacts]
) -> None:
    run_id = stage.prepared(three(), made["globins"])
    assert submit(driver, run_id) == 0, driver.said(run_id)
    (finalizer,) = stage.jobs(run_id).values()
    assert finalizer["metadata"]["name"] == naming.finalizer(run_id)
    assert finalizer["spec"]["template"]["metadata"]["labels"]["elb-job-id"] == run_id
    gates_never_seen(cloud)
    search_as_the_cloud_would(cloud, driver.handed(run_id).key, Path(made["globins"].path).parent)
    outcome = stage.outcome(run_id)
    assert outcome.status == "succeeded", outcome
    ours = stage.prepared(three(), made["globins"])
    assert stage.submit(ours).returncode == 0
    assert stage.outcome(ours).hits == outcome.hits > 0
    tables = [stage.store.get(run_key(run, "hits.tsv")) for run in (run_id, ours)]
    assert tables[0] == tables[1]
    stage.finalizer(run_id, "Complete")


def gates_never_seen(cloud: Path) -> None:
    """It was given no cluster: the only context is the one that its own cluster brought."""
    made = calls(cloud)
    assert {Path(kubeconfig).name for _, kubeconfig, *_ in made} == {"kubeconfig-of-the-cloud"}
    contexts = {word for _, _, *words in made for word in words if word.startswith("--context")}
    assert contexts == {"--context=gke_cloud"}
    assert [words for _, _, *words in made if words[:3] == ["container", "clusters", "create"]]


def search_as_the_cloud_would(cloud: Path, key: str, blastdb: Path) -> None:
    """By the very line of its own Job template, in a shell, for each of its batches."""
    results = cloud / "bucket/results" / key
    template = (results / "metadata/job.yaml.template").read_text()
    line = next(line.strip() for line in template.splitlines() if "echo blastp -db" in line)
    for query in sorted((results / "query_batches").glob("batch_*.fa")):
        number = query.stem.removeprefix("batch_")
        out = results / f"batch_{number}-blastp-globins.out"
        command = line.removeprefix("echo ").replace("/blast/blastdb/batch_${JOB_NUM}.fa", str(query))
        command = command.replace("/blast/results/batch_${JOB_NUM}-blastp-globins.out", str(out))
        environment = {**os.environ, "BLASTDB": str(blastdb)}
        subprocess.run(["bash", "-c", command], env=environment, check=True, timeout=60)
        Path(f"{out}.gz").write_bytes(gzip.compress(out.read_bytes()))
    (results / "metadata/SUCCESS.txt").touch()


BLAST = (
    "[blast]\nprogram = blastp\nqueries = q.fa\nmem-limit = 1G\ndb = {db}\nresults = {results}\noptions = {options}\n"
)
USUAL = {"db": "gs://bucket/db/globins", "results": "gs://bucket/results/x", "options": "-evalue 1"}
ENDS = [
    ("[cluster]\nnumnodes = 1\n", {}, 1, Exit.INPUT, "does not know a setting"),
    ("", {"options": "-mt_mode 0"}, 1, Exit.INPUT, "crashed over the option -mt_mode"),
    ("", {"results": "gs://bucket/100%"}, 1, Exit.INPUT, "a % in it is not doubled"),
    ("", {"results": "nowhere"}, 1, Exit.INPUT, "did not accept"),
    ("", {"db": "gs://bucket/db/none"}, 2, Exit.BLASTDB, "does not find the database"),
]


@pytest.mark.parametrize(("more", "changed", "status", "means", "sentence"), ENDS[: 3 if SCALE == 1 else None])
def test_how_it_ends_is_understood(
    cloud: Path, tmp_path: Path, more: str, changed: dict[str, str], status: int, means: Exit, sentence: str
) -> None:
    given = "[cloud-provider]\ngcp-project = ours\n" + more + BLAST.format(**{**USUAL, **changed})
    ended = told(cloud, tmp_path, given, f"{cloud / 'bin'}:{os.environ['PATH']}")
    assert ended[0] == status, ended
    meant = meaning(*ended)
    assert meant.exit == means, ended
    assert sentence in meant.told.sentence


def test_a_program_of_the_cloud_that_is_missing_is_named(cloud: Path, tmp_path: Path) -> None:
    (cloud / "bin/gcloud").unlink()
    for name in ("sh", "env"):
        os.symlink(shutil.which(name) or "", cloud / "bin" / name)
    ended = told(cloud, tmp_path, "[cloud-provider]\ngcp-project = ours\n" + BLAST.format(**USUAL), str(cloud / "bin"))
    assert (ended[0], meaning(*ended).exit) == (7, Exit.DEPENDENCY), ended
    assert "is not on PATH" in meaning(*ended).told.sentence


def told(cloud: Path, directory: Path, given: str, path: str) -> tuple[int, str]:
    (directory / "e.ini").write_text(given)
    (directory / "q.fa").write_text(">q000001\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERM\n")
    environment = {"PATH": path, "HOME": str(directory), "CLOUD": str(cloud)}
    ended = run([str(REAL), "submit", "--cfg", "e.ini"], environment, directory, lambda: None)
    return ended.status, ended.err
