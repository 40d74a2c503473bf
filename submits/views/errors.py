"""When something is not there, not allowed, or broken: a page for people, the one error shape for programs."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.defaults import server_error as plain

from submits.views import new
from submits.views.access import SignedInRequest, problem, wants_json

WORDS = {
    400: ("bad_request", "This request cannot be understood", "Go back, load the page again, and try once more."),
    403: ("forbidden", "This is not for you to see", "If it should be, ask an operator."),
    404: ("not_found", "There is nothing here", "It may have been removed, or it belongs to somebody else."),
    500: ("broken", "Something broke on our side", "It has been written down. Searches that run go on."),
}
STALE = (
    "stale_form",
    "This form was too old",
    "Nothing was done. Go back, load the page again, and send that.",
)
FOREIGN = ("foreign_form", "This form came from elsewhere", "Nothing was done. Use the form on these pages.")


def answer(
    request: HttpRequest, status: int, sentence: str = "", words: tuple[str, str, str] | None = None
) -> HttpResponse:
    code, title, advice = words or WORDS[status]
    if wants_json(request):
        return problem(status, code, sentence or f"{title}.")
    response = render(
        request, "error.html", {"status": status, "title": title, "advice": sentence or advice}, status=status
    )
    response.headers["Cache-Control"] = "no-store, private"  # the header names who is signed in
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        sentence = (
            f"What was typed is too long: the box takes {settings.COORDUI_MAX_TYPED_BYTES:,} bytes. Go back, where it "
            f"still is, save it as a file and choose that: a file may have {settings.COORDUI_MAX_QUERY_BYTES:,}."
        )
        return answer(request, 400, sentence)
    return answer(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, 404)


def broken(request: HttpRequest) -> HttpResponse:
    try:
        return answer(request, 500)
    except Exception:  # the page itself may be what is broken, or the database behind its header
        return plain(request)


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a valid token. The search form, open since before the last sign-in, comes back with its content.

    What another site sent is not shown again: its content is not the viewer's.
    """
    if reason.startswith(("Origin checking", "Referer checking")):
        return answer(request, 403, words=FOREIGN)
    if request.path == reverse("new"):
        if not request.user.is_authenticated:
            return redirect_to_login(reverse("new"))
        return new.again(cast(SignedInRequest, request))
    return answer(request, 403, words=STALE)
