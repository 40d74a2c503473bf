"""Who may see a page. A stranger's search and one that does not exist answer alike, everywhere: 404."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, cast

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails

from submits.models import Submission
from submits.shown import pages
from submits.shown.look import Viewer
from submits.shown.pages import NotYours
from submits.work import Unstored, brisk

log = logging.getLogger(__name__)
AWAY, LATER = "The work store does not answer", "Nothing is lost. Load this again in a moment."


class SignedInRequest(HttpRequest):
    user: User
    htmx: HtmxDetails


View = Callable[..., HttpResponseBase]


def wants_json(request: HttpRequest) -> bool:
    """By its address, or because it asks for nothing but JSON."""
    named = request.path.endswith(".json") or request.path.startswith("/v1/")
    return named or request.headers.get("Accept", "") == "application/json"


def problem(status: int, code: str, message: str) -> JsonResponse:
    """The one shape of an error in JSON."""
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)


def signed_in(view: View) -> View:
    """Pages lead to the sign-in and back; JSON answers 401; an open page that polls is told to load itself again."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            response = answer(cast(SignedInRequest, request), view, *args, **kwargs)
            response.headers.setdefault("Cache-Control", "no-store, private")
            return response
        if wants_json(request):
            return problem(401, "sign_in_required", "Sign in first.")
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(status=401, headers={"HX-Refresh": "true"})
        return redirect_to_login(request.get_full_path())

    return guarded


def answer(request: SignedInRequest, view: View, *args: Any, **kwargs: Any) -> HttpResponseBase:
    """What is only read waits for the work store once and briefly; 503 where nothing can be shown without it."""
    try:
        with brisk() if request.method in ("GET", "HEAD") else nullcontext():
            return view(request, *args, **kwargs)
    except Unstored as error:
        log.warning("%s: %s", request.path, error)
        if wants_json(request):
            return problem(503, "work_store_unavailable", f"{AWAY}. {LATER}")
        return render(request, "error.html", {"status": 503, "title": AWAY, "advice": LATER}, status=503)


def viewer(request: SignedInRequest) -> Viewer:
    return pages.viewer_of(request.user)


def find(request: SignedInRequest, key: str) -> Submission:
    try:
        return pages.find(viewer(request), key)
    except NotYours:
        raise Http404 from None
