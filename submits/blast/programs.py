"""The BLAST programs: what each compares with what, its tasks, and how its queries are cut into batches."""

from __future__ import annotations

from dataclasses import dataclass

from submits.blast.molecule import Molecule


@dataclass(frozen=True, slots=True)
class Program:
    """One program. `tasks` begins with its default; `batch_letters` is the documented length of one batch of queries.

    `filter` is its low-complexity flag and `filtered` that flag's default; `short_task` suits queries up to
    `short_letters`. A program that is not `offered` is known, so that a search which needs it can be told so.
    """

    name: str
    query: Molecule
    database: Molecule
    tasks: tuple[str, ...]
    batch_letters: int
    filter: str
    filtered: bool
    about: str
    short_task: str = ""
    short_letters: int = 0
    offered: bool = False


_ALL = (
    Program("blastn", "nucl", "nucl", ("megablast", "blastn", "blastn-short", "dc-megablast"), 5_000_000, "-dust", True,
            "nucleotides against nucleotides", "blastn-short", 50, offered=True),
    Program("blastp", "prot", "prot", ("blastp", "blastp-fast", "blastp-short"), 10_000, "-seg", False,
            "proteins against proteins", "blastp-short", 30, offered=True),
    Program("blastx", "nucl", "prot", ("blastx", "blastx-fast"), 20_004, "-seg", True,
            "translated nucleotides against proteins"),
    Program("tblastn", "prot", "nucl", ("tblastn", "tblastn-fast"), 20_000, "-seg", True,
            "proteins against translated nucleotides"),
    Program("tblastx", "nucl", "nucl", (), 100_000, "-seg", True,
            "translated nucleotides against translated nucleotides"),
)  # fmt: skip
PROGRAMS: dict[str, Program] = {program.name: program for program in _ALL}
OFFERED: tuple[str, ...] = tuple(program.name for program in _ALL if program.offered)

TASKS: dict[str, str] = {
    "megablast": "very similar sequences, fastest",
    "dc-megablast": "similar across species",
    "blastn": "somewhat similar sequences, slower",
    "blastn-short": "primers and probes, up to 50 letters",
    "blastp": "the usual protein search",
    "blastp-fast": "faster, for closer relatives",
    "blastp-short": "peptides, up to 30 letters",
}


def propose(query: Molecule | None, database: Molecule) -> Program | None:
    """The program for this query and database, offered here or not; an untold query is taken as the database's kind."""
    wanted = query or database
    return next((p for p in _ALL if p.query == wanted and p.database == database), None)
