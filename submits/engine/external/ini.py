"""The `.ini` of one `elastic-blast submit`, built from data: what an administrator gives, and what a search asks for.

The program reads it with Python's `configparser`, interpolation on, and refuses a section or key that it does not know.
"""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Mapping
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from submits.engine.errors import EngineError, Exit

Type = Literal["text", "count", "number", "flag", "size"]
Given = Mapping[str, Mapping[str, str]]  # section → key → value

_PATTERNS: dict[Type, re.Pattern[str]] = {
    "text": re.compile(r"[^\s\0](?:[^\r\n\0]*[^\s\0])?"),
    "count": re.compile(r"[1-9]\d{0,8}"),
    "number": re.compile(r"\d{1,9}(?:\.\d{1,9})?"),
    "flag": re.compile(r"true|false|yes|no|on|off|1|0", re.IGNORECASE),
    "size": re.compile(r"\d{1,9}(?:\.\d{1,9})?[kKmMgGtT]i?"),
}
_WANTED: dict[Type, str] = {
    "text": "a text", "count": "a whole number from 1", "number": "a number", "flag": "true or false",
    "size": "a size such as 0.5G",
}  # fmt: skip


def _keys(**by_type: str) -> dict[str, Type]:
    return {key: kind for kind, keys in by_type.items() for key in keys.split()}  # type: ignore[misc]  # names of Type


# What an administrator's file may hold: the documented keys of upstream 1.5 and of the Azure fork.
KNOWN: dict[str, dict[str, Type]] = {
    "cloud-provider": _keys(
        text="gcp-project gcp-region gcp-zone gcp-network gcp-subnetwork gke-version aws-region aws-vpc aws-subnet"
        " aws-security-group aws-key-pair aws-instance-role aws-batch-service-role aws-job-role aws-spot-fleet-role"
        " azure-region azure-resource-group azure-storage-account azure-storage-account-container"
        " azure-storage-account-key azure-acr-name azure-acr-resource-group azure-vnet azure-subnet aks-version"
        " azure-system-vm-size",
    ),
    "cluster": _keys(
        text="name machine-type labels disk-type storage-class",
        count="num-nodes num-cpus provisioned-iops bid-percentage",
        flag="use-preemptible exp-use-local-ssd enable-stackdriver reuse exp-skip-warmed-ssd-init",
        size="pd-size",
    ),
    "blast": _keys(
        text="blastdb-src", count="batch-len", number="db-memory-margin", size="mem-request mem-limit",
    ),
    "timeouts": _keys(count="init-pv blast-k8s-job"),
}  # fmt: skip
DEFAULTS = {"init-pv": 45, "blast-k8s-job": 10_080}  # of [timeouts], in minutes, as the program has them
_SHARDS = "its shards would have to be merged, which nothing here does"
REFUSED: dict[tuple[str, str], str] = {
    **{("blast", key): "the search says it" for key in ("program", "db", "queries", "results", "options")},
    ("cluster", "dry-run"): "a dry run starts nothing",
    ("blast", "db-partitions"): _SHARDS,
    ("blast", "db-partition-prefix"): _SHARDS,
    ("blast", "db-auto-partition"): _SHARDS,
}
# What survives a manifest and a shell on its way to BLAST. Nothing that BLAST's own options need is left out.
_WORD = re.compile(r"[A-Za-z0-9._,:+=/-]+(?: [A-Za-z0-9._,:+=/-]+)*")


@dataclass(frozen=True, slots=True)
class Asked:
    """One search. `queries` is a file without a space in its name, `results` an address of this try alone, `options`
    BLAST's words."""

    program: str
    database: str
    queries: str
    results: str
    options: tuple[str, ...]


def read_given(path: Path) -> Given:
    """An administrator's file, checked; values as they are meant (`%%` read as `%`). Raises EngineError naming section,
    key and value that cannot be used."""
    parser = ConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"), str(path))
        given = {section: dict(parser.items(section)) for section in parser.sections()}
    except OSError as error:
        raise EngineError(Exit.INPUT, f"{path} cannot be read: {error.strerror}") from error
    except (ConfigError, UnicodeDecodeError) as error:
        raise EngineError(Exit.INPUT, f"{path} is not a configuration file: {error}") from error
    for section, values in given.items():
        for key, value in values.items():
            if why := REFUSED.get((section, key)):
                raise EngineError(Exit.INPUT, f"{path}: [{section}] {key} cannot be given: {why}")
            kind = KNOWN.get(section, {}).get(key)
            if kind is None:
                raise EngineError(Exit.INPUT, f"{path}: [{section}] {key} is not a setting of elastic-blast")
            if not _PATTERNS[kind].fullmatch(value):
                shown = "" if key.endswith("account-key") else f" = {value!r}"
                raise EngineError(Exit.INPUT, f"{path}: [{section}] {key}{shown} is not {_WANTED[kind]}")
    return given


def build(given: Given, asked: Asked, *, quotes: bool) -> str:
    """The text of the file. `quotes`: whether this program carries an option of several words to BLAST as one.

    Raises EngineError for what it could not carry: nothing is passed on that would arrive as something else.
    """
    parser = ConfigParser()
    search = {
        "program": asked.program,
        "db": asked.database,
        "queries": asked.queries,
        "results": asked.results,
        "options": joined(asked.options, quotes=quotes),
    }
    for section, values in {**given, "blast": {**given.get("blast", {}), **search}}.items():
        parser.add_section(section)
        for key, value in values.items():
            if not _PATTERNS["text"].fullmatch(value):
                raise EngineError(Exit.INPUT, f"[{section}] {key} is empty or holds a line end")
            parser.set(section, key, value.replace("%", "%%"))
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()


def longest(given: Given) -> int:
    """Seconds that the program gives a search from its submit on: setting up, and then its batches."""
    timeouts = given.get("timeouts", {})
    return 60 * sum(int(timeouts.get(key, default)) for key, default in DEFAULTS.items())


def joined(words: tuple[str, ...], *, quotes: bool) -> str:
    for word in words:
        if not _WORD.fullmatch(word):
            raise EngineError(Exit.INPUT, f"the option {word!r} cannot be handed to elastic-blast")
        if " " in word and not quotes:
            sentence = (
                f"this version of elastic-blast takes an option of several words apart, so {word!r} cannot be set"
            )
            raise EngineError(Exit.INPUT, sentence)
    return shlex.join(words)
