"""A small database of profiles, made the way CDD's are: PSI-BLAST's matrices, put together by makeprofiledb."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from submits import demo
from submits.blast import databases
from submits.blast.facts import DatabaseFacts


@pytest.fixture(scope="session")
def profiles(made: dict[str, DatabaseFacts], tmp_path_factory: pytest.TempPathFactory) -> DatabaseFacts:
    directory = tmp_path_factory.mktemp("profiles")
    return build(made, directory)


def build(made: dict[str, DatabaseFacts], directory: Path) -> DatabaseFacts:
    for family in ("globins", "kinases"):
        (directory / "first.fa").write_text(demo.records(family, 1))
        run(
            directory, "psiblast", "-query", "first.fa", "-db", made[family].path, "-parse_deflines",
            "-num_iterations", "2",
            "-comp_based_stats", "1", "-out_pssm", f"{family}.smp", "-save_pssm_after_last_round", "-out", "rounds.txt",
        )  # fmt: skip
    (directory / "families.pn").write_text("globins.smp\nkinases.smp\n")
    run(
        directory, "makeprofiledb", "-in", "families.pn", "-title", "Two families", "-out", "families", "-dbtype", "rps"
    )
    return databases.inspect(directory / "families")


def run(directory: Path, *argv: str) -> None:
    subprocess.run(argv, cwd=directory, check=True, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
