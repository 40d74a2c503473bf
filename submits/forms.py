"""What somebody typed into the search form: kept as typed, and read into a search or findings by the one intake."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from hashlib import blake2s
from typing import Any, BinaryIO, cast
from uuid import uuid4

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from submits import live, receiving
from submits.blast.encoding import PIECE, beginning, size
from submits.blast.findings import Finding, Findings
from submits.blast.intake import DatabaseFacts, Search, read_search
from submits.engine import jobs
from submits.engine.settings import Settings
from submits.models import Cluster, Database, Submission
from submits.scopes import default_scope
from submits.shown.words import plain

FIELDS = frozenset({"csrfmiddlewaretoken", "form_key", "title", "query", "file", "database", "program", "from", "show"})
LOOKED_AT = 1_000_000  # bytes of a query that are looked at while the form is being filled in
SHOWN_AGAIN = 200_000  # bytes of a file that are put into the box when something in it must be mended


@dataclass(frozen=True)
class Draft:
    text: str = ""
    title: str = ""
    database: str = ""
    program: str = ""
    options: dict[str, str] = field(default_factory=dict)
    key: str = field(default_factory=lambda: uuid4().hex)
    file: BinaryIO | None = None  # never whole in memory
    file_name: str = ""
    source: str = ""  # the key of an earlier search whose query counts while there is no other
    source_size: int = 0

    @classmethod
    def of(cls, data: QueryDict, file: UploadedFile[Any] | None = None) -> Draft:
        """A file, if there is one, counts before the box.

        A field that the form does not have counts as an option, so that it is refused by name and not passed over.
        """
        brought = file is not None and bool(file.size)
        return cls(
            text=data.get("query", ""),
            title=" ".join(plain(data.get("title", "")).split())[:200],
            database=plain(data.get("database", "")),
            program=plain(data.get("program", "")),
            options={name: str(value) for name, value in data.items() if name not in FIELDS and value},
            key=plain(data.get("form_key", ""))[:32] or uuid4().hex,
            file=cast(BinaryIO, file) if brought else None,
            file_name=(file.name or "") if file and brought else "",
            source=plain(data.get("from", ""))[:32],
        )

    @classmethod
    def again(cls, earlier: Submission, query: BinaryIO) -> Draft:
        """An earlier search, to be changed. A long query stays where it is, instead of going out and coming back."""
        text = _text(query)
        made = cls(text, earlier.title, earlier.database.key, earlier.program, dict(earlier.options))
        return made if text or not size(query) else replace(made, source=earlier.key, source_size=size(query))

    def sourced(self, query: BinaryIO) -> Draft:
        """With an earlier search's query in place of a file."""
        return replace(self, file=query, source_size=size(query))

    @property
    def empty(self) -> bool:
        return not self.text.strip() and self.file is None

    @property
    def query(self) -> str | BinaryIO:
        return self.text if self.file is None else self.file

    def opened(self) -> BinaryIO:
        """The query as a file, at its beginning."""
        file = io.BytesIO(self.text.encode("utf-8", "replace")) if self.file is None else self.file
        file.seek(0)
        return file

    @property
    def digest(self) -> str:
        """Of all that was typed and chosen, so that the same form with something else in it is told apart."""
        made, file = blake2s(digest_size=16), self.opened()
        while piece := file.read(PIECE):
            made.update(piece)
        made.update(b"\0")  # which is in no query
        chosen = (f"{name}={value}" for name, value in sorted(self.options.items()))
        rest = "\0".join((self.database, self.program, self.title, *chosen))
        made.update(rest.encode("utf-8", "replace"))
        return made.hexdigest()

    def kept(self) -> Draft:
        """As the form shows it again. A browser forgets a chosen file, so a small one comes back in the box."""
        if self.file is None:
            return self
        text = "" if self.source else _text(self.file)
        return replace(self, text=text or self.text, file=None)


def _text(file: BinaryIO) -> str:
    """What a file says, to be put into the box; "" for one that is too long for it."""
    if size(file) > SHOWN_AGAIN:
        return ""
    file.seek(0)
    return file.read().decode("utf-8-sig", "replace")


def database_of(scope: Cluster, key: str) -> Database | None:
    return Database.objects.filter(scope=scope, key=key, ready=True).first()


def taken_out(key: str) -> str:
    """What is said of a database that was offered once and is not whole any more; "" of any other."""
    rows = Database.objects.filter(scope=default_scope(), key=key, ready=False).exclude(trouble="")
    return f"“{rows[0].title}” is not offered any more: {rows[0].trouble}" if rows else ""


def largest_node(scope: Cluster) -> int:
    """Its memory in MiB; 0 while nobody knows. A cluster that makes nodes when they are needed must be told of."""
    return settings.COORDUI_NODE_MEMORY_GIB * 1024 or live.read(scope)[0]["health"].get("largest_node") or 0


def never_fits(database: Database, largest: int) -> str:
    """Why no node can ever search it; "" if one can, or nobody knows."""
    return jobs.never_fits(receiving.facts_of(database), Settings(), largest) if largest else ""


def read(draft: Draft, database: Database | None, most: int | None = None) -> Search | Findings:
    """The search that was typed, or everything that is wrong with it; with `most`, of the query's beginning alone.

    A query that is too long is not read, and what is wrong with the rest is told beside it.
    """
    facts: DatabaseFacts | None = receiving.facts_of(database) if database else None
    limits, long = receiving.limits(), too_long(draft)
    unfit = never_fits(database, largest_node(database.scope)) if database else taken_out(draft.database)
    query = "" if long else draft.query if most is None else beginning(draft.query, most)
    found = read_search(
        query, program=draft.program, database=facts, options=draft.options, limits=limits, asked=draft.database
    )
    known = {field: sentence for field, sentence in (("query", long), ("database", unfit)) if sentence}
    if not known:
        return found
    rest = [finding for finding in found if finding.field not in known] if isinstance(found, Findings) else []
    return Findings((*(Finding(field, sentence) for field, sentence in known.items()), *rest))


def too_long(draft: Draft) -> str:
    """Why its query is too long for one search, or for the box; "" if it is not."""
    limits, brought = receiving.limits(), 0 if draft.file is None else size(draft.file)
    if brought > limits.bytes:
        called = f"“{draft.file_name}”" if draft.file_name else "What the earlier search was given"
        return f"{called} has {brought:,} bytes; one search may bring {limits.bytes:,}. Cut it into several searches."
    if draft.file is None and (typed := size(draft.text)) > settings.COORDUI_MAX_TYPED_BYTES:
        return (
            f"There are {typed:,} bytes in the box; it takes {settings.COORDUI_MAX_TYPED_BYTES:,}. "
            f"Save them as a file and choose that: a file may have {limits.bytes:,}."
        )
    return ""


def title_of(draft: Draft, search: Search) -> str:
    """What was typed, else the first query's name and how many more there are."""
    first, more = search.queries[0], len(search.queries) - 1
    name = first.name or "query"
    return draft.title or plain(f"{name} and {more:,} more" if more else f"{name} {first.title}".strip())[:200]
