"""What an open page asks every few seconds when it has no socket: the pieces it does not have yet."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from submits.shown import pages, pieces
from submits.shown.pages import NotYours
from submits.views.access import SignedInRequest, signed_in, viewer


@require_safe
@signed_in
def look(request: SignedInRequest, kind: str, key: str = "") -> HttpResponse:
    """204 when there is nothing new. Every piece names the element it replaces."""
    query = request.GET.copy()
    seen = pieces.parse_seen(query.pop("seen", [""])[-1])
    try:
        asked = pages.subject(kind, viewer(request), key, query.urlencode())
        fresh = pieces.unseen(pages.pieces(asked), seen)
    except NotYours:
        raise Http404 from None
    if not fresh:
        return HttpResponse(status=204)
    return HttpResponse("".join(html for _, html in fresh.values()))
