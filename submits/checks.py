"""Settings that contradict each other: pure functions, shown as system checks and raised by every process at start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

# What an admission does under the gate beside the submit, in seconds: announcing, counting, fencing, verifying.
BESIDE_THE_SUBMIT = 30 + 10 + 60 + 60
SKIPPED_AFTER = 10  # seconds: `gates.ports.Times.skip_after`


def limits(exec_timeout: int, lease_ttl: int, soft: int, hard: int, visibility: int) -> list[tuple[str, str]]:
    """(id, sentence) of each rule broken. All in seconds."""
    broken = []
    if exec_timeout + BESIDE_THE_SUBMIT >= lease_ttl:
        broken.append(
            (
                "submits.E001",
                f"BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS={exec_timeout} and the {BESIDE_THE_SUBMIT} s around a submit do "
                f"not fit into BLAST_SUBMIT_LEASE_TTL_SECONDS={lease_ttl}: an older door could take the gate meanwhile",
            )
        )
    if not exec_timeout < soft < hard < visibility:
        broken.append(
            (
                "submits.E002",
                f"BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS={exec_timeout} < CELERY_TASK_SOFT_TIME_LIMIT={soft} < "
                f"CELERY_TASK_TIME_LIMIT={hard} < visibility timeout={visibility} does not hold",
            )
        )
    return broken


def backend(name: str) -> list[tuple[str, str]]:
    if name == "k8s":
        return []
    return [("submits.E003", f"BLAST_COORD_BACKEND={name}: this version has the k8s backend only")]


def patience(v1_yield: int) -> list[tuple[str, str]]:
    if v1_yield < SKIPPED_AFTER:
        return []
    sentence = f"BLAST_V1_YIELD_SECONDS={v1_yield} is not below {SKIPPED_AFTER}: who gives way would be skipped as dead"
    return [("submits.E005", sentence)]


def layers(backends: Sequence[str]) -> list[tuple[str, str]]:
    if not any("InMemory" in backend for backend in backends):
        return []
    return [("submits.E004", "the in-memory channel layer crosses no process: pages would never hear of anything")]


def broken_rules() -> list[tuple[str, str]]:
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    backends: list[str] = [str(layer["BACKEND"]) for layer in settings.CHANNEL_LAYERS.values()]
    return [
        *limits(
            settings.BLAST_SUBMIT_EXEC_TIMEOUT_SECONDS,
            settings.BLAST_SUBMIT_LEASE_TTL_SECONDS,
            settings.CELERY_TASK_SOFT_TIME_LIMIT,
            settings.CELERY_TASK_TIME_LIMIT,
            options["visibility_timeout"],
        ),
        *backend(settings.BLAST_COORD_BACKEND),
        *patience(settings.BLAST_V1_YIELD_SECONDS),
        *layers(backends),
    ]


@register()
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    return [Error(sentence, hint="docs/configuration.md", id=key) for key, sentence in broken_rules()]


def refuse_to_start() -> None:
    """Raise ImproperlyConfigured. Called by every process: neither uvicorn nor Celery stops on a failed check."""
    broken = broken_rules()
    if broken:
        raise ImproperlyConfigured("; ".join(sentence for _, sentence in broken))
