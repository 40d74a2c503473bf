from __future__ import annotations

from django.apps import AppConfig


class CoorduiConfig(AppConfig):
    name = "coordui"

    def ready(self) -> None:
        # Tasks bind to the application that exists when they are first used.
        from coordui import celery  # noqa: F401
