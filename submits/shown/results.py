"""The results of a search as its page shows them: the queries, one query's hits, one hit's alignments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from submits.blast import alignment, drawing, options, results
from submits.blast.results import Hit, Page
from submits.blast.summary import QuerySummary, Summary
from submits.blast.table import BadRow, Row
from submits.engine import partial as batches
from submits.engine.partial import Partial
from submits.engine.prepare import out_key
from submits.models import Submission
from submits.scopes import store
from submits.shown import files
from submits.states import Status
from submits.work import Missing, run_key

HITS, QUERIES, ALIGNMENTS = 50, 100, 20
SOME = (Status.RUNNING, Status.CANCELLING, Status.CANCELLED, Status.FAILED)

SORTS: dict[str, Callable[[Hit], Any]] = {
    "evalue": lambda hit: hit.number,
    "bits": lambda hit: -hit.bitscore,
    "identity": lambda hit: -hit.identity,
    "cover": lambda hit: -hit.cover,
    "length": lambda hit: -hit.length,
}
COLUMNS = {"evalue": "E-value", "bits": "Bits", "identity": "Identity", "cover": "Query cover", "length": "Length"}


@dataclass(frozen=True)
class Selection:
    """Which part of the results is asked for. Anything that is not understood is the default."""

    query: int = 0
    page: int = 1
    queries: int = 0  # the page of queries; 0 is the one that the chosen query is on
    sort: str = "evalue"

    @classmethod
    def of(cls, given: QueryDict) -> Selection:
        sort = given.get("sort", "")
        return cls(
            number(given.get("query"), 0),
            number(given.get("page"), 1),
            number(given.get("queries"), 0),
            sort if sort in SORTS else "evalue",
        )

    def address(self, **changed: object) -> str:
        values = {"query": self.query, "page": self.page, "queries": self.queries, "sort": self.sort, **changed}
        usual = {"query": 0, "page": 1, "queries": 0, "sort": "evalue"}
        return "?" + urlencode({name: value for name, value in values.items() if value != usual[name]})


@dataclass(frozen=True)
class Shown:
    """One query's hits on one page. `picture` is the whole query's, `trouble` what is wrong with its file."""

    query: QuerySummary
    hits: Page[Hit]
    picture: drawing.Picture
    queries: Page[QuerySummary]
    selection: Selection
    trouble: str = ""

    @property
    def columns(self) -> list[tuple[str, str]]:
        return list(COLUMNS.items())

    @property
    def direction(self) -> str:
        return "ascending" if self.selection.sort == "evalue" else "descending"


def number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else default


def summary(row: Submission) -> Summary | None:
    """Of all queries once the search is completed; before, and if it never is, of those in batches that are done.
    Raises OSError."""
    if row.status == Status.COMPLETED:
        found = files.read(row, "summary.json", Summary.from_json)
        return found if found and found.queries else None
    return partial(row)


def partial(row: Submission) -> Partial | None:
    if row.status not in SOME:
        return None
    try:
        return batches.partial(store(), row.run_id)
    except (Missing, ValueError, KeyError, TypeError):
        return None


def hits(row: Submission, found: Summary, query: QuerySummary) -> list[Hit]:
    """Of one of the queries found, from the table that its batch has made or the whole one. Raises BadRow, Missing or
    OSError."""
    in_batch = out_key(row.run_id, found.batch_of(query), "tsv") if isinstance(found, Partial) else ""
    with store().open(in_batch or run_key(row.run_id, "hits.tsv")) as table:
        return results.read_hits(table, query)


def chosen(found: Summary, selection: Selection) -> int:
    """The place of the query asked for; else of the first one with hits; else of the first."""
    asked = found.place(selection.query)
    return found.where_hits_begin() if asked is None else asked


def show(row: Submission, found: Summary, selection: Selection) -> Shown:
    place = chosen(found, selection)
    query = found.queries[place]
    all_hits, trouble = [], ""
    try:
        all_hits = hits(row, found, query)
    except Missing:
        trouble = "The table of hits is not in the work store any more."
    except (BadRow, ValueError):
        trouble = "The table of hits is damaged; tell an operator."
    in_order = sorted(all_hits, key=SORTS[selection.sort])
    queries_page = selection.queries or place // QUERIES + 1
    page = results.page(in_order, selection.page, HITS)
    selection = Selection(query.number, page.number, selection.queries, selection.sort)
    return Shown(
        query,
        page,
        pictured(all_hits, query, in_order, selection),
        results.page(found.queries, queries_page, QUERIES),
        selection,
        trouble,
    )


def pictured(by_evalue: list[Hit], query: QuerySummary, in_order: list[Hit], selection: Selection) -> drawing.Picture:
    """The coverage picture; a lane leads to its hit's row, on whichever page of this order the row is."""
    drawn = drawing.coverage(by_evalue, query.length, prefix=f"#q{query.number}-")
    page_of = {hit.number: at // HITS + 1 for at, hit in enumerate(in_order)}

    def led(lane: drawing.Lane) -> drawing.Lane:
        page = page_of[lane.number]
        return lane if page == selection.page else replace(lane, href=selection.address(page=page) + lane.href)

    return replace(drawn, lanes=tuple(map(led, drawn.lanes)))


@dataclass(frozen=True)
class Aligned:
    row: Row
    lines: list[alignment.Line]


def aligned(row: Submission, hit: Hit) -> list[Aligned]:
    """The best alignments of a hit; the rest are in the downloads."""
    protein = row.program != "blastn"
    matrix = options.matrix(row.options)
    return [Aligned(hsp, list(alignment.lines(hsp, protein=protein, matrix=matrix))) for hsp in hit.hsps[:ALIGNMENTS]]
