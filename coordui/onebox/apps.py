from __future__ import annotations

from django.apps import AppConfig


class OneboxConfig(AppConfig):
    name = "coordui.onebox"
    verbose_name = "One machine"
