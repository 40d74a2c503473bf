"""The BLAST programs: what each compares with what, its tasks, and how its queries are cut into batches."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from submits.blast.molecule import Kind, Molecule


@dataclass(frozen=True, slots=True)
class Program:
    """One program. `tasks` begins with its default; `batch_letters` is the documented length of one batch of queries.

    `filter` is its low-complexity flag and `filtered` that flag's default; `short_task` suits queries up to
    `short_letters`.
    """

    name: str
    query: Molecule
    database: Kind
    tasks: tuple[str, ...]
    batch_letters: int
    filter: str
    filtered: bool
    about: str
    short_task: str = ""
    short_letters: int = 0

    @property
    def translated(self) -> bool:
        """Whether it translates query or database."""
        return self.name in ("blastx", "tblastn", "tblastx", "rpstblastn")


# Of two that take the same query and database the first is proposed.
_ALL = (
    Program("blastn", "nucl", "nucl", ("megablast", "blastn", "blastn-short", "dc-megablast"), 5_000_000, "-dust", True,
            "nucleotides against nucleotides", "blastn-short", 50),
    Program("blastp", "prot", "prot", ("blastp", "blastp-fast", "blastp-short"), 10_000, "-seg", False,
            "proteins against proteins", "blastp-short", 30),
    Program("blastx", "nucl", "prot", ("blastx", "blastx-fast"), 20_004, "-seg", True,
            "translated nucleotides against proteins"),
    Program("tblastn", "prot", "nucl", ("tblastn", "tblastn-fast"), 20_000, "-seg", True,
            "proteins against translated nucleotides"),
    Program("tblastx", "nucl", "nucl", (), 100_000, "-seg", True,
            "translated nucleotides against translated nucleotides"),
    Program("psiblast", "prot", "prot", (), 100_000, "-seg", False,
            "proteins against proteins, as PSI-BLAST's first round scores them"),
    Program("rpsblast", "prot", "rps", (), 100_000, "-seg", False,
            "proteins against profiles of protein families (conserved domains)"),
    Program("rpstblastn", "nucl", "rps", (), 100_000, "-seg", False,
            "translated nucleotides against profiles of protein families"),
)  # fmt: skip
PROGRAMS: dict[str, Program] = {program.name: program for program in _ALL}

TASKS: dict[str, str] = {
    "megablast": "very similar sequences, fastest",
    "dc-megablast": "similar across species",
    "blastn": "somewhat similar sequences, slower",
    "blastn-short": "primers and probes, up to 50 letters",
    "blastp": "the usual protein search",
    "blastp-fast": "faster, for closer relatives",
    "blastp-short": "peptides, up to 30 letters",
    "blastx": "the usual translated search",
    "blastx-fast": "faster, for closer relatives",
    "tblastn": "the usual translated search",
    "tblastn-fast": "faster, for closer relatives",
}


def propose(query: Molecule | None, database: Kind) -> Program:
    """The usual program for this query and database; an untold query is taken as the kind that needs no translation."""
    wanted = query or ("nucl" if database == "nucl" else "prot")
    return next(p for p in _ALL if p.query == wanted and p.database == database)


def executable(name: str) -> str:
    """What a program is called on this machine: Debian's package calls rpsblast by another name."""
    return name if shutil.which(name) or not shutil.which(f"{name}+") else f"{name}+"
