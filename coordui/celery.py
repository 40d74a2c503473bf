"""The Celery application. Its workers refuse settings that contradict each other, and say when they are ready."""

from __future__ import annotations

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import worker_init, worker_ready
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "coordui.settings")
app = Celery("coordui")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
def refuse(sender: Any, **_: object) -> None:
    from submits.checks import refuse_to_start
    from submits.gates.ports import ClusterError
    from submits.starting import refuse_to_admit

    try:
        if "submit" in sender.app.amqp.queues.consume_from:
            refuse_to_admit()
        else:
            refuse_to_start()
    except (ImproperlyConfigured, ClusterError) as error:
        # Celery logs what a signal handler raises and goes on; only this ends the worker.
        sys.exit(f"coordui: {error}")


@worker_ready.connect
def say_ready(**_: object) -> None:
    from django.conf import settings

    if settings.COORDUI_READY_FILE:
        settings.COORDUI_READY_FILE.touch()
