"""The merged table in numbers: for each query how many hits, the best e-value, and where in the table its rows lie."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from submits.blast import table
from submits.blast.plan import Plan


@dataclass(frozen=True, slots=True)
class QuerySummary:
    """One query. Its rows are the `size` bytes of hits.tsv from `offset` on; `hits` are subjects, `hsps` alignments."""

    id: str
    name: str
    title: str
    length: int
    hits: int = 0
    hsps: int = 0
    best_evalue: float | None = None
    offset: int = 0
    size: int = 0

    @property
    def number(self) -> int:
        """Its place among the queries, counted from 1."""
        return int(self.id[1:])


@dataclass(frozen=True, slots=True)
class Summary:
    queries: tuple[QuerySummary, ...]
    queries_with_hits: int
    hits: int

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @staticmethod
    def from_json(data: bytes) -> Summary:
        """The summary that `to_json` wrote; raises ValueError, KeyError or TypeError for anything else."""
        read = json.loads(data)
        queries = tuple(QuerySummary(**query) for query in read["queries"])
        return Summary(queries, int(read["queries_with_hits"]), int(read["hits"]))

    def query(self, number: int) -> QuerySummary | None:
        """Query `number`, counted from 1; None also for one of a batch that is not done yet."""
        if 1 <= number <= len(self.queries) and self.queries[number - 1].number == number:
            return self.queries[number - 1]
        return next((query for query in self.queries if query.number == number), None)


class Counter:
    """Counts the rows of a merged table as they go by, without holding them.

    Guarantee: rows of one query are contiguous and queries come in the plan's order, else BadRow is raised: a table
    that a batch wrote twice, one merged out of order and one cut off are not passed on as a result.
    """

    def __init__(self, plan: Plan) -> None:
        self._queries = [QuerySummary(query.id, query.name, query.title, query.length) for query in plan.queries]
        self._places = {query.id: place for place, query in enumerate(plan.queries)}
        self._place = -1
        self._subject: table.Subject | None = None
        self._offset = self._started = self._hits = self._hsps = 0
        self._best: float | None = None

    def count(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Hands every line of one batch on after counting it; a batch holds whole queries."""
        self._close()
        opened = True
        for line in lines:
            cells = line.rstrip(b"\r\n").split(b"\t")
            if len(cells) != len(table.COLUMNS) or not line.endswith(b"\n"):
                raise table.BadRow(f"{len(cells)} cells where {len(table.COLUMNS)} were asked for: {line[:80]!r}")
            place = self._places.get(cells[0].decode("ascii", "replace"), -1)
            if place != self._place or opened:
                self._close()
                if place <= self._place:
                    raise table.BadRow(f"rows of {cells[0]!r} where they do not belong")
                self._place, self._subject, opened = place, None, False
            subject = table.parse(line.decode("utf-8", "replace")).subject
            if self._subject is None or not subject.goes_on(self._subject):
                self._hits += 1
            self._subject = subject
            self._hsps += 1
            evalue = subject.evalue
            self._best = evalue if self._best is None else min(self._best, evalue)
            self._offset += len(line)
            yield line

    def summary(self) -> Summary:
        """The numbers of everything counted so far."""
        self._close()
        queries = tuple(self._queries)
        return Summary(queries, sum(query.hits > 0 for query in queries), sum(query.hits for query in queries))

    def _close(self) -> None:
        if self._hsps:
            query = self._queries[self._place]
            self._queries[self._place] = QuerySummary(
                query.id, query.name, query.title, query.length, self._hits, self._hsps, self._best,
                self._started, self._offset - self._started,
            )  # fmt: skip
        self._started, self._hits, self._hsps, self._best = self._offset, 0, 0, None
