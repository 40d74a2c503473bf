"""What BLAST's formatter writes of concatenated archives becomes what one run would have written; then names go back.

Two passes over lines, each a generator: nothing is held. What they change, and nothing else:

1. `corrected`: the statistics of each query, of which an archive keeps its first query's alone; one last line with the
   number of queries (7) in place of one for each archive; one header (17) in place of one for each.
2. `renamed`: the author's names for the inner ones, and the database's name for its path.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from xml.sax.saxutils import escape

from submits.blast.facts import argument
from submits.blast.formats import Chosen
from submits.blast.plan import Plan, PlannedQuery
from submits.blast.printable import clean

Replace = Callable[[bytes], bytes]
Statistics = Mapping[str, tuple[int, int]]  # by inner name: length adjustment, effective search space
_ID = rb"(q[0-9]{6,})"
_QUERY = re.compile(
    rb"Query= " + _ID + rb"\s*$|\s*<(?:Iteration_query-ID|query-id)>" + _ID + rb"<|\s*\"query_id\": \"" + _ID + rb"\""
)
_ADJUSTMENT = re.compile(rb"(<Statistics_hsp-len>|<hsp-len>|\"hsp_len\": )[0-9]+")
_SPACE = re.compile(rb"(<Statistics_eff-space>|<eff-space>|\"eff_space\": |Effective search space used: )[0-9]+")
_TRAILER = b"# BLAST processed "
_SAM_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*")


def corrected(lines: Callable[[], Iterable[bytes]], chosen: Chosen, queries: int, known: Statistics) -> Iterator[bytes]:
    """`lines` gives the formatter's lines anew each time it is called."""
    outfmt = chosen.format.outfmt
    if outfmt == "17":
        yield from _one_header(lines)
        return
    query = ""
    for line in lines():
        if outfmt == "7" and line.startswith(_TRAILER):
            continue
        if found := _QUERY.match(line):
            query = next(name for name in found.groups() if name).decode()
        numbers = known.get(query)
        yield line if found or numbers is None else _counted(line, numbers)
    if outfmt == "7":
        yield _TRAILER + b"%d queries\n" % queries


def _counted(line: bytes, numbers: tuple[int, int]) -> bytes:
    return _SPACE.sub(rb"\g<1>%d" % numbers[1], _ADJUSTMENT.sub(rb"\g<1>%d" % numbers[0], line))


def renamed(lines: Iterable[bytes], chosen: Chosen, plan: Plan) -> Iterator[bytes]:
    queries = {query.id: query for query in plan.queries}
    outfmt = chosen.format.outfmt
    tables = dict.fromkeys(("6", "7", "10"), _in_table)
    ways = {"0": _in_text, "5": _in_xml, "15": _in_json, "16": _in_xml2, "17": _in_sam, **tables}
    replace = ways[outfmt](chosen, queries)
    paths = _paths(outfmt, plan.database.path)
    for line in lines:
        told = line
        for path, name in paths:
            told = told.replace(path, name)
        yield replace(told)


def statistics(lines: Iterable[bytes]) -> dict[str, tuple[int, int]]:
    """Of each query, from the JSON (15) of a run."""
    found: dict[str, tuple[int, int]] = {}
    query, adjustment = "", 0
    for line in lines:
        if match := _QUERY.match(line):
            query = next(name for name in match.groups() if name).decode()
        elif match := re.match(rb"\s*\"hsp_len\": ([0-9]+)", line):
            adjustment = int(match[1])
        elif match := re.match(rb"\s*\"eff_space\": ([0-9]+)", line):
            found[query] = adjustment, int(match[1])
    return found


def _one_header(lines: Callable[[], Iterable[bytes]]) -> Iterator[bytes]:
    """In SAM a header comes first, so the sequences of all batches come before the first row."""
    seen: set[bytes] = set()
    for last in (False, True):
        for line in lines():
            kind = line.split(b"\t", 1)[0]
            if line.startswith(b"@") and (kind == b"@PG") == last and (kind == b"@SQ" or kind not in seen):
                seen.add(kind)
                yield line
    yield from (line for line in lines() if not line.startswith(b"@"))


def _paths(outfmt: str, path: str) -> list[tuple[bytes, bytes]]:
    """How a database's path, which BLAST was given in quotes, is written in a format; and what stands there instead."""
    name, quoted = PurePath(path).name, argument(path)
    written: dict[str, Callable[[str], str]] = {
        "5": lambda text: escape(text, {'"': "&quot;"}),
        "16": lambda text: escape(text, {'"': "&quot;"}),
        "15": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    }
    spell = written.get(outfmt, str)
    return [(spell(text).encode(), spell(name).encode()) for text in (quoted, path)]


