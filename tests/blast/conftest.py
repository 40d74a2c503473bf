from __future__ import annotations

import pytest

from submits import demo
from submits.blast import databases
from submits.blast.facts import DatabaseFacts
from tests.blast.profiles import profiles

__all__ = ["profiles"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DatabaseFacts]:
    """The example databases, formatted by the real makeblastdb."""
    directory = tmp_path_factory.mktemp("blastdb")
    return {db.key: databases.format_fasta(db.fasta, directory / db.key, db.title) for db in demo.databases()}


@pytest.fixture
def globins(made: dict[str, DatabaseFacts]) -> DatabaseFacts:
    return made["globins"]


@pytest.fixture
def phage(made: dict[str, DatabaseFacts]) -> DatabaseFacts:
    return made["lambda"]
