"""The settings in force against `gates.invariants`: shown as system checks, and raised by every process at start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from submits.gates import invariants
from submits.gates.backends import UnknownBackend
from submits.gates.invariants import Broken
from submits.scopes import backend, rules


def broken_rules() -> list[Broken]:
    in_force = rules()
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    return [
        *invariants.hold_fits(in_force),
        *invariants.limits_grow(
            in_force.knobs.exec_timeout,
            settings.CELERY_TASK_SOFT_TIME_LIMIT,
            settings.CELERY_TASK_TIME_LIMIT,
            options["visibility_timeout"],
        ),
        *backend_is_known(),
        *invariants.layers_cross(str(layer["BACKEND"]) for layer in settings.CHANNEL_LAYERS.values()),
        *invariants.yield_is_patient(in_force),
    ]


def backend_is_known() -> list[Broken]:
    try:
        backend()
    except UnknownBackend as error:
        return [Broken("E003", str(error), "Give k8s or redis, or leave it unset.")]
    return []


@register()
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Asks neither cluster nor store: every `manage.py` command runs it."""
    return [Error(rule.sentence, hint=rule.hint, id=f"submits.{rule.key}") for rule in broken_rules()]


def refuse(broken: list[Broken]) -> None:
    """Raises ImproperlyConfigured if a rule is broken."""
    if broken:
        raise ImproperlyConfigured(". ".join(f"{rule.sentence} (submits.{rule.key}). {rule.hint}" for rule in broken))


def refuse_to_start() -> None:
    """Raises ImproperlyConfigured. Called by every process: neither uvicorn nor Celery stops on a failed check."""
    refuse([*broken_rules(), *secret_is_shared()])


def secret_is_shared() -> list[Broken]:
    """No check of every command: those that need no start are to work before there was one."""
    if settings.SECRET_IS_SHARED:
        return []
    sentence = f"SECRET_KEY is not set and there is no {settings.COORDUI_STATE} to keep one in: each process would sign"
    return [Broken("E008", f"{sentence} with a key of its own", "Start once with `make up`, or give SECRET_KEY.")]
