"""Text in, a search or findings out: the one door for the form, the API and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from submits.blast import fasta, programs
from submits.blast.facts import DatabaseFacts
from submits.blast.fasta import Query, Records
from submits.blast.findings import MOST, Finding, Findings, excerpt
from submits.blast.molecule import HOLDS, WORDS, Molecule, detect, stray
from submits.blast.options import Options, parse
from submits.blast.programs import Program

__all__ = ["DatabaseFacts", "Finding", "Findings", "Limits", "Options", "Query", "Search", "guess", "read_search"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one search may bring."""

    bytes: int = 50_000_000
    queries: int = 100_000
    letters: int = 50_000_000
    query_letters: int = 10_000_000


@dataclass(frozen=True, slots=True)
class Search:
    """A search that can be run: everything in it has been checked against its database."""

    program: str
    task: str
    options: Options
    queries: tuple[Query, ...]
    molecule: Molecule
    letters: int
    notices: tuple[str, ...] = ()

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
    text: str | bytes,
    *,
    program: str | None,
    database: DatabaseFacts | None,
    options: Mapping[str, str],
    limits: Limits = Limits(),
    asked: str = "",
) -> Search | Findings:
    """The search that `text`, `database` and `options` make, or everything that is wrong with them.

    Guarantee: never raises for any text, any program name or any options. With `program` None or empty the program is
    proposed from query and database. The database None means that there is none of the key `asked`, "" being no key.
    """
    if database is None:
        unknown = f"There is no database “{excerpt(asked, 63)}” here, or it is not offered any more. Choose another."
        return Findings((Finding("database", unknown if asked else "Choose a database to search in."),))
    size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.bytes:
        return Findings((Finding("query", _over("The text has", size, "bytes", limits.bytes)),))
    records = fasta.read(text)
    if isinstance(records, Findings):
        return records
    kinds = [detect(query.sequence) for query in records.queries]
    findings = _limits(records, limits) + _mixed(kinds)
    if findings:
        return Findings(findings[:MOST])
    molecule: Molecule | None = next((kind for kind in kinds if kind), None)
    chosen = _program(program or "", molecule, database)
    if isinstance(chosen, Finding):
        return Findings((chosen,))
    findings = _letters(records, chosen.query)
    parsed = parse(chosen, options)
    findings += parsed if isinstance(parsed, Findings) else _beyond(parsed, records.queries)
    if findings or isinstance(parsed, Findings):
        return Findings(findings[:MOST])
    notices = [
        *records.notices,
        *_repeated(records.queries),
        *_untold(molecule, chosen),
        *_short(chosen, parsed, records.queries),
        *_few(parsed),
    ]
    letters = sum(len(query.sequence) for query in records.queries)
    return Search(chosen.name, parsed.task, parsed, records.queries, chosen.query, letters, tuple(notices))


def guess(text: str | bytes, database: DatabaseFacts | None = None) -> Guess | Findings:
    """How many sequences, of which kind, and the program that suits them: for a form that is still being filled in."""
    records = fasta.read(text)
    if isinstance(records, Findings):
        return records
    kinds = map(detect, (query.sequence for query in records.queries))
    molecule: Molecule | None = next((kind for kind in kinds if kind), None)
    letters = sum(len(query.sequence) for query in records.queries)
    proposed = programs.propose(molecule, database.molecule) if database else None
    many = len(records.queries)
    called = f"{WORDS[molecule]} " if molecule else ""
    sentence = f"{many:,} {called}sequence{'s' if many > 1 else ''}, {letters:,} letters."
    return Guess(many, letters, molecule, proposed.name if proposed else "", sentence)


def _over(what: str, size: int, unit: str, most: int) -> str:
    return f"{what} {size:,} {unit}; one search may bring {most:,}. Cut it into several searches."


def _limits(records: Records, limits: Limits) -> list[Finding]:
    findings = []
    if len(records.queries) > limits.queries:
        findings.append(Finding("query", _over("There are", len(records.queries), "sequences", limits.queries)))
    letters = sum(len(query.sequence) for query in records.queries)
    if letters > limits.letters:
        findings.append(Finding("query", _over("There are", letters, "letters", limits.letters)))
    for query, line in zip(records.queries, records.lines, strict=True):
        if len(query.sequence) > limits.query_letters:
            what = f"“{excerpt(query.name)}” has {len(query.sequence):,} letters"
            findings.append(
                Finding("query", f"{what}; one sequence may have {limits.query_letters:,}. Cut it into pieces.", line)
            )
    return findings


