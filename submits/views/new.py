"""New search: the form, the line beside it that says what would be run, and the press of the button."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, BinaryIO
from uuid import uuid4

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from submits import forms, receiving, tasks
from submits.blast import intake, options, plan, programs
from submits.blast.encoding import beginning, size
from submits.blast.findings import Finding, Findings
from submits.blast.intake import Search
from submits.blast.molecule import WORDS
from submits.forms import Draft
from submits.models import Cluster, Database, Submission
from submits.receiving import AlreadySent
from submits.scopes import store
from submits.shown import pages, receipt, waits
from submits.shown.look import Look, home
from submits.shown.words import plain
from submits.views import examples
from submits.views.access import SignedInRequest, find, problem, signed_in, viewer, wants_json
from submits.views.data import told
from submits.work import Missing, run_key

Fields = Mapping[str, list[Finding]]


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new(request: SignedInRequest) -> HttpResponse:
    if request.method == "POST":
        return receive(request)
    draft = start(request)
    return page(request, draft, {}, settled(draft))


def receive(request: SignedInRequest, draft: Draft | None = None) -> HttpResponse:
    """Starts nothing unless everything is right, or when only the command is to be shown; what was typed stays."""
    draft, scope = draft or drafted(request), home()
    database = forms.database_of(scope, draft.database)
    search = forms.read(draft, database)
    if isinstance(search, Findings) or database is None:
        findings = search.by_field() if isinstance(search, Findings) else {}
        if wants_json(request):
            sentences = [str(finding) for found in findings.values() for finding in found]
            return problem(422, "not_a_search", " ".join(sentences) or "There is no such database.")
        return page(request, draft.kept(), findings, None, status=422)
    if "show" in request.POST:
        return page(request, draft.kept(), {}, search)
    try:
        submission = receiving.receive(
            owner=request.user,
            scope=scope,
            search=search,
            text=draft.opened(),
            database=database,
            title=forms.title_of(draft, search),
            form_key=draft.key,
            digest=draft.digest,
        )
    except AlreadySent as error:
        return sent_before(request, draft, search, error.earlier)
    tasks.send(tasks.prepare, submission.pk)  # a hint: without it the gatekeeper finds the row within two seconds
    if wants_json(request):
        return JsonResponse(told(submission, Look.at(scope), viewer(request)), status=201)
    return redirect("search", submission.key)


def sent_before(request: SignedInRequest, draft: Draft, search: Search, earlier: Submission) -> HttpResponse:
    """The same form with something else in it: most often one that somebody went back to and changed.

    Nothing is started. The form that comes back has a key of its own, so that pressing once more makes a search of it.
    """
    if wants_json(request):
        sentence = f"This form_key has made the search {earlier.key}, with something else in it; nothing was started."
        return problem(409, "form_already_sent", sentence)
    return page(request, replace(draft.kept(), key=uuid4().hex), {}, search, status=409, earlier=earlier)


def again(request: SignedInRequest) -> HttpResponse:
    """A form sent with an old token, most often because somebody signed in again in another tab: nothing is lost."""
    draft = Draft.of(request.POST, request.FILES.get("file")).kept()
    return page(request, draft, {}, settled(draft), status=403)


def drafted(request: SignedInRequest) -> Draft:
    """What was sent. Where it names an earlier search and brings no sequences of its own, it has that one's."""
    draft = Draft.of(request.POST, request.FILES.get("file"))
    return draft.sourced(query_of(request, find(request, draft.source))) if draft.source and draft.empty else draft


def query_of(request: SignedInRequest, earlier: Submission) -> BinaryIO:
    """What an earlier search was given, open until the request is answered; empty when it is not there any more."""
    try:
        file = store().open(run_key(earlier.run_id, "query.fa"))
    except Missing:
        return io.BytesIO()
    request.FILES.appendlist("earlier", UploadedFile(file))
    return file


def start(request: SignedInRequest) -> Draft:
    """An empty form, an earlier search to change, or the example; the database is the one used last."""
    if key := plain(request.GET.get("from", "")):
        earlier = find(request, key)
        return Draft.again(earlier, query_of(request, earlier))
    if "example" in request.GET and (example := examples.first(home())):
        return Draft(text=example.text, title=example.title, database=example.database)
    last = Submission.objects.filter(owner=request.user).values_list("database__key", flat=True).first()
    return Draft(database=last or "")


