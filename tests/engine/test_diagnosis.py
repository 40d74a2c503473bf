"""What went wrong, from the cluster's words and BLAST's own: every status and word has one reason with a sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from submits import demo
from submits.blast import databases
from submits.blast.facts import DatabaseFacts
from submits.engine.diagnosis import DETERMINED, ENDED, WAITING, HeldUp, at_last, diagnose, exit_of, held_up, of_exit
from submits.engine.diagnosis import words_of as words
from submits.states import HELD_UP, REASONS, REASONS_OF, Kind, Reason, Status

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
    return {"metadata": {"labels": {"job-name": job}, "creationTimestamp": at}, "status": status}


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
        ({}, 126, "", Reason.PROGRAM_MISSING),
        ({}, 127, "blastp: No such file or directory", Reason.PROGRAM_MISSING),
        ({}, 134, "", Reason.CRASHED),
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
