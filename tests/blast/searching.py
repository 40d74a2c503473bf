"""A search run by the real BLAST+, in one piece: what pages, drawings and downloads are made from."""

from __future__ import annotations

import io
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from submits.blast import plan as planning
from submits.blast import results
from submits.blast.facts import DatabaseFacts
from submits.blast.intake import Search, read_search
from submits.blast.plan import Plan
from submits.blast.results import Hit
from submits.blast.summary import Counter, Summary


@dataclass(frozen=True)
class Searched:
    plan: Plan
    lines: list[bytes]
    summary: Summary

    def hits(self, number: int = 1) -> list[Hit]:
        query = self.summary.query(number)
        assert query is not None
        return results.read_hits(io.BytesIO(b"".join(self.lines)), query)


def searched(text: str, database: DatabaseFacts, **options: str) -> Searched:
    search = read_search(text, program=None, database=database, options=options)
    assert isinstance(search, Search), search
    plan = planning.make(search, database, "job-" + "0" * 32)
    with tempfile.TemporaryDirectory() as made:
        query, archive, table = (str(Path(made, name)) for name in ("q.fa", "out.asn", "out.tsv"))
        Path(query).write_bytes(b"".join(chain.from_iterable(planning.batches(search))))
        for argv in (
            planning.command(plan, query=query, database=database.path, out=archive),
            planning.formatter(archive=archive, out=table),
        ):
            subprocess.run(argv, check=True, timeout=60, stdin=subprocess.DEVNULL)
        lines = Path(table).read_bytes().splitlines(keepends=True)
    counter = Counter(plan)
    assert list(counter.count(lines)) == lines
    return Searched(plan, lines, counter.summary())
