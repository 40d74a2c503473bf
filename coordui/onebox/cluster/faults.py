"""Faults on purpose, for tests and game days. Off until a rule is added.

    faults.add(method="PUT", path="/leases/", action="drop_response", times=1)

Actions: `delay` (seconds), `drop_request` (nothing happens, the connection breaks), `drop_response` (it happens, the
connection breaks), `status` (a code such as 429, 500, 503, with retry_after). The clock's offset is `faults.clock`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .clock import Clock
from .errors import ApiError

Action = Literal["delay", "drop_request", "drop_response", "status"]
_REASONS = {
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    500: ("InternalError", "Internal error occurred: a fault on purpose"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
}


@dataclass
class Rule:
    action: Action
    method: str = ""  # empty: any
    path: str = ""  # a regular expression, searched in path and query
    times: int | None = None  # how often; None: until cleared
    seconds: float = 0.0
    code: int = 503
    retry_after: int | None = None
    used: int = 0

    def __post_init__(self) -> None:
        if self.action not in get_args(Action):
            raise ValueError(f"action must be one of {', '.join(get_args(Action))}, not {self.action!r}")
        re.compile(self.path)

    def takes(self, method: str, path: str) -> bool:
        left = self.times is None or self.used < self.times
        return left and self.method in ("", method) and re.search(self.path, path) is not None

    def error(self) -> ApiError:
        reason, message = _REASONS.get(self.code, ("InternalError", "a fault on purpose"))
        return ApiError(self.code, reason, message, retry_after=self.retry_after)


class Faults:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rules: list[Rule] = []

    def add(self, action: Action, **terms: Any) -> Rule:
        rule = Rule(action, **terms)
        self.rules = [*self.rules, rule]  # a new list: another thread may be reading the old one
        return rule

    def clear(self) -> None:
        self.rules = []
        self.clock.offset = 0.0

    def take(self, method: str, path: str) -> Rule | None:
        for rule in self.rules:
            if rule.takes(method, path):
                rule.used += 1
                return rule
        return None

    def load(self, terms: Mapping[str, Any]) -> None:
        """Replace everything by {"offset": seconds, "rules": [{"action": ...}]}."""
        rules = [Rule(**rule) for rule in terms.get("rules", ())]
        self.clock.offset = float(terms.get("offset", 0.0))
        self.rules = rules
