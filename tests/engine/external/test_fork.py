"""Whole submits of an elastic-blast that keeps its id and makes its markers, on the embedded cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from submits import demo
from submits.blast.facts import DatabaseFacts
from submits.engine.errors import Exit
from submits.engine.external.settings import External, Handed, read_handed
from submits.engine.external.submit import KEEPING, ExternalSubmit
from submits.engine.outcome import read_outcome
from submits.engine.settings import Settings
from submits.gates import naming
from submits.gates.ports import KILLED
from submits.work import Unstored, WorkStore, run_key
from tests.engine.external.driving import Driver, driven, fork
from tests.engine.story import Stage, new_id
from tests.world import until


@pytest.fixture
def driver(stage: Stage, made: dict[str, DatabaseFacts], tmp_path: Path) -> Driver:
    passed = {"FORK_BLASTDB": str(Path(made["globins"].path).parent), "FORK": ""}
    return driven(stage, fork(tmp_path), tmp_path / "results", passed)


@pytest.fixture
def run_id(stage: Stage, made: dict[str, DatabaseFacts]) -> str:
    return stage.prepared(three(), made["globins"])


def three() -> str:
    body = "".join(demo.EXAMPLE.query().split(">")[1].splitlines()[1:])
    return "".join(f">query {number}\n{body[number * 5 :]}\n" for number in range(3))


def test_a_search_through_it_ends_with_the_pages_own_table(
    driver: Driver, run_id: str, stage: Stage, made: dict[str, DatabaseFacts]
) -> None:
    assert driver.submit(run_id) == 0, driver.said(run_id)
    assert f"its finalizer carries the id {run_id}" in driver.said(run_id)
    outcome = stage.outcome(run_id)
    assert outcome.status == "succeeded", outcome
    assert (outcome.queries_with_hits, outcome.batches) == (3, 2)
    assert outcome.blast == "by elastic-blast 1.3.1.fork"
    ours = stage.prepared(three(), made["globins"])
    assert stage.submit(ours).returncode == 0
    assert stage.outcome(ours).hits == outcome.hits > 0
    tables = [stage.store.get(run_key(run, "hits.tsv")) for run in (run_id, ours)]
    assert tables[0] == tables[1]


def test_it_sees_its_own_home_one_context_and_nothing_of_ours(driver: Driver, run_id: str) -> None:
    assert driver.submit(run_id) == 0, driver.said(run_id)
    saw = driver.program_saw(run_id)
    seen = saw["environment"]
    assert saw["namespaces"] == ["default"] and saw["home"] == []
    assert set(seen) - {"LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_", "LANG"} == {
        "PATH", "HOME", "TMPDIR", "KUBECONFIG", "FORK", "FORK_BLASTDB",
    }  # fmt: skip
    assert Path(seen["HOME"]).name == "home" and Path(seen["HOME"]).parent == Path(seen["TMPDIR"])
    assert Path(seen["TMPDIR"]).name.startswith("submit-") and not Path(seen["TMPDIR"]).exists()
    assert saw["cfg"]["blast"]["results"] == driver.handed(run_id).results
    assert saw["cfg"]["blast"]["options"].endswith("-parse_deflines -outfmt 11")


@pytest.mark.parametrize("wrong", ["no finalizer", "own id", "context"])
def test_markers_that_are_not_as_they_must_be_are_said_and_keep_the_alarm(
    driver: Driver, run_id: str, stage: Stage, wrong: str
) -> None:
    """The status stays 0: a search may be running, so the gates keep its place."""
    driver.seen["FORK"] = wrong
    assert driver.submit(run_id) == 0
    said = driver.said(run_id)
    if wrong == "context":
        assert "WARNING: It has changed the kubeconfig that it was given" in said
        return
    assert f"WARNING: it was told the id {run_id}, but no finalizer in namespace default has that id" in said
    if wrong == "own id":
        others = {job["metadata"]["labels"]["elb-job-id"] for job in stage.api.list("jobs", naming.COUNTED).items}
        (other,) = [found for found in others if found in said]
        stage.ids.append(other)
        assert f"it says that the search is {other}" in said


def test_a_failure_takes_back_our_job_and_says_what_it_means(driver: Driver, run_id: str, stage: Stage) -> None:
    driver.seen["FORK"] = "8"
    assert driver.submit(run_id) == Exit.CLUSTER
    said = driver.said(run_id)
    assert "coordui-engine: The cloud's cluster could not be used." in said
    assert "(elastic-blast ended with status 8.)" in said and "Its own words: ERROR: it ends with 8" in said
    assert stage.jobs(run_id) == {}
    assert len(stage.jobs(run_id, "read")) == 1  # beside a marker of its own ours holds no place, and ends by itself
    first = driver.handed(run_id)
    driver.seen["FORK"] = "2"
    assert driver.submit(run_id, markers="ours") == Exit.BLASTDB
    assert driver.program_saw(run_id)["namespaces"] == []  # with a marker of ours it has no business in this cluster
    assert stage.jobs(run_id) == {}
    assert driver.handed(run_id).results != first.results  # nothing that one try left there is the next one's


def test_a_search_that_failed_there_fails_here_with_its_words(driver: Driver, run_id: str, stage: Stage) -> None:
    driver.seen["FORK"] = "failing"
    assert driver.submit(run_id) == 0, driver.said(run_id)
    outcome = stage.outcome(run_id)
    assert (outcome.status, outcome.detail) == ("failed", "BLAST engine error: out of luck")


def test_a_kill_with_a_grace_is_an_interrupt_to_it(driver: Driver, run_id: str, stage: Stage) -> None:
    driver.seen["FORK"] = "slow"
    one = driver.start(run_id, markers="ours")
    until(lambda: list((stage.directory / "results").glob("*/*/*/waits")), 30)
    one.kill(20)
    assert list((stage.directory / "results").glob("*/*/*/cleaned"))
    assert stage.jobs(run_id) == {}
    assert read_outcome(stage.store, run_id) is None


@pytest.mark.parametrize("how", ["slow but well", "leaves"])
def test_a_kill_takes_back_nothing_of_one_that_ended_well(driver: Driver, run_id: str, stage: Stage, how: str) -> None:
    """Although interrupted, or before: its search is there, so its marker and what is known of it are too."""
    driver.seen["FORK"] = how
    one = driver.start(run_id, markers="ours")
    until(lambda: list((stage.directory / "results").glob("*/*/*/waits")), 30)
    one.kill(20)
    assert list(stage.jobs(run_id)) == [naming.finalizer(run_id)]
    assert driver.handed(run_id).submitted


def test_a_failure_after_its_finalizer_was_made_loses_nothing(driver: Driver, run_id: str, stage: Stage) -> None:
    driver.seen["FORK"] = "ends badly"
    assert driver.submit(run_id, cut_off=2) == Exit.DEPENDENCY
    assert stage.outcome(run_id).status == "succeeded"


def test_the_pod_that_follows_may_wait_as_long_as_the_program_does(driver: Driver, run_id: str, stage: Stage) -> None:
    given = stage.directory / "given.ini"
    given.write_text("[timeouts]\ninit-pv = 60\nblast-k8s-job = 20000\n")
    assert driver.submit(run_id, config=str(given)) == 0, driver.said(run_id)
    (reader,) = stage.jobs(run_id, "read").values()
    assert reader["spec"]["activeDeadlineSeconds"] == 20_060 * 60 + Settings().deadline


def test_a_program_that_is_gone_is_a_missing_dependency(driver: Driver, run_id: str, stage: Stage) -> None:
    assert driver.submit(run_id, program="/nowhere/elastic-blast") == Exit.DEPENDENCY != KILLED
    assert "/nowhere/elastic-blast cannot be run: No such file" in driver.said(run_id)
    assert stage.jobs(run_id) == {}


def test_what_makes_no_marker_is_refused_before_anything_is_made(driver: Driver, run_id: str, stage: Stage) -> None:
    assert driver.submit(run_id, flags="--cfg") == Exit.DEPENDENCY
    assert "takes no id and makes no finalizer" in driver.said(run_id)
    assert not (stage.directory / "results" / run_id).exists()
    assert stage.jobs(run_id, "finalizer,submit,blast,read") == {}


class Away(WorkStore):
    """A store that is away for so many writes."""

    def __init__(self, url: str, times: int) -> None:
        super().__init__(url)
        self.times, self.asked = times, 0

    def put(self, key: str, data: bytes) -> None:
        self.asked += 1
        if self.asked <= self.times:
            raise Unstored("no answer within 8 s")
        super().put(key, data)


@pytest.mark.parametrize("times", [4, 1000])
def test_that_it_is_submitted_is_kept_once_the_store_is_back(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str], times: int
) -> None:
    """Or said, when it has been away for too long: the marker stands, so nothing is lost by it but words."""
    store, passed = Away(str(tmp_path / "w"), times), [0.0]
    external = External("x", "1", "", "ours", "", "gs://b", "/b", "{key}", "", 30)
    one = ExternalSubmit(
        stage.api, store, Settings(), external, tmp_path, "ab12",
        wait=lambda seconds: passed.append(passed[-1] + seconds), now=lambda: passed[-1],
    )  # fmt: skip
    handed = Handed("ab12", "gs://b/x", "/b", "x", "table", "ours", "1", 30, submitted=True)
    run_id = new_id()
    one.keep(run_id, handed)
    said = capsys.readouterr().out
    if times == 4:
        assert read_handed(store, run_id) == handed and said == ""
    else:
        assert said.startswith("WARNING: it is submitted, which could not be kept: no answer")
        assert KEEPING - 6 <= passed[-1] <= KEEPING
