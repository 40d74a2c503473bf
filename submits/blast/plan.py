"""What will be run, as data: written once by preparation, read by every Job of the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from submits.blast import listing, programs, table
from submits.blast.facts import DatabaseFacts, argument
from submits.blast.intake import PlannedQuery, Search
from submits.blast.split import Rule, split

__all__ = ["Plan", "PlannedQuery"]
_WIDTH = 70


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. `argv` is the program and its options as a list, without query, database, threads and output."""

    run_id: str
    program: str
    argv: tuple[str, ...]
    database: DatabaseFacts
    batches: int
    queries: Sequence[PlannedQuery]
    threads: int = 1

    def pieces(self) -> Iterator[bytes]:
        """The plan as a JSON document, for a file."""
        head = {name: getattr(self, name) for name in ("run_id", "program", "argv", "batches", "threads")}
        items = ((query.id, query.name, query.title, query.length) for query in self.queries)
        return listing.pieces({**head, "database": asdict(self.database)}, "queries", items)

    @staticmethod
    def from_json(data: bytes) -> Plan:
        """The plan that `pieces` wrote; raises ValueError, KeyError or TypeError for anything else."""
        read, queries = listing.parse(data, "queries", PlannedQuery)
        return Plan(
            run_id=str(read["run_id"]),
            program=str(read["program"]),
            argv=tuple(str(word) for word in read["argv"]),
            database=DatabaseFacts(**read["database"]),
            batches=int(read["batches"]),
            queries=queries,
            threads=int(read["threads"]),
        )


def make(search: Search, database: DatabaseFacts, run_id: str, *, rule: Rule | None = None, threads: int = 1) -> Plan:
    """The plan of a search: nothing is written and nothing is run."""
    return Plan(
        run_id=run_id,
        program=search.program,
        argv=tuple(search.argv()),
        database=database,
        batches=len(_ranges(search, rule)),
        queries=search.queries,
        threads=threads,
    )


def batches(search: Search, *, rule: Rule | None = None) -> Iterator[Iterator[bytes]]:
    """The FASTA of each batch, in order, under inner names: as many as the plan made with the same rule says.

    Each is handed out in pieces, one for each query, which are to be taken before the next batch is.
    """
    records = _records(search)
    for indices in _ranges(search, rule):
        yield islice(records, len(indices))


def _records(search: Search) -> Iterator[bytes]:
    """Raises ValueError when the text is not what was checked any more."""
    for query, sequence in zip(search.queries, search.sequences(), strict=True):
        if len(sequence) != query.length:
            raise ValueError(f"{query.id} has {len(sequence):,} letters; it had {query.length:,} when it was checked")
        lines = (sequence[at : at + _WIDTH] for at in range(0, len(sequence), _WIDTH))
        yield "\n".join((f">{query.id}", *lines, "")).encode("ascii")


def command(plan: Plan, *, query: str, database: str, out: str) -> list[str]:
    """The whole command of one batch: BLAST's archive, from which every other format can be made."""
    return [
        *plan.argv, "-query", query, "-parse_deflines", "-db", argument(database), "-num_threads", str(plan.threads),
        "-outfmt", table.ARCHIVE, "-out", out,
    ]  # fmt: skip


def formatter(*, archive: str, out: str) -> list[str]:
    """The command that writes the table of one archive; it needs the database where the search had it."""
    return ["blast_formatter", "-archive", archive, "-parse_deflines", "-outfmt", table.OUTFMT, "-out", out]


def default_rule(program: str) -> Rule:
    return Rule(letters=programs.PROGRAMS[program].batch_letters)


def _ranges(search: Search, rule: Rule | None) -> list[range]:
    return split([query.length for query in search.queries], rule or default_rule(search.program))
