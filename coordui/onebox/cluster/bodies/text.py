"""JSON as Go reads it: what is no JSON is refused, what is no Unicode becomes a replacement character, and what a map
says twice is told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from typing import Any, NamedTuple

from ..errors import bad_request
from ..storage.objects import Obj, dump


class Text(NamedTuple):
    """A body's content, and a sentence about each key that a map in it has more than once: the last one counts."""

    content: Any = None
    repeated: tuple[str, ...] = ()


def read_json(data: bytes) -> Text:
    """Raises ApiError 400."""
    twice: list[tuple[Obj, str]] = []

    def made(pairs: list[tuple[str, Any]]) -> Obj:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.extend((found, key) for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        return found

    text = data.decode(errors="replace")
    try:
        content = json.loads(text, object_pairs_hook=made, parse_constant=_refused, parse_float=_float)
    except (ValueError, RecursionError) as why:
        raise bad_request(f"error decoding the body: {why}") from None
    repeated = tuple(f'duplicate field "{path}"' for path in _paths(content, twice, "")) if twice else ()
    if "\\ud" in text or "\\uD" in text:
        # Half of a pair that stands alone could not be stored.
        content = json.loads(dump(content).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return Text(content, repeated)


def _refused(word: str) -> Any:
    raise ValueError(f"invalid character '{word[0]}' looking for beginning of value")


def _float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _paths(value: Any, twice: list[tuple[Obj, str]], path: str) -> Iterator[str]:
    if isinstance(value, dict):
        start = f"{path}." if path else ""
        yield from (start + key for holder, key in twice if holder is value)
        for key, part in value.items():
            yield from _paths(part, twice, start + key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _paths(part, twice, f"{path}[{index}]")
