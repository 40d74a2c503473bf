"""Signing in by the address that the start of everything prints.

It is made with a key that is fresh at each start, and is good until the next one, from this machine alone.
"""

from __future__ import annotations

import logging
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

log = logging.getLogger(__name__)
BACKEND = "django.contrib.auth.backends.ModelBackend"
SALT = "coordui.signin"
PASSED_ON = ("X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "Forwarded", "Via")  # even when they are empty


def signin_key() -> str | None:
    """None while nothing has been started on this state directory."""
    try:
        found: str = settings.LAYOUT.signin_key.read_text().strip()
    except FileNotFoundError:
        return None
    return found if len(found) >= 32 else None


def token_for(user: User) -> str | None:
    secret = signin_key()
    return signing.Signer(key=secret, salt=SALT).sign(str(user.pk)) if secret else None


def user_of(token: str) -> User | None:
    """None for a token that is not ours or of an earlier start; compared in constant time."""
    secret = signin_key()
    if not secret:
        return None
    try:
        pk = signing.Signer(key=secret, salt=SALT).unsign(token)
    except signing.BadSignature:
        return None
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    return user if isinstance(user, User) else None


def from_here(request: HttpRequest) -> bool:
    """Whether the browser runs on this machine. What a proxy passes on comes from somewhere else."""
    if any(name in request.headers for name in PASSED_ON):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


@require_safe
@never_cache
def by_address(request: HttpRequest, token: str) -> HttpResponse:
    user = user_of(token) if from_here(request) else None
    if user is None:
        log.warning("a sign-in address was refused")
        sentence = "This address does not sign in any more, or not from here. `manage.py signin` prints a new one."
        context = {"status": 403, "title": "Not signed in", "advice": sentence}
        response = render(request, "error.html", context, status=403)
        # Django would log the path, and the path is the secret: a token refused from elsewhere is good from here.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response
    login(request, user, BACKEND)
    return redirect("new")
