from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from submits.shown import pages
from submits.states import REASONS, Kind
from submits.views.access import SignedInRequest, signed_in, viewer


@require_safe
@signed_in
def board(request: SignedInRequest) -> HttpResponse:
    asked = pages.subject("gate", viewer(request))
    return render(request, "gate.html", pages.frame(asked))


@require_safe
@signed_in
def help_page(request: SignedInRequest) -> HttpResponse:
    kinds = [
        ("Waits", "Calm: its turn comes, and there is nothing to do.", Kind.WAIT),
        ("Tried again", "Something went wrong and is tried again by itself.", Kind.RETRY),
        ("Ends", "It has ended, and says what can be done.", Kind.FINAL),
    ]
    reasons = [
        (title, about, kind.value, [(reason.value, told) for reason, told in REASONS.items() if told.kind == kind])
        for title, about, kind in kinds
    ]
    frame = pages.frame(pages.subject("word", viewer(request)))
    return render(request, "help.html", {**frame, "reasons": reasons})