def settled(draft: Draft) -> Search | Findings | None:
    return forms.read(draft, forms.database_of(home(), draft.database)) if draft.text else None


def page(
    request: SignedInRequest,
    draft: Draft,
    fields: Fields,
    found: Search | Findings | None,
    status: int = 200,
    earlier: Submission | None = None,
) -> HttpResponse:
    """The form with what was typed; 403 says that it was sent with a token that is too old, 409 that it was sent
    before with something else in it and made the search `earlier`."""
    scope = home()
    databases, largest = list(Database.objects.filter(scope=scope, ready=True)), forms.largest_node(scope)
    known = {"query", "title", "database", "program", *options.KEYS}
    context = {
        **pages.frame(pages.subject("word", viewer(request))),
        "draft": draft,
        "databases": databases,
        "too_large": {database.key for database in databases if forms.never_fits(database, largest)},
        "programs": list(programs.PROGRAMS.values()),
        "tasks": [(name, programs.TASKS.get(name, ""), p) for p in programs.PROGRAMS.values() for name in p.tasks],
        "fields": fields,
        "too_old": status == 403,
        "earlier": earlier,
        "stray": [finding for name, list_ in fields.items() if name not in known for finding in list_],
        "example": examples.first(scope),
        "limit": settings.COORDUI_MAX_QUERY_BYTES,
        "looked_at": forms.LOOKED_AT,
        "yes_no": (("", "As the program does it"), ("yes", "On"), ("no", "Off")),
        **preview(scope, draft, found),
    }
    return render(request, "new.html", context, status=status)


@require_POST
@signed_in
def look(request: SignedInRequest) -> HttpResponse:
    """The column beside the form, while it is being filled in. Finds fault as the button would, and starts nothing.

    Of a long query it reads the beginning alone: this is asked at every change, and the button reads it all.
    """
    draft, scope = drafted(request), home()
    database = forms.database_of(scope, draft.database)
    found = None if draft.empty else forms.read(draft, database, forms.LOOKED_AT)
    return render(request, "_plan.html", {"oob": False, **preview(scope, draft, found, forms.LOOKED_AT)})


def preview(scope: Cluster, draft: Draft, found: Search | Findings | None, most: int | None = None) -> dict[str, Any]:
    """What would be run, what stands in its way, and where it would stand; with `most`, as the query's beginning has
    it."""
    database = forms.database_of(scope, draft.database)
    context: dict[str, Any] = {"database": database, "findings": found if isinstance(found, Findings) else ()}
    if isinstance(found, Search) and database is not None:
        program = programs.PROGRAMS[found.program]
        made = plan.make(found, receiving.facts_of(database), "")
        context |= {
            "search": found,
            "kind": WORDS[found.molecule],
            "command": receipt.command_of(made),
            "chips": chips(found.options.changed(program)),
            "proposed": not draft.program,
            "batches": made.batches,
        }
    elif not draft.empty and size(draft.query) <= settings.COORDUI_MAX_QUERY_BYTES:
        text = draft.query if most is None else beginning(draft.query, most)
        guessed = intake.guess(text, receiving.facts_of(database) if database else None)
        context["guess"] = None if isinstance(guessed, Findings) else guessed
    context["part"] = most is not None and not draft.empty and size(draft.query) > most
    look = Look.at(scope)
    waits_then = bool(look.view["line"]) or look.gate in ("A_busy", "B_full")
    known = look.gate != "unknown" and not look.view["drained"]
    return {**context, "standing": standing(look), "usual": waits.usual(scope.pk) if waits_then and known else ""}


NAMES = {
    "task": "task",
    "evalue": "e-value",
    "max_target_seqs": "at most",
    "low_complexity": "low-complexity filter",
    "flags": "more options",
}


def chips(changed: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(name, NAMES.get(name, name), value) for name, value in changed.items()]


def standing(look: Look) -> str:
    """Where a search that came now would stand."""
    waiting = len(look.view["line"])
    if look.gate == "unknown":
        return "The gates are not seen at the moment; it would stand in line until they are."
    if look.view["drained"]:
        return "An operator has stopped new searches; it would stand in line until they resume."
    if look.gate == "open" and not waiting:
        return "Nobody waits: it goes straight in."
    before = "one search" if waiting == 1 else f"{waiting} searches"
    return f"{before.capitalize()} would be before it." if waiting else "It would be first in line."
