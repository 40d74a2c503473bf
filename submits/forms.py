"""What somebody typed into the search form: kept as typed, and read into a search or findings by the one intake."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2s
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict

from submits.blast.findings import Finding, Findings
from submits.blast.intake import DatabaseFacts, Limits, Search, read_search
from submits.models import Cluster, Database, Submission
from submits.receiving import facts_of
from submits.shown.words import plain

FIELDS = frozenset({"csrfmiddlewaretoken", "form_key", "title", "query", "file", "database", "program", "from", "show"})
SHOWN_AGAIN = 200_000  # characters of a file that are put into the box when something in it must be mended


@dataclass(frozen=True)
class Draft:
    text: str = ""
    title: str = ""
    database: str = ""
    program: str = ""
    options: dict[str, str] = field(default_factory=dict)
    key: str = field(default_factory=lambda: uuid4().hex)
    file: bytes | None = None
    file_name: str = ""
    too_long: int = 0  # bytes of a file that was not read
    source: str = ""  # the key of an earlier search whose query counts while there is no other
    source_size: int = 0

    @classmethod
    def of(cls, data: QueryDict, file: UploadedFile[Any] | None = None) -> Draft:
        """A file, if there is one, counts before the box. One over the limit is not read.

        A field that the form does not have counts as an option, so that it is refused by name and not passed over.
        """
        size = (file.size or 0) if file else 0
        whole = file is not None and size <= settings.COORDUI_MAX_QUERY_BYTES
        return cls(
            text=data.get("query", ""),
            title=" ".join(plain(data.get("title", "")).split())[:200],
            database=plain(data.get("database", "")),
            program=plain(data.get("program", "")),
            options={name: str(value) for name, value in data.items() if name not in FIELDS and value},
            key=plain(data.get("form_key", ""))[:32] or uuid4().hex,
            file=file.read() if file is not None and whole and size else None,
            file_name=(file.name or "") if file and size else "",
            too_long=0 if whole else size,
            source=plain(data.get("from", ""))[:32],
        )

    @classmethod
    def again(cls, earlier: Submission, query: bytes) -> Draft:
        """An earlier search, to be changed. A long query stays where it is, instead of going out and coming back."""
        text = query.decode("utf-8", "replace") if len(query) <= SHOWN_AGAIN else ""
        made = cls(text, earlier.title, earlier.database.key, earlier.program, dict(earlier.options))
        return made if text or not query else replace(made, source=earlier.key, source_size=len(query))

    def sourced(self, query: bytes) -> Draft:
        """With an earlier search's query in place of a file."""
        return replace(self, file=query, source_size=len(query))

    @property
    def empty(self) -> bool:
        return not self.text.strip() and self.file is None and not self.too_long

    @property
    def query(self) -> str | bytes:
        return self.text if self.file is None else self.file

    @property
    def digest(self) -> str:
        """Of all that was typed and chosen, so that the same form with something else in it is told apart."""
        content = self.query.encode("utf-8", "replace") if isinstance(self.query, str) else self.query
        chosen = (f"{name}={value}" for name, value in sorted(self.options.items()))
        rest = "\0".join((self.database, self.program, self.title, *chosen))
        return blake2s(content + rest.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def kept(self) -> Draft:
        """As the form shows it again. A browser forgets a chosen file, so a small one comes back in the box."""
        if self.file is None:
            return self
        if self.source:
            return replace(self, file=None)
        text = self.file.decode("utf-8-sig", "replace")
        return replace(self, text=text if len(text) <= SHOWN_AGAIN else self.text, file=None)


def database_of(scope: Cluster, key: str) -> Database | None:
    return Database.objects.filter(scope=scope, key=key, ready=True).first()


def read(draft: Draft, database: Database | None) -> Search | Findings:
    facts: DatabaseFacts | None = facts_of(database) if database else None
    if draft.too_long:
        sentence = (
            f"“{draft.file_name}” has {draft.too_long:,} bytes; one search may bring "
            f"{settings.COORDUI_MAX_QUERY_BYTES:,}. Cut it into several searches."
        )
        return Findings((Finding("query", sentence),))
    limits = Limits(bytes=settings.COORDUI_MAX_QUERY_BYTES)
    return read_search(
        draft.query,
        program=draft.program,
        database=facts,
        options=draft.options,
        limits=limits,
        asked=draft.database,
    )


def title_of(draft: Draft, search: Search) -> str:
    """What was typed, else the first query's name and how many more there are."""
    first, more = search.queries[0], len(search.queries) - 1
    name = first.name or "query"
    return draft.title or plain(f"{name} and {more:,} more" if more else f"{name} {first.title}".strip())[:200]
