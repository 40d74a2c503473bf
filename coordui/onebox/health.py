"""`/healthz`: is all of it up? `/healthz/web`: is this process, with its database?"""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return bool(cursor.fetchone())
    except DatabaseError:
        return False


def _answer(problem: str) -> HttpResponse:
    return HttpResponse(f"{problem or 'ok'}\n", status=503 if problem else 200, content_type="text/plain")


@require_safe
@never_cache
def healthz_web(request: HttpRequest) -> HttpResponse:
    return _answer("" if _database_answers() else "the database does not answer")


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 once everything `up` started is ready. Without `up` this process can only speak for itself."""
    if settings.COORDUI_SUPERVISOR and not settings.LAYOUT.ready.exists():
        return _answer("not everything is ready yet; see `logs` in the state directory")
    return healthz_web(request)
