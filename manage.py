#!/usr/bin/env python3
"""Commands. `up` and `cluster` are run without loading Django, so that they stay small and start at once."""

from __future__ import annotations

import os
import sys


def adopt_state(arguments: list[str]) -> None:
    """`--state DIR` of any command counts before the settings are read, which are found there."""
    for index, word in enumerate(arguments):
        if word == "--state" and index + 1 < len(arguments):
            os.environ["COORDUI_STATE"] = arguments[index + 1]
        elif word.startswith("--state="):
            os.environ["COORDUI_STATE"] = word.removeprefix("--state=")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coordui.settings")
    from django.core.exceptions import ImproperlyConfigured

    adopt_state(sys.argv[2:])
    try:
        if sys.argv[1:2] == ["up"]:
            from coordui.onebox.supervisor.cli import main as up

            sys.exit(up(sys.argv[2:]))
        if sys.argv[1:2] == ["cluster"]:
            from coordui import settings
            from coordui.onebox.cluster.program import main as cluster

            sys.exit(cluster(sys.argv[2:], name="manage.py cluster", state=settings.COORDUI_STATE))
        from django.core.management import execute_from_command_line

        import coordui.settings  # noqa: F401  (a wrong variable is told in one sentence, without a traceback)

        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"coordui: {error}")


if __name__ == "__main__":
    main()
