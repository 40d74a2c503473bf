"""What will be run, as data: written once by preparation, read by every Job of the search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from submits.blast import programs, table
from submits.blast.facts import DatabaseFacts, argument
from submits.blast.intake import Search
from submits.blast.split import Rule, split

_WIDTH = 70


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A query by its inner `id` and as its author named it."""

    id: str
    name: str
    title: str
    length: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. `argv` is the program and its options as a list, without query, database, threads and output."""

    run_id: str
    program: str
    argv: tuple[str, ...]
    database: DatabaseFacts
    batches: int
    queries: tuple[PlannedQuery, ...]
    threads: int = 1

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @staticmethod
    def from_json(data: bytes) -> Plan:
        """The plan that `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        read = json.loads(data)
        return Plan(
            run_id=str(read["run_id"]),
            program=str(read["program"]),
            argv=tuple(str(word) for word in read["argv"]),
            database=DatabaseFacts(**read["database"]),
            batches=int(read["batches"]),
            queries=tuple(PlannedQuery(**query) for query in read["queries"]),
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
        queries=tuple(
            PlannedQuery(table.query_id(number), query.name, query.title, len(query.sequence))
            for number, query in enumerate(search.queries, 1)
        ),
        threads=threads,
    )


def batches(search: Search, *, rule: Rule | None = None) -> Iterator[bytes]:
    """The FASTA of each batch, in order, under inner names: as many as the plan made with the same rule says."""
    for indices in _ranges(search, rule):
        lines = []
        for index in indices:
            sequence = search.queries[index].sequence
            lines.append(f">{table.query_id(index + 1)}")
            lines += [sequence[at : at + _WIDTH] for at in range(0, len(sequence), _WIDTH)]
        yield ("\n".join(lines) + "\n").encode("ascii")


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
    return split([len(query.sequence) for query in search.queries], rule or default_rule(search.program))
