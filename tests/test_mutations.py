"""The table of `make mutants` fits the sources: quick, and said the moment a rule's text changes."""

from __future__ import annotations

import ast

import pytest

from tests.mutations.mutation import Mutation
from tests.mutations.table import MUTATIONS
from tests.world import REPOSITORY


def test_every_mutation_has_a_name_of_its_own() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place_and_is_python(mutation: Mutation) -> None:
    ast.parse(mutation.changed(REPOSITORY))
    assert mutation.old != mutation.new
    for test in mutation.tests:
        assert (REPOSITORY / test.partition("::")[0]).exists()
