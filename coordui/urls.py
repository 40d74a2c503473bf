from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from coordui.onebox import health
from submits.urls import handler400, handler403, handler404, handler500  # noqa: F401  # Django reads them here alone

urlpatterns = [
    path("healthz", health.healthz),
    path("healthz/web", health.healthz_web),
    path("admin/", admin.site.urls),
    path("", include("submits.urls")),
]
