"""The table of statuses and the dictionary of reasons: complete, and nothing else writes a status."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from submits import statechart
from submits.states import (
    ENDED,
    LIVE,
    PHASES,
    REASONS,
    REASONS_OF,
    TRANSITIONS,
    Kind,
    Phase,
    Reason,
    Status,
    may,
    occurs,
)
from tests.world import REPOSITORY

SUBMITS = Path(__file__).parents[1] / "submits"
BELOW_THE_ROWS = {"gates", "cluster", "engine", "blast"}  # rooms that know of no database


def test_every_reason_is_explained_in_sentences() -> None:
    assert set(REASONS) == set(Reason) - {Reason.NONE}
    for reason, explained in REASONS.items():
        assert explained.sentence.endswith("."), reason
        assert explained.next_step.endswith("."), reason
        assert isinstance(explained.kind, Kind)


def test_every_status_has_its_row_and_can_reach_an_end() -> None:
    assert set(TRANSITIONS) == set(Status)
    assert {Status.COMPLETED, Status.FAILED, Status.CANCELLED} == ENDED
    for status in LIVE:
        reached, ahead = {status}, [status]
        while ahead:
            for following in TRANSITIONS[ahead.pop()] - reached:
                reached.add(following)
                ahead.append(following)
        assert reached >= ENDED


def test_an_ended_submission_goes_nowhere() -> None:
    for status in ENDED:
        assert [other for other in Status if may(status, other)] == [status]


@pytest.mark.parametrize("old", Status)
def test_nothing_runs_that_was_not_admitted(old: Status) -> None:
    assert may(old, Status.RUNNING) == (old in (Status.WAITING, Status.SUBMITTING, Status.RUNNING))


def test_only_the_model_writes_a_status() -> None:
    writers = []
    for path in SUBMITS.rglob("*.py"):
        if path.name == "models.py" or {"migrations", *BELOW_THE_ROWS} & set(path.parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                writers += [path for t in targets if isinstance(t, ast.Attribute) and t.attr == "status"]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
                writers += [path for word in node.keywords if word.arg == "status"]
    assert writers == []


def test_whatever_lives_can_be_cancelled_and_is_cancelled_by_no_other_way() -> None:
    for status in LIVE - {Status.CANCELLING}:
        assert may(status, Status.CANCELLING)
    assert [status for status in Status if Status.CANCELLED in TRANSITIONS[status]] == [Status.CANCELLING]
    assert TRANSITIONS[Status.CANCELLING] == ENDED


def test_every_phase_and_every_reason_occurs_somewhere_and_classes_are_not_mixed() -> None:
    assert set(PHASES) == set(REASONS_OF) == set(Status)
    assert frozenset().union(*PHASES.values()) == set(Phase)
    assert frozenset().union(*REASONS_OF.values()) == set(Reason)
    for status in Status:
        kinds = {REASONS[reason].kind for reason in REASONS_OF[status] if reason}
        assert kinds <= ({Kind.FINAL} if status in ENDED else {Kind.WAIT, Kind.RETRY})
    assert occurs(Status.WAITING, Phase.IN_LINE, Reason.DRAINED)
    assert not occurs(Status.WAITING, Phase.IN_LINE, Reason.CAPACITY_TIMEOUT)
    assert not occurs(Status.RUNNING, Phase.READY, Reason.NONE)


def test_a_time_out_has_a_name_and_a_sentence_of_its_own() -> None:
    sentences = [told.sentence for told in REASONS.values()]
    assert len(set(sentences)) == len(sentences)
    for reason in (Reason.SUBMIT_SLOT_TIMEOUT, Reason.CAPACITY_TIMEOUT, Reason.COORDINATION_LOST):
        assert REASONS[reason].kind is Kind.FINAL and "wait" not in reason


def test_the_document_is_made_from_the_tables() -> None:
    assert (REPOSITORY / "docs" / "states.md").read_text() == statechart.document()
    assert f"cancelling --> {Status.CANCELLED}" in statechart.diagram()
