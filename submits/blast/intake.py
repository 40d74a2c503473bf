"""Text in, a search or findings out: the one door for the form, the API and the command line."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from submits.blast import fasta, programs
from submits.blast.encoding import Source, size
from submits.blast.facts import DatabaseFacts
from submits.blast.fasta import Record
from submits.blast.findings import MOST, Finding, Findings, excerpt, first_of_each
from submits.blast.listing import Made
from submits.blast.molecule import HOLDS, WORDS, Molecule, detect, stray
from submits.blast.notices import notices_of
from submits.blast.options import Options, parse, without_species
from submits.blast.programs import Program
from submits.blast.table import query_id

__all__ = [
    "DatabaseFacts",
    "Finding",
    "Findings",
    "Limits",
    "Options",
    "PlannedQuery",
    "Search",
    "guess",
    "read_search",
]
_LISTED = 5  # numbers of sequences that a sentence names
_FAR = 2  # so many times too many sequences are counted to their end, and no more


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one search may bring."""

    bytes: int = 50_000_000
    queries: int = 100_000
    letters: int = 50_000_000
    query_letters: int = 10_000_000


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query by its inner `id` and as its author named it; its sequence lies where the text lies."""

    id: str
    name: str
    title: str
    length: int


class _Planned(Made[PlannedQuery]):
    """Queries by their names in few bytes: Python's own text with one wide character in it takes four for each."""

    def __init__(self) -> None:
        self._named: list[bytes] = []
        self._lengths = array("Q")

    def add(self, name: str, title: str, length: int) -> None:
        self._named.append(f"{name}\n{title}".encode("utf-8", "surrogatepass"))
        self._lengths.append(length)

    def __len__(self) -> int:
        return len(self._named)

    def item(self, place: int) -> PlannedQuery:
        name, _, title = self._named[place].decode("utf-8", "surrogatepass").partition("\n")
        return PlannedQuery(query_id(place + 1), name, title, self._lengths[place])


@dataclass(frozen=True, slots=True)
class Search:
    """A search that can be run: everything in it has been checked against its database.

    `text` is where its sequences are read from again; a file has to stay open until then.
    """

    program: str
    task: str
    options: Options
    queries: Sequence[PlannedQuery]
    molecule: Molecule
    letters: int
    notices: tuple[str, ...] = ()
    text: Source = field(default="", repr=False, compare=False)

    def sequences(self) -> Iterator[str]:
        """The letters of each query, in order."""
        return (record.query.sequence for record in fasta.Reader(self.text))

    def argv(self) -> list[str]:
        """The program and its options as the search will be run, without query, database, threads and output."""
        program = programs.PROGRAMS[self.program]
        return [program.name, *self.options.argv(program)]


@dataclass(frozen=True, slots=True)
class Guess:
    """What can be said of half-typed input: for the live line under the box, never a reason to refuse."""

    queries: int
    letters: int
    molecule: Molecule | None
    program: str
    sentence: str


def read_search(
    text: Source,
    *,
    program: str | None,
    database: DatabaseFacts | None,
    options: Mapping[str, str],
    limits: Limits = Limits(),
    asked: str = "",
) -> Search | Findings:
    """The search that `text`, `database` and `options` make, or everything that is wrong with them.

    Guarantee: never raises for any text, any program name or any options, and holds no more of a text than its names
    and one sequence. With `program` None or empty the program is proposed from query and database. The database None
    means that there is none of the key `asked`, "" being no key.

    One fault hides no other: what is wrong is told of the query, of the database and the program, and of the options,
    in this order and at most MOST of a field. Only what follows from a fault is not told beside it: what a query is of
    that could not be read, and what a program makes of options that nobody has chosen it for.
    """
    seen = _Seen(limits)
    wrong, mended = seen.read(text)
    molecule = None if wrong else seen.molecule
    misfits = tuple(_misfits(program or "", molecule, database, asked))
    possible = _possible(program or "", molecule, database, sure=not wrong)
    kind = possible[0].query
    if not wrong and molecule in (None, kind) and all(one.query == kind for one in possible):
        wrong = seen.strays(kind)
    chosen, refused = _options(possible, options)
    if chosen is not None:
        refused += _beyond(chosen, seen.queries)
        refused += without_species(chosen, database) if database else []
    if wrong or misfits or refused or chosen is None:
        return first_of_each((*wrong, *misfits, *refused))
    fits = possible[0]
    notices = (*mended, *notices_of(fits, chosen, seen.molecule, seen.queries))
    return Search(fits.name, chosen.task, chosen, seen.queries, kind, seen.letters, notices, text)