def _title(query: PlannedQuery) -> str:
    return clean(f"{query.name} {query.title}".strip())


def _swap(
    pattern: re.Pattern[bytes], text: Callable[[PlannedQuery], str], queries: Mapping[str, PlannedQuery]
) -> Replace:
    """Puts a text in the place of the inner name that `pattern` finds as its second group."""

    def replace(line: bytes) -> bytes:
        found = pattern.match(line)
        query = queries.get(found[2].decode()) if found else None
        if found is None or query is None:
            return line
        return found[1] + text(query).encode("utf-8", "replace") + line[found.end(2) :]

    return replace


def _in_text(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    return _swap(re.compile(rb"(Query= )" + _ID + rb"\s*$"), _title, queries)


def _in_table(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    comma = chosen.format.outfmt == "10"
    columns = chosen.columns or ("qaccver",)
    places = [at for at, column in enumerate(columns) if column in ("qseqid", "qacc", "qaccver")]
    separator = b"," if comma else b"\t"
    comment = _swap(re.compile(rb"(# Query: )" + _ID + rb"\s*$"), _title, queries)

    def cell(query: PlannedQuery) -> bytes:
        name = clean(query.name)
        quoted = comma and any(char in name for char in ',"')
        return ('"' + name.replace('"', '""') + '"' if quoted else name).encode("utf-8", "replace")

    def replace(line: bytes) -> bytes:
        if line.startswith(b"#"):
            return comment(line)
        end = len(line.rstrip(b"\n"))
        cells = line[:end].split(separator)
        for at in places:
            if query := queries.get(cells[at].decode("ascii", "replace")):
                cells[at] = cell(query)
        return separator.join(cells) + line[end:]

    return replace


@dataclass(frozen=True, slots=True)
class _Marks:
    """How a format writes a query's name and title: what stands before each, and what ends a text."""

    names: tuple[bytes, ...]
    titles: tuple[bytes, ...]
    end: bytes
    spell: Callable[[str], str]


def _numbered(marks: _Marks, queries: Mapping[str, PlannedQuery]) -> Replace:
    """As BLAST itself does without -parse_deflines: Query_7 for a name, and the whole header for a title."""
    current: list[PlannedQuery] = []

    def replace(line: bytes) -> bytes:
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if mark := next((mark for mark in marks.names if bare.startswith(mark)), b""):
            text, end, rest = bare[len(mark) :].partition(marks.end)
            if query := queries.get(text.decode("ascii", "replace")):
                current[:] = [query]
                return indent + mark + b"Query_%d" % int(query.id[1:]) + end + rest
        elif current and (mark := next((mark for mark in marks.titles if bare.startswith(mark)), b"")):
            _, end, rest = bare[len(mark) :].rpartition(marks.end)
            return indent + mark + marks.spell(_title(current[0])).encode("utf-8", "replace") + end + rest
        return line

    return replace


def _in_xml(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    names = (b"<Iteration_query-ID>", b"<BlastOutput_query-ID>")
    return _numbered(_Marks(names, (b"<Iteration_query-def>", b"<BlastOutput_query-def>"), b"</", _xml), queries)


def _in_xml2(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    return _numbered(_Marks((b"<query-id>",), (b"<query-title>",), b"</", _xml), queries)


def _in_json(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    return _numbered(_Marks((b'"query_id": "',), (b'"query_title": "',), b'"', _json), queries)


def _in_sam(chosen: Chosen, queries: Mapping[str, PlannedQuery]) -> Replace:
    """A name that SAM does not allow, or that several share, stays the inner one. BLAST's command line is not told."""
    names = Counter(query.name for query in queries.values())
    once = {name for name, many in names.items() if many == 1 and _SAM_NAME.fullmatch(name)}
    header = re.compile(rb"(@SQ\tSN:)" + _ID)
    row = re.compile(rb"([^\t]*\t[^\t]*\t)" + _ID)

    def name(query: PlannedQuery) -> str:
        return query.name if query.name in once else query.id

    in_header, in_row = _swap(header, name, queries), _swap(row, name, queries)

    def replace(line: bytes) -> bytes:
        if line.startswith(b"@PG"):
            return re.sub(rb"\tCL:[^\t]*", b"", line)
        return in_header(line) if line.startswith(b"@") else in_row(line)

    return replace


def _xml(text: str) -> str:
    return escape(text, {'"': "&quot;", "'": "&apos;"})


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
