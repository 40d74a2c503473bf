"""The settings in force against `gates.invariants`: shown as system checks, and raised by every process at start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from submits import elastic
from submits.blast.facts import is_stored
from submits.engine.stored import Bucket
from submits.gates import invariants
from submits.gates.backends import Backend, UnknownBackend
from submits.gates.invariants import Broken
from submits.scopes import backend, database_place, rules
from submits.work import WorkError, WorkStore, unshared


def broken_rules() -> list[Broken]:
    in_force = rules()
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    in_cluster = settings.BLAST_COORD_BACKEND == Backend.K8S  # a gate in the store has no reservations
    return [
        *invariants.hold_fits(in_force),
        *(invariants.place_lasts(in_force) if in_cluster else []),
        *invariants.limits_grow(
            in_force.knobs.exec_timeout,
            settings.CELERY_TASK_SOFT_TIME_LIMIT,
            settings.CELERY_TASK_TIME_LIMIT,
            options["visibility_timeout"],
        ),
        *backend_is_known(),
        *invariants.layers_cross(str(layer["BACKEND"]) for layer in settings.CHANNEL_LAYERS.values()),
        *invariants.yield_is_patient(in_force),
        *elastic.broken_settings(),
        *work_is_shared(),
        *databases_are_named(),
    ]


def backend_is_known() -> list[Broken]:
    try:
        backend()
    except UnknownBackend as error:
        return [Broken("E003", str(error), "Give k8s or redis, or leave it unset.")]
    return []


def work_is_shared() -> list[Broken]:
    """A cluster that is not this machine sees no directory of it by itself. Asks no store."""
    url, claim, shared = settings.COORDUI_WORK_URL, settings.COORDUI_WORK_CLAIM, settings.COORDUI_WORK_SHARED
    try:
        WorkStore(url)
    except WorkError as error:
        return [Broken("E010", str(error), "Correct it, or leave it unset.")]
    sentence = unshared(url, settings.COORDUI_CLUSTER, claim=claim, shared=shared)
    hint = (
        "Give COORDUI_WORK_URL an object store (s3://, az://, gs://BUCKET/PREFIX), or name the volume claim that holds "
        "the directory as COORDUI_WORK_CLAIM, or set COORDUI_WORK_SHARED=true if every node has it at the same path."
    )
    return [Broken("E010", sentence, hint)] if sentence else []


def databases_are_named() -> list[Broken]:
    """An address of databases is one of a prefix in an object store whose client is installed. Asks no store."""
    place = database_place()
    if not is_stored(place):
        return []
    try:
        Bucket(place)
    except WorkError as error:
        words = str(error).removeprefix("COORDUI_WORK_URL: ")
        return [Broken("E011", f"COORDUI_BLASTDB: {words}", "Give s3://, az:// or gs://BUCKET/PREFIX, or a directory.")]
    if elastic.is_chosen():
        sentence = "COORDUI_BLASTDB is in an object store, which COORDUI_ENGINE=elastic-blast cannot read results with"
        return [Broken("E011", sentence, "Give a directory of the same databases.")]
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
