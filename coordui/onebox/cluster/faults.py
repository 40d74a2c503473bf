"""Faults on purpose, for tests and game days: a list of rules, off until one is added. The first that fits is taken.

    faults.add("drop_response", method="PUT", path="/leases/", times=1)
    faults.add("status", verb="list", resource="jobs", code=429, retry_after=3, chance=0.2, seed=7)
    faults.add("stale", resource="jobs", commits=20)

| effect          | what the client sees                                                                             |
|-----------------|--------------------------------------------------------------------------------------------------|
| `delay`         | nothing for `seconds`, then the answer                                                           |
| `drop_request`  | the connection breaks; the server did nothing                                                    |
| `drop_response` | the connection breaks; the server did it                                                         |
| `status`        | an error with `code` (429, 500, 503, ...), and `retry_after` seconds                             |
| `torn`          | status, headers and half of the body, or a stream's first piece, then the connection ends        |
| `half_open`     | a watch as it should be for `seconds`, then silence: the connection stays and nothing more comes |
| `stale`         | a LIST or GET with resourceVersion=0 as it was `commits` revisions, or at least `seconds`, ago   |

The clock's offset (the Date header, every time the server writes) is `faults.clock.offset`, in seconds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .clock import Clock
from .errors import ApiError

Effect = Literal["delay", "drop_request", "drop_response", "status", "torn", "half_open", "stale"]
_REASONS = {
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "Internal error occurred: a fault on purpose"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
}


_LONGEST = 10**9  # seconds; dates end in the year 9999


def _text(value: object) -> bool:
    return isinstance(value, str)


def _number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) <= _LONGEST  # type: ignore[arg-type]  # NaN is not


def _count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LONGEST


def _labels(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_text, (*value.keys(), *value.values())))


_SEARCHED = {name: (_text, "a string") for name in ("action", "method", "path", "verb", "resource", "name")}
# What each term of a rule has to be.
_TERMS: dict[str, tuple[Callable[[Any], bool], str]] = _SEARCHED | {
    "labels": (_labels, "a map of strings"),
    "times": (lambda value: value is None or _count(value), "a number of times, or nothing"),
    "chance": (lambda value: _number(value) and 0 <= value <= 1, "between 0 and 1"),
    "seed": (lambda value: type(value) is int, "a whole number"),
    "seconds": (lambda value: _number(value) and value >= 0, "a number of seconds"),
    "commits": (_count, "a number of revisions"),
    "code": (lambda value: type(value) is int and 400 <= value <= 599, "between 400 and 599"),
    "retry_after": (lambda value: value is None or _count(value), "whole seconds, or nothing"),
    "used": (_count, "a number of times"),
}


@dataclass(frozen=True)
class Ask:
    """A request as rules see it. `verb` is RBAC's word for it; `labels` are those of the object it names or brings."""

    method: str
    path: str  # with its query
    verb: str = ""
    resource: str = ""  # plural; with its group where it has one: jobs.batch
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Rule:
    """Which requests (empty: any), how often, and what becomes of them."""

    action: Effect
    method: str = ""
    path: str = ""  # a regular expression, searched in path and query
    verb: str = ""  # get, list, watch, create, update, patch, delete, deletecollection
    resource: str = ""  # jobs or jobs.batch
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)  # the object has all of these
    times: int | None = None  # how often; None: until cleared
    chance: float = 1.0  # that a request which fits is taken; drawn from `seed`
    seed: int = 0
    seconds: float = 0.0
    commits: int = 0
    code: int = 503
    retry_after: int | None = None
    used: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError, for a wrong type too."""
        for name, (is_good, what) in _TERMS.items():
            if not is_good(value := getattr(self, name)):
                raise ValueError(f"{name} must be {what}, not {value!r}")
        if self.action not in get_args(Effect):
            raise ValueError(f"action must be one of {', '.join(get_args(Effect))}, not {self.action!r}")
        try:
            re.compile(self.path)
        except re.error as why:
            raise ValueError(f"path: {why}") from None
        self._dice = random.Random(self.seed)  # noqa: S311  (no secret)

    def takes(self, ask: Ask) -> bool:
        fits = (
            (self.times is None or self.used < self.times)
            and self.method in ("", ask.method)
            and self.verb in ("", ask.verb)
            and self.resource in ("", ask.resource, ask.resource.partition(".")[0])
            and self.name in ("", ask.name)
            and self.labels.items() <= ask.labels.items()
            and re.search(self.path, ask.path) is not None
            and _can(self.action, ask)
        )
        return fits and (self.chance >= 1 or self._dice.random() < self.chance)

    def error(self) -> ApiError:
        reason, message = _REASONS.get(self.code, ("InternalError", "a fault on purpose"))
        return ApiError(self.code, reason, message, retry_after=self.retry_after)


def _can(action: Effect, ask: Ask) -> bool:
    """Whether the request is one that this effect is about."""
    if action == "half_open":
        return ask.verb == "watch"
    if action == "stale":
        return ask.verb in ("get", "list") and re.search(r"[?&]resourceVersion=0(&|$)", ask.path) is not None
    return True


class Faults:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rules: list[Rule] = []

    def add(self, action: Effect, **terms: Any) -> Rule:
        """See `Rule` for the terms. Raises ValueError or TypeError for what no rule can be."""
        rule = Rule(action, **terms)
        self.rules = [*self.rules, rule]  # a new list: another thread may be reading the old one
        return rule

    def clear(self) -> None:
        self.rules = []
        self.clock.offset = 0.0

    def take(self, ask: Ask) -> Rule | None:
        for rule in self.rules:
            if rule.takes(ask):
                rule.used += 1
                return rule
        return None

    def load(self, terms: Mapping[str, Any]) -> None:
        """Replace everything by {"offset": seconds, "rules": [{"action": ...}]}. Raises ValueError or TypeError, and
        then has replaced nothing."""
        if more := set(terms) - {"offset", "rules"}:
            raise ValueError(f"there is no {', '.join(sorted(more))}")
        rules = [Rule(**rule) for rule in terms.get("rules", ())]
        offset = terms.get("offset", 0.0)
        if not _number(offset):
            raise ValueError(f"offset must be a number of seconds, not {offset!r}")
        self.clock.offset = float(offset)
        self.rules = rules
