"""What one can do with a search: cancel it, or make it again."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from submits import cancel
from submits.blast.encoding import size
from submits.forms import Draft
from submits.shown import pages
from submits.shown.words import plain
from submits.states import Status
from submits.views import new
from submits.views.access import SignedInRequest, find, signed_in, viewer


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def cancel_search(request: SignedInRequest, key: str) -> HttpResponse:
    """Asked once more on a page of its own; whoever cancels another's search says why. Twice is as good as once."""
    row = find(request, key)
    others = row.owner_id != request.user.pk
    why = " ".join(plain(request.POST.get("why", "")).split())
    sent = request.method == "POST"
    if sent and (why or not others):
        if not cancel.ask(row.key, request.user.get_username(), why if others else ""):
            messages.info(request, "It had ended before it could be cancelled.")
        return redirect("search", row.key)
    if row.ended or row.status == Status.CANCELLING:
        return redirect("search", row.key)
    frame = pages.frame(pages.subject("word", viewer(request)))
    context = {**frame, "submission": row, "others": others, "wrong": sent}
    return render(request, "cancel.html", context, status=422 if sent else 200)


@require_POST
@signed_in
def again(request: SignedInRequest, key: str) -> HttpResponse:
    """The same search once more, as one's own. What would not be accepted today comes back as a form to be mended."""
    earlier = find(request, key)
    query = new.query_of(request, earlier)
    draft = replace(Draft.again(earlier, query), key=plain(request.POST.get("form_key", ""))[:32])
    return new.receive(request, draft.sourced(query) if size(query) else draft)
