from __future__ import annotations

from django.apps import AppConfig


class SubmitsConfig(AppConfig):
    name = "submits"
    verbose_name = "Searches"

    def ready(self) -> None:
        from submits import (
            checks,  # noqa: F401  # registers the system checks
            logline,
        )
        from submits.models import recorded

        recorded.connect(logline.tell)
