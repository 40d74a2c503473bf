"""My searches, and one search: its page, its hits, its alignments, its picture and its downloads."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from submits.blast import downloads, drawing
from submits.blast.plan import Plan
from submits.blast.summary import QuerySummary, Summary
from submits.engine.partial import done_batches, rows
from submits.models import Submission
from submits.scopes import store
from submits.shown import files, logs, mine, one, pages, results
from submits.shown.results import Selection
from submits.states import Status
from submits.views.access import SignedInRequest, find, signed_in, viewer
from submits.work import Missing, run_key

CHUNK = 64 * 1024
LOG_SENT = 1_000_000  # bytes, the latest ones


@require_safe
@signed_in
def searches(request: SignedInRequest) -> HttpResponse:
    asked = pages.subject("searches", viewer(request), query=request.GET.urlencode())
    filters = mine.Filters.of(request.GET)
    choices = [("", "all"), *mine.SHOWN.items()]
    return render(request, "searches.html", {**pages.frame(asked), "filters": filters, "choices": choices})


@require_safe
@signed_in
def search(request: SignedInRequest, key: str) -> HttpResponse:
    row = find(request, key)
    asked = pages.subject("search", viewer(request), key, request.GET.urlencode())
    frame = pages.frame(asked)
    # Once a page: pressed twice it is one new search, pressed on a page that was loaded anew it is another.
    return render(request, "search.html", {**frame, "submission": row, "again_key": uuid4().hex})


def summary_of(row: Submission) -> Summary:
    found = results.summary(row)
    if found is None:
        raise Http404
    return found


@require_safe
@signed_in
def hits(request: SignedInRequest, key: str) -> HttpResponse:
    row = find(request, key)
    summary = summary_of(row)
    shown = results.show(row, summary, Selection.of(request.GET))
    response = render(request, "_chosen.html", {"submission": row, "shown": shown, "summary": summary})
    # The address that the page itself would have, so that a reload and a bookmark show the same.
    response.headers["HX-Replace-Url"] = reverse("search", args=[key]) + shown.selection.address()
    return response


@require_safe
@signed_in
def alignments(request: SignedInRequest, key: str, query: int, hit: int) -> HttpResponse:
    """One hit's alignments: a piece of the page, or a page of its own without JavaScript."""
    row = find(request, key)
    summary = summary_of(row)
    asked = summary.query(query)
    try:
        found = next((h for h in results.hits(row, summary, asked) if h.number == hit), None) if asked else None
    except (Missing, ValueError):
        raise Http404 from None
    if asked is None or found is None:
        raise Http404
    context: dict[str, Any] = {"submission": row, "query": asked, "hit": found, "aligned": results.aligned(row, found)}
    context["left_out"] = len(found.hsps) - len(context["aligned"])
    if request.htmx:
        return render(request, "_alignments.html", context)
    frame = pages.frame(pages.subject("word", viewer(request)))
    return render(request, "alignments.html", {**frame, **context})


@require_safe
@signed_in
def picture(request: SignedInRequest, key: str, query: int) -> HttpResponse:
    """The coverage picture as a file of its own, with its colours in it."""
    row = find(request, key)
    summary = summary_of(row)
    asked = summary.query(query)
    if asked is None:
        raise Http404
    try:
        drawn = drawing.coverage(results.hits(row, summary, asked), asked.length)
    except (Missing, ValueError):
        raise Http404 from None
    response = render(request, "coverage.svg", {"picture": drawn, "query": asked}, content_type="image/svg+xml")
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(row, f"query-{query}.svg")}"'
    # Opened by itself it styles itself; nothing in it can run.
    response.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    return response


@require_safe
@signed_in
def download(request: SignedInRequest, key: str, kind: str) -> HttpResponseBase:
    row = find(request, key)
    found = summary_of(row)
    if row.status != Status.COMPLETED:
        raise Http404
    make: Callable[[Iterable[bytes], Summary], Iterator[bytes]] = getattr(downloads, kind)
    key = run_key(row.run_id, "hits.tsv")
    if not store().exists(key):
        raise Http404
    types = {"tsv": "text/tab-separated-values; charset=utf-8", "fasta": "text/x-fasta; charset=utf-8"}
    response = stream(request, make(lines(key), found), types[kind])
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(row, f"hits.{kind}")}"'
    return response


@require_safe
@signed_in
def partial(request: SignedInRequest, key: str) -> HttpResponseBase:
    """The rows of the batches that are done, of a search that runs or did not come to its end, as a table."""
    row = find(request, key)
    plan = files.read(row, "plan.json", Plan.from_json)
    if plan is None or not one.partial(row):
        raise Http404
    named = Summary(tuple(QuerySummary(q.id, q.name, q.title, q.length) for q in plan.queries), 0, 0)
    done = done_batches(store(), row.run_id)
    types = "text/tab-separated-values; charset=utf-8"
    response = stream(request, downloads.tsv(rows(store(), row.run_id, done), named), types)
    end = f"{len(done)}-of-{plan.batches}-batches.tsv"
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(row, end)}"'
    return response


@require_safe
@signed_in
def log(request: SignedInRequest, key: str) -> HttpResponse:
    row = find(request, key)
    query = request.GET.urlencode()
    frame = pages.frame(pages.subject("log", viewer(request), key, query))
    return render(request, "log.html", {**frame, "submission": row})


@require_safe
@signed_in
def log_text(request: SignedInRequest, key: str) -> HttpResponse:
    """One log, the submit's if no other is asked for, as plain text: at most its last megabyte."""
    shown = logs.part(logs.parts(find(request, key)), request.GET.get("part", ""))
    text = logs.tail(shown, LOG_SENT) if shown else b"Nothing has been written yet.\n"
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers={"X-Content-Type-Options": "nosniff"})


def file_name(row: Submission, end: str) -> str:
    """`haemoglobin_globins_20260101_hits.tsv`: says what it is when it lies among others."""
    parts = (slugify(row.title)[:40] or row.key, slugify(row.database.title)[:30], f"{row.created_at:%Y%m%d}", end)
    return shlex.quote("_".join(filter(None, parts)))


def stream(request: HttpRequest, parts: Iterator[bytes], content_type: str) -> StreamingHttpResponse:
    """Sent as it is made, in pieces of 64 kB, without holding the server's loop or the whole in memory."""
    chunks = in_chunks(parts)
    if isinstance(request, ASGIRequest):
        return StreamingHttpResponse(step_by_step(chunks), content_type=content_type)
    return StreamingHttpResponse(chunks, content_type=content_type)


def lines(key: str) -> Iterator[bytes]:
    """Opened with the first line: a download that nobody begins leaves nothing open."""
    with store().open(key) as table:
        yield from table


def in_chunks(parts: Iterator[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for part in parts:
        held += part
        if len(held) >= CHUNK:
            yield bytes(held)
            held.clear()
    yield bytes(held)


async def step_by_step(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(chunks, None), thread_sensitive=False)
    while (chunk := await following()) is not None:
        yield chunk
