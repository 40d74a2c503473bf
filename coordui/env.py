"""The environment, read strictly: a wrong value stops the process with one sentence that names the variable.

An empty value counts as absent, as in `make up COORDUI_STATE=`. Every variable read is remembered in READ,
so that a test can compare them with docs/configuration.md.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

READ: set[str] = set()
TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Wrong(ImproperlyConfigured):
    """A variable whose value cannot be used."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        super().__init__(f"{name}={value!r} cannot be used: give {wanted}, or leave {name} unset.")


def text(name: str, default: str = "") -> str:
    READ.add(name)
    return os.environ.get(name, "").strip() or default


def integer(name: str, default: int, *, least: int, most: int) -> int:
    value = text(name, str(default))
    # int() alone also takes "1_000" and digits of other scripts.
    plain = value.isascii() and value.removeprefix("-").isdigit()
    if not plain or not least <= int(value) <= most:
        raise Wrong(name, value, f"a whole number from {least} to {most}")
    return int(value)


def number(name: str, default: float, *, least: float, most: float) -> float:
    value = text(name, str(default))
    try:
        result = float(value)
    except ValueError:
        result = float("nan")
    if not least <= result <= most:
        raise Wrong(name, value, f"a number from {least:g} to {most:g}")
    return result


def flag(name: str, default: bool) -> bool:
    value = text(name, str(default)).lower()
    if value not in TRUE + FALSE:
        raise Wrong(name, value, "true or false")
    return value in TRUE


def choice(name: str, default: str, among: Collection[str]) -> str:
    value = text(name, default)
    if value not in among:
        raise Wrong(name, value, "one of " + ", ".join(sorted(among)))
    return value


def words(name: str) -> list[str]:
    """A list, by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def directory(name: str, default: Path | None) -> Path | None:
    """An absolute path. A relative one is taken from the current directory, "~" is the home directory."""
    value = text(name)
    return Path(value).expanduser().absolute() if value else default


def place(name: str) -> Path | str | None:
    """An absolute path, or the address of a prefix in an object store as it stands."""
    return text(name).rstrip("/") if "://" in text(name) else directory(name, None)


def file(name: str) -> Path | None:
    """The absolute path of a file that is there."""
    path = directory(name, None)
    if path is not None and not path.is_file():
        raise Wrong(name, str(path), "the path of a file")
    return path


def url(name: str, default: str, schemes: Collection[str]) -> str:
    value = text(name, default)
    if value and urlsplit(value).scheme not in schemes:
        raise Wrong(name, value, "an address that begins with " + " or ".join(f"{scheme}://" for scheme in schemes))
    return value


# No request and no heartbeat may hang on a database that does: the driver's own words for seconds and milliseconds.
BOUNDS = {"connect_timeout": "5", "tcp_user_timeout": "10000", "options": "-c statement_timeout=10000"}


def postgres(name: str) -> dict[str, object] | None:
    """postgres://USER:PASSWORD@HOST:PORT/NAME?sslmode=require as Django wants it, or None when it is absent."""
    value = url(name, "", ("postgres", "postgresql"))
    if not value:
        return None
    wanted = "postgres://USER:PASSWORD@HOST:PORT/NAME"
    parsed = urlsplit(value)
    # The value holds a password: it is not repeated in the message.
    try:
        port = parsed.port
    except ValueError:
        raise Wrong(name, "…", wanted) from None
    database = unquote(parsed.path.removeprefix("/"))
    if not database or "/" in database:
        raise Wrong(name, "…", wanted)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": database,
        "USER": unquote(parsed.username or ""),
        "PASSWORD": unquote(parsed.password or ""),
        "HOST": unquote(parsed.hostname or ""),
        "PORT": str(port or ""),
        "OPTIONS": {**BOUNDS, **dict(parse_qsl(parsed.query))},
        "CONN_HEALTH_CHECKS": True,
    }