def _mixed(kinds: list[Molecule | None]) -> list[Finding]:
    nucleotide = [number for number, kind in enumerate(kinds, 1) if kind == "nucl"]
    protein = [number for number, kind in enumerate(kinds, 1) if kind == "prot"]
    if not (nucleotide and protein):
        return []
    return [
        Finding(
            "query",
            f"There are nucleotides and proteins together: sequence {_listed(nucleotide)} is nucleotide, "
            f"{_listed(protein)} is protein. Search them separately.",
        )
    ]


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")


def _program(name: str, molecule: Molecule | None, database: DatabaseFacts) -> Program | Finding:
    right = programs.propose(molecule, database.molecule)
    if not name:
        return right
    chosen = programs.PROGRAMS.get(name)
    if chosen is None:
        known = ", ".join(programs.PROGRAMS)
        return Finding("program", f"“{excerpt(name)}” is not a program that can be run here. There are: {known}.")
    if molecule is not None and molecule != chosen.query:
        advice = f"Choose {right.name} for it, or paste {WORDS[chosen.query]} sequences."
        return Finding(
            "program",
            f"{chosen.name} takes {WORDS[chosen.query]} sequences, but this looks like {WORDS[molecule]}. {advice}",
        )
    if database.molecule != chosen.database:
        return Finding(
            "database",
            f"{chosen.name} searches {WORDS[chosen.database]} databases, but “{database.title}” holds "
            f"{HOLDS[database.molecule]}. Choose another database, or {right.name} for this one.",
        )
    return chosen


def _letters(records: Records, molecule: Molecule) -> list[Finding]:
    findings = []
    for number, (query, line) in enumerate(zip(records.queries, records.lines, strict=True), 1):
        found = stray(query.sequence, molecule)
        if found is not None:
            place, letter = found
            findings.append(
                Finding(
                    "query",
                    f"Sequence {number} (“{excerpt(query.name)}”) has “{letter}” at position {place:,}, which stands "
                    f"for no {WORDS[molecule]}. Correct it, or write N where the base is unknown.",
                    line,
                )
            )
    return findings


def _beyond(chosen: Options, queries: tuple[Query, ...]) -> list[Finding]:
    """A part of the query that begins behind a query's end: BLAST would fail by it."""
    start = int(dict(chosen.flags).get("query_loc", "0-").partition("-")[0])
    short = next((query for query in queries if len(query.sequence) <= start), None) if start else None
    if short is None:
        return []
    what = f"“{excerpt(short.name)}” has {len(short.sequence):,} letters"
    return [Finding("flags", f"-query_loc begins at {start:,}, but {what}. Begin earlier, or take it out.")]


def _repeated(queries: tuple[Query, ...]) -> list[str]:
    repeated = [(name, many) for name, many in Counter(query.name for query in queries).items() if many > 1]
    if not repeated:
        return []
    name, many = repeated[0]
    more = "" if len(repeated) == 1 else ", and other names are shared too"
    return [f"“{excerpt(name, 30)}” is the name of {many:,} sequences{more}: tell them apart by their numbers."]


def _untold(molecule: Molecule | None, program: Program) -> list[str]:
    if molecule is not None:
        return []
    return [f"Too few telling letters to know its kind: taken as {WORDS[program.query]}, which {program.name} needs."]


def _short(program: Program, chosen: Options, queries: tuple[Query, ...]) -> list[str]:
    if not program.short_task or chosen.task == program.short_task:
        return []
    short = [query for query in queries if len(query.sequence) <= program.short_letters]
    if not short:
        return []
    which = f"“{excerpt(short[0].name)}” is" if len(short) == 1 else f"{len(short):,} of {len(queries):,} sequences are"
    return [
        f"{which} at most {program.short_letters} letters long: the task “{chosen.task}” may find nothing. "
        f"For short ones choose “{program.short_task}”."
    ]


def _few(chosen: Options) -> list[str]:
    if chosen.max_target_seqs >= 5:
        return []
    return ["With fewer than 5 hits asked for, BLAST does not promise that they are the best ones. Ask for more."]
