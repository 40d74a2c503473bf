"""YAML as the API server reads it: only what JSON has too. A date is a string, and there are no bytes and no sets.

Anchors and aliases may be used, but what they stand for is counted before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from ..errors import bad_request
from ..storage.objects import dump
from .text import Text, read_json

DEEPEST = 100  # collections within each other
MOST = 100_000  # nodes, each alias counted as all that it stands for
_FOREIGN = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "binary", "set", "omap", "pairs")}
_Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]  # chosen at run time
    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] not in _FOREIGN]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag not in _FOREIGN}

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.repeated: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value != "<<" and key.value in seen:
                self.repeated.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
            seen.add(str(key.value))
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


def read_yaml(data: bytes) -> Text:
    """Raises ApiError 400."""
    try:
        _weigh(data)
        loader = _Loader(data)
        try:
            content = loader.get_single_data()
        finally:
            loader.dispose()
        return Text(read_json(dump(content).encode(errors="replace")).content, tuple(loader.repeated))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as why:
        raise bad_request(f"error converting YAML to JSON: {why}") from None


def _weigh(data: bytes) -> None:
    """Raises ValueError for what is nested too deeply or would become too much."""
    total, begun = 0, list[tuple[str | None, int]]()
    weights: dict[str | None, int] = {}
    for event in yaml.parse(data, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            # One that stands within what it stands for has no weight yet.
            total += weights.get(event.anchor, MOST + 1)
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            weights[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, total))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = begun.pop()
            weights[anchor] = total - before
        if len(begun) > DEEPEST:
            raise ValueError(f"exceeded max depth of {DEEPEST}")
        if total > MOST:
            raise ValueError("document contains excessive aliasing, or too many values")