class _Seen:
    """What is kept of the sequences that go by: who they are, and the first of each kind of fault."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.queries = _Planned()
        self.many = self.letters = 0
        self.molecule: Molecule | None = None  # of the first that tells
        self._numbers: dict[Molecule, list[int]] = {"nucl": [], "prot": []}
        self._too_long: list[Finding] = []
        self._stray: list[tuple[int, str, int, str, int]] = []

    def read(self, text: Source) -> tuple[list[Finding], tuple[str, ...]]:
        """Goes through a text: what is wrong with it, and what was mended."""
        if (length := size(text)) > self.limits.bytes:
            return [Finding("query", _over("The text has", length, "bytes", self.limits.bytes))], ()
        reader = fasta.Reader(text, self.limits.query_letters)
        for record in reader:
            self.look(record)
            if self.many > _FAR * self.limits.queries:
                over = _over("There are more than", self.many - 1, "sequences", self.limits.queries)
                return [Finding("query", over)], ()
        if reader.findings is not None:
            return list(reader.findings), ()
        return self.beyond_limits() + self.mixed(), reader.notices

    def look(self, record: Record) -> None:
        query = record.query
        self.many += 1
        self.letters += record.letters
        if self.many <= self.limits.queries:
            self.queries.add(query.name, query.title, record.letters)
        if record.letters > self.limits.query_letters:
            if len(self._too_long) < MOST:
                self._too_long.append(_too_long(record, self.limits.query_letters))
            return
        kind = detect(query.sequence)
        if kind:
            self.molecule = self.molecule or kind
            if len(self._numbers[kind]) <= _LISTED:
                self._numbers[kind].append(self.many)
        if len(self._stray) < MOST and (found := stray(query.sequence, "nucl")):
            self._stray.append((self.many, query.name, *found, record.line))

    def beyond_limits(self) -> list[Finding]:
        findings = []
        if self.many > self.limits.queries:
            findings.append(Finding("query", _over("There are", self.many, "sequences", self.limits.queries)))
        if self.letters > self.limits.letters:
            findings.append(Finding("query", _over("There are", self.letters, "letters", self.limits.letters)))
        return findings + self._too_long

    def mixed(self) -> list[Finding]:
        nucleotide, protein = self._numbers["nucl"], self._numbers["prot"]
        if not (nucleotide and protein):
            return []
        return [
            Finding(
                "query",
                f"There are nucleotides and proteins together: sequence {_listed(nucleotide)} is nucleotide, "
                f"{_listed(protein)} is protein. Search them separately.",
            )
        ]

    def strays(self, molecule: Molecule) -> list[Finding]:
        """The letters that are not of the alphabet; any letter is of the proteins'."""
        if molecule == "prot":
            return []
        return [
            Finding(
                "query",
                f"Sequence {number} (“{excerpt(name)}”) has “{letter}” at position {place:,}, which stands "
                f"for no {WORDS[molecule]}. Correct it, or write N where the base is unknown.",
                line,
            )
            for number, name, place, letter, line in self._stray
        ]


