"""The formats that results can be had in: what they are called, and BLAST's own words for them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from submits.blast import known
from submits.blast.findings import Finding, excerpt
from submits.blast.programs import PROGRAMS

MOST_COLUMNS = 60


@dataclass(frozen=True, slots=True)
class Format:
    """`outfmt` is BLAST's number of it, "" for what BLAST's formatter does not make."""

    name: str
    outfmt: str
    ending: str
    content_type: str
    about: str
    only: str = ""  # the one program whose results can be had in it
    chosen: bool = False  # whether its columns can be chosen


_ALL = (
    Format("pairwise", "0", "txt", "text/plain; charset=utf-8", "Alignments as text, as BLAST prints them"),
    Format("tabular", "6", "tsv", "text/tab-separated-values; charset=utf-8", "Table", chosen=True),
    Format("commented", "7", "txt", "text/plain; charset=utf-8", "Table with comment lines", chosen=True),
    Format("csv", "10", "csv", "text/csv; charset=utf-8", "Table with commas", chosen=True),
    Format("xml", "5", "xml", "application/xml", "XML"),
    Format("xml2", "16", "xml2", "application/xml", "XML, the newer one (XML2)"),
    Format("json", "15", "json", "application/json", "JSON"),
    Format("sam", "17", "sam", "text/plain; charset=utf-8", "SAM: the queries as references", only="blastn"),
    Format("subjects", "", "fa", "text/x-fasta; charset=utf-8", "Whole sequences of all subjects (FASTA)"),
)  # fmt: skip
FORMATS: dict[str, Format] = {made.name: made for made in _ALL}
# What the formatter writes of a query's statistics in these is another's: an archive keeps those of its first alone.
WITH_STATISTICS = frozenset({"0", "5", "15", "16"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """A format, with the columns of a table where they were chosen. `key` names its file and its Job."""

    name: str
    columns: tuple[str, ...] = ()

    @property
    def format(self) -> Format:
        return FORMATS[self.name]

    @property
    def outfmt(self) -> str:
        """The value of -outfmt."""
        return " ".join((self.format.outfmt, *self.columns))

    @property
    def key(self) -> str:
        if not self.columns:
            return self.name
        return f"{self.name}-{hashlib.sha256(' '.join(self.columns).encode()).hexdigest()[:12]}"

    @property
    def file(self) -> str:
        return f"{self.key}.{self.format.ending}"


def offered(program: str) -> list[Format]:
    """Those that a program's results can be had in."""
    return [made for made in _ALL if made.only in ("", program)]


def choose(program: str, name: str, columns: Sequence[str] = ()) -> Chosen | Finding:
    """A format by its name and the columns asked for, or what is wrong with that. Never raises."""
    found = FORMATS.get(name)
    if found is None or found not in offered(program):
        return Finding("format", f"“{excerpt(name)}” is not a format that results of {program} can be had in.")
    asked = tuple(dict.fromkeys(columns))
    if not found.chosen:
        return Chosen(name)
    strange = [column for column in asked if column not in known.columns()]
    if strange:
        return Finding("columns", f"“{excerpt(strange[0])}” is not a column of BLAST's tables.")
    if len(asked) > MOST_COLUMNS:
        return Finding("columns", f"These are {len(asked)} columns; there may be {MOST_COLUMNS}.")
    return Chosen(name, asked)


def differs(program: str) -> bool:
    """Whether XML, JSON and text of this program can differ from what the program itself would have written."""
    return PROGRAMS[program].translated or PROGRAMS[program].database == "rps"
