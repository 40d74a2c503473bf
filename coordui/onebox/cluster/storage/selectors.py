"""Label and field selectors: parsed once, then asked of an object (watches) or put into SQL (lists)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import bad_request
from .names import label_problems
from .objects import Obj
from .resources import Resource, field_value

# What an object is selected by: "l:<label>" and "f:<field>" to their values.
Terms = dict[str, str]
MANY = 2_000  # index entries from where on it is no use to begin with them
MOST_CLAUSES, MOST_VALUES = 500, 10_000  # SQLite would take twice as many
Clause = tuple[str, list[str]]  # an SQL condition and its arguments


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

    @property
    def narrows(self) -> bool:
        """Whether the index can say which objects it is about."""
        return not self.negated and self.term not in _COLUMNS

    def column(self) -> Clause | None:
        """As a condition on the objects `o`; None if it is about the index."""
        if self.term not in _COLUMNS:
            return None
        marks = ",".join("?" * len(self.values))
        return f"o.{_COLUMNS[self.term]} {'NOT ' if self.negated else ''}IN ({marks})", sorted(self.values)

    def entries(self, resource: str) -> Clause:
        """As a condition on the index entries `t`."""
        if not self.values:
            return "t.resource=? AND t.term=?", [resource, self.term]
        marks = ",".join("?" * len(self.values))
        return f"t.resource=? AND t.term=? AND t.value IN ({marks})", [resource, self.term, *sorted(self.values)]


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
    key, values, negated = match["key"], [], False
    if match.re is _SET:
        values, negated = [value.strip() for value in match["values"].split(",")], match["op"] == "notin"
    elif match.re is _EQUAL:
        values, negated = [match["value"]], match["op"] == "!="
    else:
        negated = bool(match["bang"])
    # Where a key or a value is no label, as in `a>1`, nothing could match, and the real server refuses to look.
    for index, value in enumerate(values or [""]):
        for cause in label_problems({key: value}, f"values[{index}][{key}]"):
            raise bad_request(f"unable to parse requirement: {cause.field}: {cause.message}")
    return Requirement(f"l:{key}", frozenset(values), negated)


def parse_fields(resource: Resource, text: str) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    for clause in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?P<path>[^=!]+?)\s*(?P<op>==|!=|=)\s*(?P<value>.*)", clause)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{clause}'")
        if f"f:{match['path']}" not in _COLUMNS and match["path"] not in resource.fields:
            raise bad_request(_no_field(resource, match["path"]))
        found.append(Requirement(f"f:{match['path']}", frozenset({match["value"]}), match["op"] == "!="))
    return tuple(found)


def _no_field(resource: Resource, path: str) -> str:
    """Each group words it in its own way, and so does what has no fields of its own."""
    if not resource.fields:
        return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if resource.group:
        return f'field label "{path}" not supported for {resource.kind}'
    return f"field label not supported: {path}"


def parse(resource: Resource, labels: str, fields: str) -> Selector:
    """Raises ApiError 400."""
    found = parse_labels(labels) + parse_fields(resource, fields)
    if len(found) > MOST_CLAUSES or sum(len(one.values) for one in found) > MOST_VALUES:
        raise bad_request(f"a selector has at most {MOST_CLAUSES} requirements and {MOST_VALUES} values here")
    return Selector(found)


def query(selector: Selector, resource: str, weigh: Callable[[Clause], int]) -> Clause:
    """The selector as SQL from FROM on, of the objects `o`.

    They come from the index entries of the requirement that has the fewest, and each is then asked about the others: of
    twenty thousand finished Jobs, all with the label, only the few that have not succeeded are looked at. Where even
    the fewest are MANY, all objects are looked at in their order, so that a page need not look beyond its end.
    `weigh` counts the entries of a condition on `t`, up to MANY.
    """
    weights = {one: weigh(one.entries(resource)) for one in selector.requirements if one.narrows}
    first = min(weights, key=weights.__getitem__) if weights else None
    if first is None or weights[first] >= MANY:
        first, text, arguments = None, "FROM objects o WHERE o.resource=?", [resource]
    else:
        clause, more = first.entries(resource)
        # In SQLite CROSS JOIN is an order, not a kind of join.
        text = f"FROM terms t CROSS JOIN objects o ON o.id=t.object WHERE {clause} AND o.resource=?"
        arguments = [*more, resource]
    for requirement in selector.requirements:
        if requirement is first:
            continue
        column = requirement.column()
        if column is not None:
            clause, more = column
        else:
            clause, more = requirement.entries(resource)
            negation = "NOT " if requirement.negated else ""
            clause = f"{negation}EXISTS (SELECT 1 FROM terms t WHERE {clause} AND t.object=o.id)"  # noqa: S608
        text += f" AND {clause}"
        arguments += more
    return text, arguments
