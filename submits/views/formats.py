"""The other formats of a search's results: asked for on a page of their own, made in the cluster, then downloaded."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from submits import tasks
from submits.blast import formats as known_formats
from submits.blast import known
from submits.blast.findings import Finding
from submits.blast.formats import Chosen
from submits.engine import requested
from submits.engine.requested import Standing
from submits.models import Submission
from submits.scopes import store
from submits.shown import pages, receipt, results
from submits.states import Status
from submits.views.access import SignedInRequest, find, signed_in, viewer
from submits.views.search import file_name, lines, stream

AGAIN = 2.0  # seconds after which a format that is being made is looked at again
USUAL = ("qaccver", "saccver", "pident", "length", "evalue", "bitscore")


@dataclass(frozen=True)
class Shown:
    """One format, and where it stands. `waited` in seconds."""

    chosen: Chosen
    standing: Standing
    waited: int

    @property
    def about(self) -> str:
        columns = f": {', '.join(self.chosen.columns)}" if self.chosen.columns else ""
        return self.chosen.format.about + columns


def finished(request: SignedInRequest, key: str) -> Submission:
    row = find(request, key)
    if row.status != Status.COMPLETED or results.summary(row) is None:
        raise Http404
    if (handed := receipt.handed(row)) and handed.form == "table":
        raise Http404  # they are made of BLAST's archive, and there is none
    return row


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def formats(request: SignedInRequest, key: str) -> HttpResponse:
    """The page; or only its list, for a page that waits. Asking for one brings the page again."""
    row = finished(request, key)
    wrong: list[Finding] = []
    if request.method == "POST":
        found = known_formats.choose(row.program, request.POST.get("name", ""), request.POST.getlist("columns"))
        if not isinstance(found, Finding):
            requested.ask(store(), row.run_id, found)
            look_at(row, [found])
            return redirect("formats", row.key)
        wrong = [found]
    shown = listed(row)
    look_at(row, [each.chosen for each in shown])
    context = {
        "submission": row,
        "shown": shown,
        "making": any(each.standing.state == "asked" for each in shown),
        "differs": known_formats.differs(row.program),
    }
    if request.htmx:
        return render(request, "_formats.html", context)
    context |= {
        **pages.frame(pages.subject("word", viewer(request))),
        "wrong": wrong,
        "tables": [each for each in known_formats.offered(row.program) if each.chosen],
        "columns": [(name, name in USUAL) for name in known.columns()],
    }
    return render(request, "formats.html", context, status=422 if wrong else 200)


def listed(row: Submission) -> list[Shown]:
    """Every format there is, then the tables whose columns somebody chose."""
    there = [Chosen(each.name) for each in known_formats.offered(row.program)]
    own = [each for each in requested.every(store(), row.run_id) if each.columns]
    shown, files = [], requested.there(store(), row.run_id)
    for chosen in [*there, *own]:
        standing = requested.standing(store(), row.run_id, chosen, files)
        shown.append(Shown(chosen, standing, max(0, int(time.time() - standing.asked_at))))
    return shown


def look_at(row: Submission, wanted: list[Chosen]) -> None:
    """A hint to a worker for each that is being made and was not looked at just now. Its Job is made by the first."""
    files = requested.there(store(), row.run_id)
    for chosen in wanted:
        standing = requested.standing(store(), row.run_id, chosen, files)
        if standing.state == "asked" and time.time() - standing.seen_at >= AGAIN:
            tasks.send(tasks.look_at_format, row.pk, chosen.key)


@require_safe
@signed_in
def download(request: SignedInRequest, key: str, name: str) -> HttpResponseBase:
    row = finished(request, key)
    chosen = next((each.chosen for each in listed(row) if each.chosen.key == name), None)
    if chosen is None or requested.standing(store(), row.run_id, chosen).state != "made":
        raise Http404
    made = lines(requested.key(row.run_id, chosen.file))
    response = stream(request, made, chosen.format.content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(row, f"hits.{chosen.format.ending}")}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