def guess(text: Source, database: DatabaseFacts | None = None) -> Guess | Findings:
    """How many sequences, of which kind, and the program that suits them: for a form that is still being filled in."""
    limits = Limits()
    reader = fasta.Reader(text, limits.query_letters)
    many = letters = 0
    molecule: Molecule | None = None
    for record in reader:
        many += 1
        letters += record.letters
        molecule = molecule or detect(record.query.sequence)
        if many > _FAR * limits.queries:
            return Findings((Finding("query", _over("There are more than", many - 1, "sequences", limits.queries)),))
    if reader.findings is not None:
        return reader.findings
    proposed = programs.propose(molecule, database.molecule) if database else None
    called = f"{WORDS[molecule]} " if molecule else ""
    sentence = f"{many:,} {called}sequence{'s' if many > 1 else ''}, {letters:,} letters."
    return Guess(many, letters, molecule, proposed.name if proposed else "", sentence)


def _over(what: str, size: int, unit: str, most: int) -> str:
    return f"{what} {size:,} {unit}; one search may bring {most:,}. Cut it into several searches."


def _too_long(record: Record, most: int) -> Finding:
    what = f"“{excerpt(record.query.name)}” has {record.letters:,} letters"
    return Finding("query", f"{what}; one sequence may have {most:,}. Cut it into pieces.", record.line)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:_LISTED])) + (", …" if len(numbers) > _LISTED else "")


def _misfits(name: str, molecule: Molecule | None, database: DatabaseFacts | None, asked: str) -> Iterator[Finding]:
    """What does not fit of the program by its name ("": none was chosen), the query's kind and the database."""
    if database is None:
        unknown = f"There is no database “{excerpt(asked, 63)}” here, or it is not offered any more. Choose another."
        yield Finding("database", unknown if asked else "Choose a database to search in.")
    chosen = programs.PROGRAMS.get(name)
    if chosen is None:
        known = ", ".join(programs.PROGRAMS)
        if name:
            yield Finding("program", f"“{excerpt(name)}” is not a program that can be run here. There are: {known}.")
    elif molecule is not None and molecule != chosen.query:
        other = f"Choose {programs.propose(molecule, database.molecule).name} for it" if database else "Choose another"
        yield Finding(
            "program",
            f"{chosen.name} takes {WORDS[chosen.query]} sequences, but this looks like {WORDS[molecule]}. "
            f"{other}, or paste {WORDS[chosen.query]} sequences.",
        )
    elif database is not None and database.molecule != chosen.database:
        other = programs.propose(molecule, database.molecule).name
        yield Finding(
            "database",
            f"{chosen.name} searches {WORDS[chosen.database]} databases, but “{database.title}” holds "
            f"{HOLDS[database.molecule]}. Choose another database, or {other} for this one.",
        )


def _possible(name: str, molecule: Molecule | None, database: DatabaseFacts | None, *, sure: bool) -> list[Program]:
    """The program that it is; several, the usual one first, while what would tell them apart is wrong or missing.

    `sure`: the query could be read, so that one whose kind nothing tells is taken as the database's.
    """
    if named := programs.PROGRAMS.get(name):
        return [named]
    if not name and sure and database is not None:
        return [programs.propose(molecule, database.molecule)]
    return [
        program
        for program in programs.PROGRAMS.values()
        if molecule in (None, program.query) and (database is None or program.database == database.molecule)
    ]


def _options(possible: Sequence[Program], given: Mapping[str, str]) -> tuple[Options | None, list[Finding]]:
    """As the first of these programs takes them that does; if none does, what is wrong in a field that all find fault
    with."""
    refused: list[Findings] = []
    for program in possible:
        parsed = parse(program, given)
        if isinstance(parsed, Options):
            return parsed, []
        refused.append(parsed)
    everywhere = set.intersection(*({finding.field for finding in findings} for findings in refused))
    return None, [finding for finding in refused[0] if finding.field in everywhere]


def _beyond(chosen: Options, queries: Sequence[PlannedQuery]) -> list[Finding]:
    """A part of the query that begins behind a query's end: BLAST would fail by it."""
    start = int(dict(chosen.flags).get("query_loc", "0-").partition("-")[0])
    short = next((query for query in queries if query.length <= start), None) if start else None
    if short is None:
        return []
    what = f"“{excerpt(short.name)}” has {short.length:,} letters"
    return [Finding("flags", f"-query_loc begins at {start:,}, but {what}. Begin earlier, or take it out.")]
