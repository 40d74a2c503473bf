"""Example databases and searches: real biology, small, and free to pass on (see SOURCES.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from submits.blast import fasta
from submits.blast.findings import Findings
from submits.blast.molecule import Molecule

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class DemoDatabase:
    """A FASTA file to be formatted under `key` on first start."""

    key: str
    title: str
    fasta: Path
    molecule: Molecule


@dataclass(frozen=True, slots=True)
class DemoSearch:
    """A search as someone would fill in the form; `query` makes its text. `slow` ones run in many batches."""

    title: str
    program: str
    task: str
    database: str
    query: Callable[[], str]
    options: Mapping[str, str] = field(default_factory=dict)
    slow: bool = False

    def form(self) -> dict[str, str]:
        """The options as `intake.read_search` takes them."""
        return {"task": self.task, **self.options}


def databases() -> tuple[DemoDatabase, ...]:
    """The first one is the one that the example searches."""
    return (
        DemoDatabase("globins", "Globins (45 proteins)", _HERE / "globins.fa", "prot"),
        DemoDatabase("kinases", "Protein kinase domains (38 proteins)", _HERE / "kinases.fa", "prot"),
        DemoDatabase("lambda", "Phage lambda genome", _HERE / "lambda.fa", "nucl"),
        DemoDatabase("made1", "MADE1 transposons of the human genome (100 copies)", _HERE / "made1.fa", "nucl"),
    )


def text(name: str) -> str:
    """One of the query files of this directory."""
    return (_HERE / f"{name}.fa").read_text("ascii")


def records(name: str, most: int, start: int = 0) -> str:
    """`most` records of a file, from record `start` on."""
    return "".join(f">{record}" for record in text(name).split(">")[1:][start : start + most])


def windows(name: str, width: int, step: int) -> str:
    """Every window of `width` letters, `step` apart, over every sequence of a file: many short queries."""
    read = fasta.read(text(name))
    if isinstance(read, Findings):
        raise ValueError(f"{name}: {read[0].sentence}")
    lines = []
    for query in read.queries:
        for at in range(0, max(1, len(query.sequence) - width + 1), step):
            lines.append(f">{query.name}_{at + 1} window of {width}\n{query.sequence[at : at + width]}")
    return "\n".join(lines) + "\n"


EXAMPLE = DemoSearch(
    "Human haemoglobin and two relatives against globins", "blastp", "blastp", "globins",
    lambda: text("hbb_human") + records("globins", 1, 6) + records("globins", 1, 42),
)  # fmt: skip

SEARCHES: tuple[DemoSearch, ...] = (
    EXAMPLE,
    DemoSearch("Long reads against phage lambda", "blastn", "megablast", "lambda", lambda: text("reads")),
    DemoSearch("Sevenless against kinase domains", "blastp", "blastp", "kinases", lambda: text("sevenless")),
    DemoSearch("Ten transposon copies against all", "blastn", "blastn", "made1", lambda: records("made1", 10)),
    DemoSearch("Every globin against every globin", "blastp", "blastp", "globins", lambda: text("globins")),
    DemoSearch(
        "Globin peptides, window by window", "blastp", "blastp", "globins",
        lambda: windows("globins", 60, 2), slow=True,
    ),
    DemoSearch(
        "Kinase peptides, window by window", "blastp", "blastp", "kinases",
        lambda: windows("kinases", 80, 4), {"evalue": "10"}, slow=True,
    ),
    DemoSearch(
        "Kinase domains against globins, very sensitive", "blastp", "blastp", "globins",
        lambda: windows("kinases", 120, 6), {"evalue": "1000", "max_target_seqs": "500"}, slow=True,
    ),
)  # fmt: skip
