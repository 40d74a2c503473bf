"""The merged table in numbers: for each query how many hits, the best e-value, and where in the table its rows lie."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass

from submits.blast import listing, table
from submits.blast.listing import Made
from submits.blast.plan import Plan, PlannedQuery


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
    """The queries by number, not all when some batches are not done. `first_with_hits` is the number of the first query
    that has any, 0 when none has, None in a document of before it was kept."""

    queries: Sequence[QuerySummary]
    queries_with_hits: int
    hits: int
    first_with_hits: int | None = None

    def pieces(self) -> Iterator[bytes]:
        """The summary as a JSON document, for a file."""
        head = {name: getattr(self, name) for name in ("queries_with_hits", "hits", "first_with_hits")}
        return listing.pieces(head, "queries", map(astuple, self.queries))

    @staticmethod
    def from_json(data: bytes) -> Summary:
        """The summary that `pieces` wrote; raises ValueError, KeyError or TypeError for anything else."""
        read, queries = listing.parse(data, "queries", QuerySummary)
        first = read.get("first_with_hits")
        known = None if first is None else int(first)
        return Summary(queries, int(read["queries_with_hits"]), int(read["hits"]), known)

    def place(self, number: int) -> int | None:
        """Where query `number` is among the queries; None also for one of a batch that is not done yet."""
        place = number - 1  # where it is when all batches before it are done
        if not (0 <= place < len(self.queries) and self.queries[place].number == number):
            place = bisect_left(self.queries, number, key=lambda query: query.number)
        return place if place < len(self.queries) and self.queries[place].number == number else None

    def query(self, number: int) -> QuerySummary | None:
        """Query `number`, counted from 1."""
        place = self.place(number)
        return None if place is None else self.queries[place]

    def where_hits_begin(self) -> int:
        """Where the first query is that has hits; 0 when none has."""
        if self.first_with_hits is None and self.queries_with_hits:
            return next((place for place, query in enumerate(self.queries) if query.hits), 0)
        return self.place(self.first_with_hits or 0) or 0


class Counter:
    """Counts the rows of a merged table as they go by, without holding them.

    Guarantee: rows of one query are contiguous and queries come in the plan's order, else BadRow is raised: a table
    that a batch wrote twice, one merged out of order and one cut off are not passed on as a result.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._counts = Counts(len(plan.queries))
        self._first = int(plan.queries[0].id[1:]) if plan.queries else 0
        self._place, self._id = -1, b""
        self._subject: table.Subject | None = None
        self._offset = self._started = self._hits = self._hsps = 0
        self._best = math.inf

    def count(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Hands every line of one batch on after counting it; a batch holds whole queries."""
        self._close()
        opened = True
        for line in lines:
            cells = line.rstrip(b"\r\n").split(b"\t")
            if len(cells) != len(table.COLUMNS) or not line.endswith(b"\n"):
                raise table.BadRow(f"{len(cells)} cells where {len(table.COLUMNS)} were asked for: {line[:80]!r}")
            place = self._place if cells[0] == self._id else self._find(cells[0].decode("ascii", "replace"))
            if place != self._place or opened:
                self._close()
                if place <= self._place:
                    raise table.BadRow(f"rows of {cells[0]!r} where they do not belong")
                self._place, self._id, self._subject, opened = place, cells[0], None, False
            subject = table.parse(line.decode("utf-8", "replace")).subject
            if self._subject is None or not subject.goes_on(self._subject):
                self._hits += 1
            self._subject = subject
            self._hsps += 1
            self._best = min(self._best, subject.evalue)
            self._offset += len(line)
            yield line

    def summary(self) -> Summary:
        """The numbers of everything counted so far."""
        self._close()
        hits = self._counts.hits
        first = next((self._first + place for place, many in enumerate(hits) if many), 0)
        return Summary(Counted(self._plan.queries, self._counts), sum(map(bool, hits)), sum(hits), first)

    def _find(self, name: str) -> int:
        """The place of a query among the plan's, whose numbers follow each other; -1 for a name that is not there."""
        place = int(name[1:]) - self._first if name[1:].isdecimal() else -1
        known = 0 <= place < len(self._plan.queries) and self._plan.queries[place].id == name
        return place if known else -1

    def _close(self) -> None:
        if self._hsps:
            self._counts.put(
                self._place, self._hits, self._hsps, self._best, self._started, self._offset - self._started
            )
        self._started, self._hits, self._hsps, self._best = self._offset, 0, 0, math.inf


class Counts:
    """Five numbers for each of many queries, in 40 bytes a query."""

    def __init__(self, queries: int) -> None:
        nothing = bytes(8 * queries)
        self.hits, self.hsps, self.offsets, self.sizes = (array("q", nothing) for _ in range(4))
        self.best = array("d", nothing)

    def put(self, place: int, hits: int, hsps: int, best: float, offset: int, size: int) -> None:
        self.hits[place], self.hsps[place], self.best[place] = hits, hsps, best
        self.offsets[place], self.sizes[place] = offset, size


class Counted(Made[QuerySummary]):
    """The queries with their numbers."""

    def __init__(self, queries: Sequence[PlannedQuery], counts: Counts) -> None:
        self._queries, self._counts = queries, counts

    def __len__(self) -> int:
        return len(self._queries)

    def item(self, place: int) -> QuerySummary:
        query, counts = self._queries[place], self._counts
        best = counts.best[place] if counts.hsps[place] else None
        return QuerySummary(
            query.id, query.name, query.title, query.length, counts.hits[place], counts.hsps[place], best,
            counts.offsets[place], counts.sizes[place],
        )  # fmt: skip
