"""Commands that need what a start makes say so in a sentence when there has been none."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from submits.models import Submission


def needs_a_start() -> None:
    """Raises CommandError when nothing was ever started on this state directory. Makes no file there."""
    # Asking SQLite for its tables would make an empty file where there is none.
    missing = connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists()
    if missing or Submission._meta.db_table not in connection.introspection.table_names():
        raise CommandError(f"Nothing has been started on {settings.COORDUI_STATE} yet: start once with `make up`.")
