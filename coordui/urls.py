from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from coordui.onebox import health

urlpatterns = [
    path("healthz", health.healthz),
    path("healthz/web", health.healthz_web),
    path("admin/", admin.site.urls),
    path("", include("submits.urls")),
]
