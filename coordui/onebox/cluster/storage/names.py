"""What may be a label, an annotation's key, a finalizer, a part of a path: in the real server's words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import Cause
from .objects import name_problem

_WORD = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_BAD_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def qualified_problem(name: str) -> str | None:
    """What is wrong with a name that may have a prefix: label and annotation keys, finalizers."""
    prefix, slash, word = name.rpartition("/")
    if "/" in prefix:
        return f"a qualified name {_BAD_NAME[len('name part ') :]} with an optional DNS subdomain prefix and '/'"
    if slash and not prefix:
        return "prefix part must be non-empty"
    if prefix and (problem := name_problem(prefix)):
        return f"prefix part {problem}"
    if not word:
        return "name part must be non-empty"
    if len(word) > 63:
        return "name part must be no more than 63 bytes"
    return None if _WORD.fullmatch(word) else _BAD_NAME


def segment_problem(name: str) -> str | None:
    """What is wrong with a name that only has to fit into a path."""
    if name in (".", ".."):
        return f"may not be '{name}'"
    bad = [mark for mark in "/%" if mark in name]
    return f"may not contain '{bad[0]}'" if bad else None


def label_problems(labels: Mapping[str, str], path: str) -> list[Cause]:
    found = []
    for key, value in labels.items():
        if problem := qualified_problem(key):
            found.append(Cause(path, f'Invalid value: "{key}": {problem}'))
        if len(value) > 63:
            found.append(Cause(path, f'Invalid value: "{value}": must be no more than 63 bytes'))
        elif not _VALUE.fullmatch(value):
            found.append(Cause(path, f'Invalid value: "{value}": {_BAD_VALUE}'))
    return found
