"""Label and field selectors: parsed once, then asked of an object (watches) or put into SQL (lists)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import bad_request
from .objects import Obj
from .resources import Resource, field_value

# What an object is selected by: "l:<label>" and "f:<field>" to their values.
Terms = dict[str, str]


def terms_of(resource: Resource, obj: Obj) -> Terms:
    """The indexed terms of an object; metadata.name and namespace are columns of their own."""
    terms = {f"l:{key}": str(value) for key, value in (obj["metadata"].get("labels") or {}).items()}
    terms |= {f"f:{path}": field_value(obj, path) for path in resource.fields}
    return terms


@dataclass(frozen=True)
class Requirement:
    """One clause. `values` empty means: the term exists (or, negated, does not)."""

    term: str
    values: frozenset[str]
    negated: bool = False

    def matches(self, terms: Mapping[str, str]) -> bool:
        value = terms.get(self.term)
        found = value is not None and (not self.values or value in self.values)
        return found != self.negated

    def sql(self, resource: str) -> tuple[str, list[str]]:
        if self.term in _COLUMNS:
            marks = ",".join("?" * len(self.values))
            return f"{_COLUMNS[self.term]} {'NOT ' if self.negated else ''}IN ({marks})", sorted(self.values)
        text = "SELECT object FROM terms WHERE resource=? AND term=?"
        arguments = [resource, self.term]
        if self.values:
            text += f" AND value IN ({','.join('?' * len(self.values))})"
            arguments += sorted(self.values)
        return f"id {'NOT ' if self.negated else ''}IN ({text})", arguments


_COLUMNS = {"f:metadata.name": "name", "f:metadata.namespace": "namespace"}


@dataclass(frozen=True)
class Selector:
    requirements: tuple[Requirement, ...] = ()

    def matches(self, namespace: str, name: str, terms: Mapping[str, str]) -> bool:
        if not self.requirements:
            return True
        known = {**terms, "f:metadata.name": name, "f:metadata.namespace": namespace}
        return all(requirement.matches(known) for requirement in self.requirements)


EVERYTHING = Selector()
_SET = re.compile(r"(?P<key>[^\s!=,()]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(r"(?P<key>[^\s!=,()]+)\s*(?P<op>==|!=|=)\s*(?P<value>[^\s,()=!]*)")
_EXISTS = re.compile(r"(?P<bang>!?)\s*(?P<key>[^\s!=,()]+)")
_COMMA = re.compile(r"\s*(,|$)\s*")


def parse_labels(text: str) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    position, text = 0, text.strip()
    while position < len(text):
        match = _SET.match(text, position) or _EQUAL.match(text, position) or _EXISTS.match(text, position)
        comma = _COMMA.match(text, match.end()) if match else None
        if match is None or comma is None:
            raise bad_request(f'unable to parse requirement: found "{text[position:]}" in the label selector "{text}"')
        found.append(_label_requirement(match))
        position = comma.end()
    return tuple(found)


def _label_requirement(match: re.Match[str]) -> Requirement:
    term = f"l:{match['key']}"
    if match.re is _SET:
        values = frozenset(value.strip() for value in match["values"].split(","))
        return Requirement(term, values, match["op"] == "notin")
    if match.re is _EQUAL:
        return Requirement(term, frozenset({match["value"]}), match["op"] == "!=")
    return Requirement(term, frozenset(), bool(match["bang"]))


def parse_fields(resource: Resource, text: str) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    for clause in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<path>[^=!]+?)\s*(?P<op>==|!=|=)\s*(?P<value>.*)", clause)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{clause}'")
        if f"f:{match['path']}" not in _COLUMNS and match["path"] not in resource.fields:
            raise bad_request(f'field label "{match["path"]}" not supported for {resource.kind}')
        found.append(Requirement(f"f:{match['path']}", frozenset({match["value"]}), match["op"] == "!="))
    return tuple(found)


def parse(resource: Resource, labels: str, fields: str) -> Selector:
    return Selector(parse_labels(labels) + parse_fields(resource, fields))


def where(selector: Selector, resource: str) -> tuple[str, Sequence[str]]:
    """The selector as an SQL condition on `objects`, starting with AND."""
    text, arguments = "", []
    for requirement in selector.requirements:
        clause, more = requirement.sql(resource)
        text += f" AND {clause}"
        arguments += more
    return text, arguments
