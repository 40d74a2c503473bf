"""What is there from the start: manifests that the server applies to itself, again at every start."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .authors import Write
from .errors import ApiError
from .storage.resources import ALL, NAMESPACES
from .writes.registry import Registry

_MANAGER = "coordui-onebox"


def apply_manifests(registry: Registry, paths: Iterable[Path], namespace: str) -> None:
    """Every document of these YAML files, in `namespace`, which is made if it is not there. Raises ValueError."""
    import yaml  # not needed without manifests

    for path in paths:
        try:
            if registry.store.body(NAMESPACES, "", namespace) is None:
                registry.create(NAMESPACES, "", {"metadata": {"name": namespace}}, Write(_MANAGER))
            for document in yaml.safe_load_all(path.read_text()):
                _apply(registry, document, namespace)
        except (OSError, yaml.YAMLError, ApiError, KeyError, TypeError, ValueError) as why:
            raise ValueError(f"{path} cannot be applied: {why}") from None


def _apply(registry: Registry, document: dict[str, object], namespace: str) -> None:
    kinds = {(resource.api_version, resource.kind): resource for resource in ALL}
    resource = kinds[str(document["apiVersion"]), str(document["kind"])]
    metadata = document["metadata"]
    name = str(metadata["name"]) if isinstance(metadata, dict) else ""
    place = namespace if resource.namespaced else ""
    registry.apply(resource, place, name, document, Write(_MANAGER, force=True))
