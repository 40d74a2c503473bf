"""What form an answer has: the objects themselves, their metadata alone, or a table. The Accept header says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from .. import errors
from ..storage.objects import Obj, dump, load
from ..storage.resources import Resource
from ..storage.store import Row
from .tables import table

_JSON = ("application/json", "application/*", "*/*", "")
META = "meta.k8s.io"


class Shape(Protocol):
    """Stored bodies to the text of an answer. One shape serves one request: of a watch's tables only the first has
    heads. `shared`: every plain shape makes the same text of a body."""

    shared: bool

    def one(self, body: str) -> str: ...
    def many(self, rows: Sequence[Row], metadata: Obj) -> str: ...
    def event(self, body: str) -> str: ...
    def bookmark(self, metadata: Obj) -> str: ...


def on_wire(resource: Resource, body: str) -> str:
    """A stored body with its kind and apiVersion in front."""
    return f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",{body[1:]}'


class Plain:
    shared = True

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def one(self, body: str) -> str:
        return on_wire(self._resource, body)

    event = one

    def many(self, rows: Sequence[Row], metadata: Obj) -> str:
        items = ",".join(row.body for row in rows)
        kind = f'"kind":"{self._resource.list_kind}","apiVersion":"{self._resource.api_version}"'
        return f'{{{kind},"metadata":{dump(metadata)},"items":[{items}]}}'

    def bookmark(self, metadata: Obj) -> str:
        return self.one(dump({"metadata": metadata}))


class Metadata:
    """PartialObjectMetadata: who only wants names, labels and revisions is spared the rest."""

    shared = False

    def one(self, body: str) -> str:
        return dump(_partial(load(body)))

    event = one

    def many(self, rows: Sequence[Row], metadata: Obj) -> str:
        items = [_partial(row.object) for row in rows]
        kind = {"kind": "PartialObjectMetadataList", "apiVersion": f"{META}/v1"}
        return dump({**kind, "metadata": metadata, "items": items})

    def bookmark(self, metadata: Obj) -> str:
        return dump(_partial({"metadata": metadata}))


def _partial(obj: Obj) -> Obj:
    return {"kind": "PartialObjectMetadata", "apiVersion": f"{META}/v1", "metadata": obj["metadata"]}


class Table:
    """`include` is the query's includeObject: None, Metadata (the default) or Object."""

    shared = False

    def __init__(self, resource: Resource, include: str, now: Callable[[], datetime]) -> None:
        self._resource, self._include, self._now = resource, include, now
        self._headed = True

    def one(self, body: str) -> str:
        obj = load(body)
        return self._text([obj], {"resourceVersion": obj["metadata"]["resourceVersion"]})

    def many(self, rows: Sequence[Row], metadata: Obj) -> str:
        return self._text([row.object for row in rows], metadata)

    def event(self, body: str) -> str:
        text, self._headed = self.one(body), False
        return text

    def bookmark(self, metadata: Obj) -> str:
        return self._text([], metadata)

    def _text(self, objects: list[Obj], metadata: Obj) -> str:
        made = table(self._resource, objects, metadata, self._now(), include=self._include, headed=self._headed)
        return dump(made)


def shape_of(
    resource: Resource, accept: str, query: Mapping[str, str], now: Callable[[], datetime], *, many: bool
) -> Shape:
    """The first form in `accept` that the server has. Raises 406 NotAcceptable if it has none of them."""
    partial = "PartialObjectMetadataList" if many else "PartialObjectMetadata"
    for part in accept.split(","):
        media, *words = (word.strip() for word in part.split(";"))
        terms = dict(word.split("=", 1) for word in words if "=" in word)
        kind = terms.get("as")
        if media.lower() not in _JSON or (kind is not None and terms.get("g") != META):
            continue
        if kind is None:
            return Plain(resource)
        if kind == "Table" and terms.get("v") in ("v1", "v1beta1"):
            return Table(resource, query.get("includeObject", ""), now)
        if kind == partial and terms.get("v") in ("v1", "v1beta1"):
            return Metadata()
    why = (
        "only the following media types are accepted: application/json, application/json;as=Table;g=meta.k8s.io;v=v1, "
        f"application/json;as={partial};g=meta.k8s.io;v=v1"
    )
    raise errors.ApiError(406, "NotAcceptable", why)
