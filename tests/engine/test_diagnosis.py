"""What went wrong, from the cluster's words and BLAST's own: every status and word has one reason with a sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from submits import demo
from submits.blast import databases
from submits.blast.facts import DatabaseFacts
from submits.engine.diagnosis import (
    DETERMINED,
    ENDED,
    WAITING,
    HeldUp,
    at_last,
    diagnose,
    exit_of,
    is_determined,
    of_exit,
    podless,
)
from submits.engine.diagnosis import held_up as held_up_at
from submits.engine.diagnosis import words_of as words
from submits.states import HELD_UP, REASONS, REASONS_OF, Kind, Reason, Status
from tests.gates.made import NOW, condition, job, reservation
from tests.gates.made import ago as time

NO_ROOM = "0/1 nodes are available: 1 Insufficient memory."
PULL = 'Back-off pulling image "coordui:latest"'


def unscheduled(message: str = NO_ROOM) -> dict[str, Any]:
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}, scheduled]}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": reason, "message": message}}}]}


def ended(exit: int, reason: str = "Error", **status: Any) -> dict[str, Any]:
    state = {"terminated": {"exitCode": exit, "reason": reason}}
    return {"phase": "Failed", "containerStatuses": [{"state": state}], **status}


def disrupted(reason: str) -> dict[str, Any]:
    return ended(143, conditions=[{"type": "DisruptionTarget", "status": "True", "reason": reason}])


def pod(job: str, status: dict[str, Any], second: int = 0) -> dict[str, Any]:
    at = f"2026-01-01T00:00:{second:02}Z"
    metadata = {"name": f"{job}-x", "labels": {"job-name": job}, "creationTimestamp": at}
    return {"metadata": metadata, "status": status}


def held_up(pods: list[dict[str, Any]]) -> HeldUp | None:
    return held_up_at(pods, NOW)


def started(word: str = "ContainerCreating", *, ago: float = 31, networked: str = "", **state: Any) -> dict[str, Any]:
    """A Pod that has its node; its one container waits with this word, or is as `state` says."""
    placed = condition("PodScheduled") | {"lastTransitionTime": time(ago)}
    conditions = [placed, *([condition("PodReadyToStartContainers", networked)] if networked else [])]
    status = {"state": state or {"waiting": {"reason": word}}}
    return {"phase": "Pending", "conditions": conditions, "containerStatuses": [status]}


@pytest.mark.parametrize(
    ("status", "exit", "stderr", "reason"),
    [
        ({}, 0, "Warning: [blastp] Query is Empty!", Reason.NONE),
        ({}, 1, "", Reason.BLAST_REFUSED),
        ({}, 1, "a sentence of a later version", Reason.BLAST_REFUSED),
        ({}, 2, "", Reason.DATABASE_UNREADABLE),
        ({}, 3, "BLAST engine error: something", Reason.ENGINE_FAILED),
        ({}, 3, "terminate called after throwing an instance of 'std::bad_alloc'", Reason.OUT_OF_MEMORY),
        ({}, 4, "", Reason.OUT_OF_MEMORY),
        ({}, 5, "", Reason.CRASHED),
        ({}, 6, "BLAST failed to write output", Reason.FILES_UNREACHABLE),
        ({}, 126, "", Reason.PROGRAM_MISSING),
        ({}, 127, "blastp: No such file or directory", Reason.PROGRAM_MISSING),
        ({}, 134, "", Reason.CRASHED),
        ({}, 135, "", Reason.DATABASE_UNREADABLE),
        ({}, 137, "", Reason.KILLED),
        ({}, 143, "", Reason.STOPPED),
        ({}, 255, "", Reason.CRASHED),
        (ended(137, "OOMKilled"), 137, "", Reason.OUT_OF_MEMORY),
        (ended(1), 1, "BLAST query error: no", Reason.QUERY_REFUSED),
        ({"reason": "Evicted", "phase": "Failed", "message": "low on memory"}, 1, "", Reason.EVICTED),
        ({"reason": "DeadlineExceeded"}, 143, "", Reason.DEADLINE_EXCEEDED),
        ({"reason": "NodeLost"}, None, "", Reason.NODE_LOST),
        (disrupted("DeletionByTaintManager"), None, "", Reason.NODE_LOST),
        (disrupted("EvictionByEvictionAPI"), 143, "", Reason.EVICTED),
        (waiting("ErrImagePull"), None, "", Reason.IMAGE_UNAVAILABLE),
        (waiting("ImagePullBackOff", PULL), None, "", Reason.IMAGE_UNAVAILABLE),
        (waiting("CreateContainerConfigError", 'secret "s" not found'), None, "", Reason.CONTAINER_NOT_MADE),
        ({"initContainerStatuses": waiting("ErrImagePull")["containerStatuses"]}, None, "", Reason.IMAGE_UNAVAILABLE),
        (waiting("ContainerCreating"), None, "", Reason.NONE),
        (ended(128, "StartError"), 128, "", Reason.PROGRAM_MISSING),
        (unscheduled(), None, "", Reason.UNSCHEDULABLE),
        ({"phase": "Pending"}, None, "", Reason.NONE),
        ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}, None, "", Reason.NONE),
    ],
)
def test_each_end_has_its_reason(status: dict[str, Any], exit: int | None, stderr: str, reason: Reason) -> None:
    assert diagnose(status, exit, stderr) == reason


def run(program: str, database: DatabaseFacts, query: Path, *options: str) -> Reason:
    """The reason of what the installed BLAST itself does and says."""
    argv = [program, "-query", str(query), "-db", database.path, "-outfmt", "11", *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False, errors="replace")
    assert done.returncode != 0, done
    return of_exit(done.returncode, done.stderr)


def test_the_ambiguous_one_is_told_apart_by_what_blast_says(made: dict[str, DatabaseFacts], tmp_path: Path) -> None:
    globins, query = made["globins"], tmp_path / "q.fa"
    query.write_text(demo.text("hbb_human"))
    bad = tmp_path / "bad.fa"
    bad.write_text("hello 123 $$$\n")
    assert run("blastp", globins, bad) == Reason.QUERY_REFUSED
    assert run("blastp", globins, tmp_path / "absent.fa") == Reason.FILES_UNREACHABLE
    assert run("blastp", globins, query, "-out", "/nowhere/at/all") == Reason.FILES_UNREACHABLE
    assert run("blastp", globins, query, "-out", "/dev/full") == Reason.FILES_UNREACHABLE
    for options in (
        ("-evalue", "x"),
        ("-task", "no"),
        ("-no", "1"),
        ("-gapopen", "3", "-gapextend", "1"),
        ("-evalue", "0"),
    ):
        assert run("blastp", globins, query, *options) == Reason.OPTION_REFUSED, options


def test_other_statuses_of_blast_itself(made: dict[str, DatabaseFacts], tmp_path: Path) -> None:
    globins, query = made["globins"], tmp_path / "q.fa"
    query.write_text(demo.text("hbb_human"))
    assert run("blastn", globins, query) == Reason.DATABASE_UNREADABLE
    assert run("blastp", globins, query, "-taxids", "9606") == Reason.TAXONOMY_UNKNOWN
    glued = tmp_path / "glued.fa"
    glued.write_text(">a MKVLAAGGTTWY\n")
    assert run("blastp", globins, glued) == Reason.QUERY_REFUSED
    facts = databases.format_fasta(demo.databases()[0].fasta, tmp_path / "db" / "cut", "Cut")
    headers = Path(f"{facts.path}.phr")
    headers.write_bytes(headers.read_bytes()[:2000])
    assert run("blastp", facts, query) == Reason.DATABASE_UNREADABLE


@pytest.mark.parametrize(
    ("status", "stderr", "again"),
    [
        (1, "BLAST query error: CFastaReader: no residues", False),
        (1, "BLAST options error: ", False),
        (2, "BLAST Database error: No alias or index file found for protein database [/b/nr] in search path", False),
        (127, "blastp: No such file or directory", False),
        (1, "Error: CThread::Run() -- error creating thread: Resource temporarily unavailable", True),
        (2, "BLAST Database error: /b/nr.pin: Input/output error", True),
        (6, "BLAST failed to write output", True),
        (135, "", True),
        (139, "CSeqDB", True),
        (255, "Error: mdb_env_open: Resource temporarily unavailable", True),
        (255, "Error: mdb_env_open: No such file or directory", True),
        (137, "", True),
    ],
)
def test_what_may_go_well_the_next_time_is_tried_again(status: int, stderr: str, again: bool) -> None:
    """One failed read on a volume over the network ends BLAST by a signal or 255, as a damaged database does."""
    assert is_determined(status, stderr) is not again
    assert of_exit(status, stderr) is not Reason.NONE


def test_every_reason_ends_a_search_or_holds_it_up_and_says_what_to_do() -> None:
    for reason in (*ENDED.values(), *WAITING.values(), *DETERMINED):
        assert REASONS[reason].next_step and at_last(reason) in REASONS_OF[Status.FAILED]
        assert REASONS[at_last(reason)].kind is Kind.FINAL
    assert {reason: at_last(reason) for reason in HELD_UP} == {
        Reason.EVICTED: Reason.PODS_LOST,
        Reason.NODE_LOST: Reason.PODS_LOST,
        Reason.UNSCHEDULABLE: Reason.DEADLINE_EXCEEDED,
        Reason.IMAGE_UNAVAILABLE: Reason.DEADLINE_EXCEEDED,
        Reason.CONTAINER_NOT_MADE: Reason.DEADLINE_EXCEEDED,
        Reason.NO_POD: Reason.DEADLINE_EXCEEDED,
        Reason.START_DELAYED: Reason.DEADLINE_EXCEEDED,
        Reason.POD_RETRIED: Reason.SEARCH_FAILED,
    }
    assert at_last(Reason.NONE) == Reason.SEARCH_FAILED
    assert REASONS[Reason.UNSCHEDULABLE].kind is Kind.WAIT and REASONS_OF[Status.RUNNING] > HELD_UP


def test_a_run_is_held_up_by_the_latest_pod_of_each_job() -> None:
    gone_well = {"phase": "Succeeded"}
    assert held_up([]) is None
    assert held_up([pod("a", {"phase": "Running"}), pod("b", gone_well), pod("c", {"phase": "Pending"})]) is None
    assert held_up([pod("a", {"phase": "Running"}), pod("b", unscheduled())]) == HeldUp(Reason.UNSCHEDULABLE, NO_ROOM)
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    assert held_up([pod("a", evicted)]) == HeldUp(Reason.EVICTED, "The node was low on resource: memory.")
    assert held_up([pod("a", {"phase": "Running"}, 2), pod("a", evicted, 1)]) is None
    assert held_up([pod("a", {"phase": "Running"}), pod("a", evicted)]) is None
    assert held_up([pod("a", evicted, 2), pod("a", gone_well, 1)]) is not None


@pytest.mark.parametrize(
    "status",
    [
        {"active": 1},
        {"terminating": 1},
        {"failed": 1},
        {"succeeded": 1},
        {"uncountedTerminatedPods": {"succeeded": ["uid"]}},
        {"conditions": [condition("Suspended")]},
        {"conditions": [condition("Failed")]},
    ],
)
def test_a_job_that_has_or_had_a_pod_or_shall_have_none_is_not_without_one(status: dict[str, Any]) -> None:
    assert podless([job("finalizer", "job-1", age=600, **status)], NOW) == {}


def test_a_job_without_a_pod_holds_its_run_up_when_it_is_old_enough() -> None:
    refused: dict[str, Any] = {"startTime": "2026-01-01T00:00:00Z", "ready": 0, "uncountedTerminatedPods": {}}
    alone, young = job("finalizer", "job-1", age=61, **refused), job("blast", "job-2", age=59, **refused)
    resumed = job("blast", "job-3.2", age=90, conditions=[condition("Suspended", "False")])
    others = [job("submit", "job-1", age=9, active=1), reservation("job-4", age=90), job("finalizer", None, age=90)]
    found = podless([alone, young, resumed, *others], NOW)
    assert {run: held.reason for run, held in found.items()} == {"job-1": Reason.NO_POD, "job-3": Reason.NO_POD}
    name = alone["metadata"]["name"]
    assert found["job-1"].words == f"There is no Pod for the Job {name}: “kubectl describe job {name}” says why."
    first, second = sorted((job("blast", "job-1", age=90), alone), key=lambda made: str(made["metadata"]["name"]))
    assert podless([first, second], NOW) == podless([second, first], NOW) == podless([first], NOW)


@pytest.mark.parametrize(
    ("networked", "words"),
    [
        ("False", "its volumes are not mounted yet, or it has no network yet"),
        ("True", "the image that it runs in is being fetched"),
        ("", "a volume is not mounted yet, or the image that it runs in is being fetched"),
    ],
)
@pytest.mark.parametrize("word", ["ContainerCreating", "PodInitializing"])
def test_a_pod_that_is_long_being_started_says_what_it_waits_for(word: str, networked: str, words: str) -> None:
    said = f"Of the Pod a-x, {words}: “kubectl describe pod a-x” says more."
    assert held_up([pod("a", started(word, networked=networked))]) == HeldUp(Reason.START_DELAYED, said)


def test_a_pod_that_is_started_in_time_or_at_work_is_not_held_up() -> None:
    assert held_up([pod("a", started(ago=30, networked="False"))]) is None
    assert held_up([pod("a", started(running={"startedAt": time(40)}))]) is None
    fetches = {"initContainerStatuses": [{"state": {"running": {"startedAt": time(300)}}}]}
    assert held_up([pod("a", started("PodInitializing", ago=300) | fetches)]) is None
    fetched = {"terminated": {"exitCode": 0, "finishedAt": time(10)}}
    after = started("PodInitializing", ago=300) | {"initContainerStatuses": [{"state": fetched}]}
    assert held_up([pod("a", after)]) is None, "its own container has waited for ten seconds"
    fetched["terminated"]["finishedAt"] = time(40)
    assert held_up([pod("a", after)]) is not None
    unplaced = started() | {"conditions": []}
    assert held_up([pod("a", unplaced)]) is None and held_up([pod("a", started(terminated={"exitCode": 0}))]) is None


def test_a_pod_that_is_taken_away_is_not_being_started() -> None:
    taken = pod("a", started())
    taken["metadata"]["deletionTimestamp"] = time(20)
    assert held_up([taken]) is None


def test_a_pod_that_its_node_says_nothing_of_is_told() -> None:
    unsaid = started() | {"containerStatuses": []}
    said = "Of the Pod a-x, its node has not said anything yet: “kubectl describe pod a-x” says more."
    assert held_up([pod("a", unsaid)]) == HeldUp(Reason.START_DELAYED, said)
    assert held_up([pod("a", started(ago=30) | {"containerStatuses": []})]) is None


def test_what_the_cluster_says_of_it_itself_counts_before_how_long_it_takes() -> None:
    pulled = started("ImagePullBackOff", ago=600)
    assert (held := held_up([pod("a", pulled), pod("b", started())])) and held.reason is Reason.IMAGE_UNAVAILABLE
    assert (held := held_up([pod("a", started()), pod("b", ended(1))])) and held.reason is Reason.START_DELAYED


def test_what_most_needs_somebody_is_said_first() -> None:
    pulled, retried = waiting("ImagePullBackOff", PULL), ended(137, "OOMKilled")
    said = HeldUp(Reason.IMAGE_UNAVAILABLE, f"ImagePullBackOff: {PULL}")
    assert held_up([pod("a", retried), pod("b", unscheduled()), pod("c", pulled)]) == said
    assert held_up([pod("a", retried)]) == HeldUp(Reason.POD_RETRIED, "It needed more memory than there was.")
    assert exit_of(retried) == 137 and exit_of({}) is None


def test_the_clusters_words_are_one_short_line() -> None:
    told = words(unscheduled("0/9 nodes\nare\x1b[31m available: " + "x" * 9_000))
    assert told.startswith("0/9 nodes are\ufffd[31m available: xxx") and len(told) == 400
    assert words({}) == "" and words(waiting("ErrImagePull")) == "ErrImagePull"
