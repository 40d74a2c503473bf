"""The table of statuses and the dictionary of reasons: complete, and nothing else writes a status."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from submits.states import ENDED, LIVE, REASONS, TRANSITIONS, Kind, Reason, Status, may

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
    assert {Status.COMPLETED, Status.FAILED} == ENDED
    for status in LIVE:
        reached, todo = {status}, [status]
        while todo:
            for following in TRANSITIONS[todo.pop()] - reached:
                reached.add(following)
                todo.append(following)
        assert reached >= ENDED or status is Status.RUNNING


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
