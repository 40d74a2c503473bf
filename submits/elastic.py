"""`elastic-blast` as this installation drives it: what its submit is told, and why it cannot be used."""

from __future__ import annotations

import os
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings

from submits.engine.errors import EngineError
from submits.engine.external.capabilities import Capabilities, probe
from submits.engine.external.ini import read_given
from submits.engine.external.settings import External
from submits.engine.external.submit import SEEN
from submits.gates.backends import Backend
from submits.gates.invariants import Broken
from submits.gates.ports import Rules
from submits.work import Missing, WorkError, WorkStore

FOUND = "engine/found.txt"  # in the work store: why the program cannot be used, "" when it can, for `/readyz`
SCHEMES = ("https", "gs", "s3", "file")
UNASKED = "not known: no worker and no gatekeeper has looked at it yet"


def is_chosen() -> bool:
    return bool(settings.COORDUI_ENGINE == "elastic-blast")


def environment() -> dict[str, str]:
    """What the program may see of ours, by the variables that an administrator has named."""
    names = (*SEEN, *settings.COORDUI_ELASTIC_BLAST_PASS)
    return {name: os.environ[name] for name in names if name in os.environ}


@lru_cache(maxsize=4)
def capabilities(program: str, path: str) -> Capabilities:
    """Asked once a process. `path`: the PATH it is looked for on. Raises EngineError."""
    return probe(program, environment() | {"PATH": path})


def found() -> Capabilities:
    return capabilities(settings.COORDUI_ELASTIC_BLAST, os.environ.get("PATH", os.defpath))


def section(rules: Rules) -> str:
    """For the configuration of a submit. A program that cannot be asked is told as one that can do nothing: the submit
    then says what is wrong with it."""
    try:
        able = found()
    except EngineError:
        able = Capabilities("", frozenset())
    return External(
        program=settings.COORDUI_ELASTIC_BLAST,
        version=able.version,
        flags=" ".join(sorted(able.flags)),
        markers="ours" if settings.COORDUI_ELASTIC_BLAST_MARKERS == "ours" else "cli",
        config=str(settings.COORDUI_ELASTIC_BLAST_CONFIG or ""),
        results=settings.COORDUI_ELASTIC_BLAST_RESULTS,
        results_at=settings.COORDUI_ELASTIC_BLAST_RESULTS_AT,
        database=settings.COORDUI_ELASTIC_BLAST_DATABASE,
        pass_on=" ".join(settings.COORDUI_ELASTIC_BLAST_PASS),
        cut_off=round(rules.knobs.exec_timeout + rules.times.leash + rules.times.quiet_after_kill),
    ).section()


def broken_settings() -> list[Broken]:
    """What the settings alone tell; nothing when another engine is chosen."""
    if not is_chosen():
        return []
    wrong = []
    results, database = settings.COORDUI_ELASTIC_BLAST_RESULTS, settings.COORDUI_ELASTIC_BLAST_DATABASE
    if urlsplit(results).scheme not in SCHEMES or any(char.isspace() for char in results):
        hint = "Give the address of a folder of a bucket or container, as in gs://BUCKET/results."
        wrong.append(("COORDUI_ELASTIC_BLAST_RESULTS", f"{results!r} is no place for results", hint))
    try:
        WorkStore(settings.COORDUI_ELASTIC_BLAST_RESULTS_AT)
    except WorkError as error:
        hint = "Give the same folder as s3://, az://, gs:// or as a directory where it is mounted."
        words = str(error).removeprefix("COORDUI_WORK_URL: ")
        wrong.append(("COORDUI_ELASTIC_BLAST_RESULTS_AT", f"the results cannot be read there: {words}", hint))
    if database.count("{key}") != 1 or any(char.isspace() for char in database):
        hint = "Give a name or an address with {key} where the database's key goes."
        wrong.append(("COORDUI_ELASTIC_BLAST_DATABASE", f"{database!r} does not say where the key goes", hint))
    if settings.COORDUI_ELASTIC_BLAST_CONFIG is not None:
        try:
            read_given(settings.COORDUI_ELASTIC_BLAST_CONFIG)
        except EngineError as error:
            wrong.append(("COORDUI_ELASTIC_BLAST_CONFIG", str(error), "Correct the file."))
    return [Broken("E020", f"{name}: {sentence}", hint) for name, sentence, hint in wrong]


def broken_program(backend: Backend) -> list[Broken]:
    """What the program says of itself, asked once a process."""
    try:
        able = found()
    except EngineError as error:
        return [Broken("E021", str(error), "Install elastic-blast, or name it in COORDUI_ELASTIC_BLAST.")]
    if backend is Backend.K8S and settings.COORDUI_ELASTIC_BLAST_MARKERS == "cli" and not able.keeps_id:
        hint = "COORDUI_ELASTIC_BLAST_MARKERS=ours lets a Job of ours stand for each search; or use the Azure fork."
        return [Broken("E022", f"{able}, which coordination by k8s needs", hint)]
    return []


def keep(store: WorkStore, broken: list[Broken]) -> None:
    store.put(FOUND, ". ".join(rule.sentence for rule in broken).encode())


def kept(store: WorkStore) -> str:
    """Why it cannot be used, as whoever looked last found it."""
    try:
        return store.get(FOUND).decode()
    except Missing:
        return UNASKED
