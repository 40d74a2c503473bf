"""`/readyz`: whether a search that came now would get through, dependency by dependency. Open like `/healthz`."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from submits import readiness


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200, or 503 when one of them is not ok. No secret is in it; the words are those of whoever does not answer."""
    found, backend = readiness.look()
    ready = all(one.ok for one in found.values())
    checks = {name: {"ok": one.ok, "why": one.why} for name, one in found.items()}
    return JsonResponse({"ready": ready, "backend": backend, "checks": checks}, status=200 if ready else 503)
