"""The table is whole: every scenario has its test or its reason, and every test it names is there."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.gates.corpus.table import SCENARIOS, Scenario


def test_numbers_are_given_once_and_only_forward() -> None:
    numbers = [scenario.number for scenario in SCENARIOS]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 43


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: str(scenario.number))
def test_a_scenario_is_replayed_or_says_why_not(scenario: Scenario) -> None:
    assert scenario.story
    assert scenario.source
    assert bool(scenario.test) != bool(scenario.why_not)
    if scenario.test:
        module, _, name = scenario.test.partition(".")
        found = getattr(import_module(f"tests.gates.corpus.{module}"), name)
        assert callable(found)
        assert name.startswith("test_")
